"""The cases that pass on the machine that runs the tests, none of which may leave this list, and
the others with the reason of each."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

_FILE = Path(__file__).with_name("passing.txt")
PASSING: tuple[str, ...] = tuple(_FILE.read_text().split()) if _FILE.exists() else ()

REASON_LENGTH = 160
# Refused cases -> the beginning of what the tool says.
REFUSED: dict[str, str] = dict(
    line.split("\t", 1) for line in _FILE.with_name("refused.txt").read_text().splitlines()
)
# Cases whose own numbers are not what the operator defines -> what they are.
INEXACT = {
    **dict.fromkeys(
        ("test_dft_inverse", "test_dft_inverse_opset19"),
        "where the sum is 0 it states 1.9e-07, by a transform in float32, and tolerates 1e-07",
    ),
    **dict.fromkeys(
        (
            "test_resize_downsample_scales_cubic_align_corners",
            "test_resize_downsample_scales_linear_align_corners",
        ),
        "by a corner between pixels, where ONNX Runtime takes that of the pixels there are",
    ),
}


def reason(reasons: Iterable[str]) -> str:
    """As ``REFUSED`` has it."""
    return "; ".join(reasons)[:REASON_LENGTH].rstrip()
