"""ONNX's own cases as given: those that passed once pass, and none is wrong."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.onnx_suite.__main__ import run, summary
from tests.onnx_suite.cases import cases
from tests.onnx_suite.passing import PASSING
from tests.onnx_suite.programs import CRASH, PASS, WRONG, Outcome

_SAMPLE = 30  # every so many of those that pass
_UNDEFINED = ("-fsanitize=undefined", "-fno-sanitize-recover=all")


def _failures(found: Sequence[Outcome]) -> list[str]:
    return [f"{o.name}: {o.kind}: {'; '.join(o.reasons)}" for o in found if o.kind != PASS]


def test_sample() -> None:
    assert not _failures(run(PASSING[::_SAMPLE], "host"))


@pytest.mark.slow
def test_every_case() -> None:
    found = run(cases(), "host")
    print("\n".join(summary(found, most=0)))
    assert not [o for o in found if o.kind in (WRONG, CRASH)]
    assert not set(PASSING) - {o.name for o in found if o.kind == PASS}


@pytest.mark.slow
def test_nothing_undefined_in_plain_c() -> None:
    assert not _failures(run(PASSING, "generic-c", _UNDEFINED))
