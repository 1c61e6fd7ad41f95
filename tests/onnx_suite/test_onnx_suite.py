"""ONNX's own cases as given: those that passed once pass, and none is wrong."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.onnx_suite.__main__ import run, summary
from tests.onnx_suite.cases import cases
from tests.onnx_suite.outcomes import CRASH, PASS, WRONG, Outcome
from tests.onnx_suite.outcomes import REFUSED as REFUSED_KIND
from tests.onnx_suite.passing import INEXACT, PASSING, REFUSED, reason
from tests.onnx_suite.programs import OPTIMISED
from tests.tools import available

_SAMPLE = 45  # every so many of those that pass


def _failures(found: Sequence[Outcome]) -> list[str]:
    return [f"{o.name}: {o.kind}: {'; '.join(o.reasons)}" for o in found if o.kind != PASS]


def test_sample() -> None:
    assert not _failures(run(PASSING[::_SAMPLE], "host"))


def test_the_readme_says_how_many() -> None:
    stated = re.search(r"([\d,]+) of its ([\d,]+) own cases", Path("README.md").read_text())
    assert stated
    assert [int(number.replace(",", "")) for number in stated.groups()] == [
        len(PASSING),
        len(cases()),
    ]


def test_every_case_passes_or_has_a_reason() -> None:
    listed = [*PASSING, *REFUSED, *INEXACT]
    assert sorted(listed) == sorted(cases())
    assert all(REFUSED.values())


@pytest.mark.slow
def test_every_case() -> None:
    found = run(cases(), "host", OPTIMISED)
    print("\n".join(summary(found, most=0)))
    assert not [o for o in found if o.kind in (WRONG, CRASH) and o.name not in INEXACT]
    assert not set(PASSING) - {o.name for o in found if o.kind == PASS}
    said = {o.name: reason(o.reasons) for o in found if o.kind == REFUSED_KIND}
    assert said == REFUSED


def _alone(*arguments: str) -> None:
    """A process of its own, which says what passed before and does no longer."""
    command = [sys.executable, "-m", "tests.onnx_suite", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert not done.returncode, done.stdout


@pytest.mark.slow
def test_nothing_undefined_in_plain_c() -> None:
    """Nor read or written beyond arena, weights and inputs."""
    _alone("--board", "generic-c", "--sanitize")


@pytest.mark.slow
@pytest.mark.parametrize(
    "board",
    [
        *("x86-64-v3", "jetson-tx1", "odroid-xu3", "power10-s1024"),
        *("mps2-an386", "mps2-an500", "mps3-an547"),
    ],
)
def test_sample_on_every_isa(board: str) -> None:
    available(board)
    _alone("--board", board, "--every", str(_SAMPLE))
