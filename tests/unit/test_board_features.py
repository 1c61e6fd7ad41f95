"""What a microcontroller multiplies integers by, as its architecture and flags say."""

from __future__ import annotations

import pytest

from edgeconv.board.features import integer_features
from edgeconv.targets import DSP, DUAL_ISSUE, HELIUM


@pytest.mark.parametrize(
    ("arch", "flags", "features"),
    [
        ("armv6-m", ("-mcpu=cortex-m0",), set()),
        ("armv7-m", ("-mcpu=cortex-m3",), set()),
        ("armv7e-m", ("-mcpu=cortex-m4",), {DSP}),
        ("armv7e-m", ("-mcpu=cortex-m7",), {DSP, DUAL_ISSUE}),
        ("armv8-m.base", ("-mcpu=cortex-m23",), set()),
        ("armv8-m.main", ("-mcpu=cortex-m33",), {DSP}),
        ("armv8-m.main", ("-mcpu=cortex-m33+nodsp",), set()),
        ("armv8-m.main", ("-march=armv8-m.main",), set()),
        ("armv8-m.main", ("-march=armv8-m.main+dsp",), {DSP}),
        ("armv8.1-m.main", ("-mcpu=cortex-m55+nomve.fp",), {DSP, HELIUM}),
    ],
)
def test_features_of_a_microcontroller(
    arch: str, flags: tuple[str, ...], features: set[str]
) -> None:
    assert integer_features(arch, flags) == features
