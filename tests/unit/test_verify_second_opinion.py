"""Who is off, where the program and the reference differ: judged by float64."""

from __future__ import annotations

import math
from collections.abc import Mapping
from io import StringIO

import numpy as np
import pytest

from edgeconv.base.errors import EdgeconvError
from edgeconv.base.visible import VisibleConsole
from edgeconv.model.frontend import AS_WRITTEN, IN_FLOAT64, ReferenceRun
from edgeconv.report import outcome
from edgeconv.run.build.project import Port
from edgeconv.run.verify.compare import compare
from edgeconv.run.verify.second_opinion import Opinion, second_opinion
from edgeconv.run.verify.verification import Verification
from tests.onnx_models import Values

TOLERANCE = 1e-4
RIGHT = np.linspace(0.1, 1, 8)


def off(error: float) -> Values:
    """What is right, off by that in one place."""
    values = RIGHT.copy()
    values[3] += error
    return values.astype(np.float32)


def judged(
    program: Values, reference: Values, written: Values | None = None, dtype: str = "float32"
) -> Verification:
    """The verdict about a program's only output."""

    def ask(engine: str) -> ReferenceRun:
        if engine == IN_FLOAT64:
            return ReferenceRun({"y": RIGHT}, "onnx.reference in float64")
        assert engine == AS_WRITTEN
        if written is None:
            raise EdgeconvError("refused", got="no such operator")
        return ReferenceRun({"y": written}, "onnx.reference")

    ports = [Port("y", RIGHT.shape, dtype)]
    opinion, _ = second_opinion(ask, {}, {"y": program}, {"y": reference}, ports, TOLERANCE)
    differences = (compare("y", program, reference),)
    return Verification(differences, (), TOLERANCE, "engine", "natively", opinion=opinion)


def test_the_reference_is_off() -> None:
    found = judged(off(1e-6), off(4e-4))
    assert found.passed
    assert found.settled == ("y",)
    assert found.errors[0].max_abs < 2e-6 < 3e-4 < found.outputs[0].max_abs


def said(result: Verification) -> str:
    console = VisibleConsole(width=400, file=StringIO(), record=True)
    console.print(outcome.verification(result))
    return console.export_text()


def test_the_verdict_has_both_errors_in_one_line() -> None:
    right = next(
        line for line in said(judged(off(1e-5), off(4e-4))).splitlines() if "by onnx" in line
    )
    assert right.startswith(
        "y: by onnx.reference in float64 the program is off by 1e-05, engine by"
    )
    assert right.endswith("0.0004 of its largest: the program is right")
    assert "the program is wrong" in said(judged(off(1e-2), off(1e-6), off(1e-6)))
    assert "errors of one order" in said(judged(off(2e-3), off(-1e-3), off(5e-4)))
    assert "in different ways" in said(judged(off(1e-6), off(0.2), off(1e-6)))
    assert "the program's shape is 5, and 8 by engine" in said(judged(off(0)[:5], off(0)))


@pytest.mark.parametrize("error", [2e-4, 1e-2, math.nan, math.inf])
def test_the_program_is_off(error: float) -> None:
    found = judged(off(error), off(1e-6), off(1e-6))
    assert not found.passed
    assert not found.enlarges_rounding
    assert [each.name for each in found.apart] == ["y"]


def test_both_are_off_by_as_much() -> None:
    """Not passed yet: layers are to be judged."""
    found = judged(off(2e-3), off(-1e-3), off(5e-4))
    assert not found.passed
    assert found.enlarges_rounding
    assert not judged(off(2e-2), off(-1e-3), off(5e-4)).enlarges_rounding


def test_a_reference_that_is_off_for_another_reason_measures_nothing() -> None:
    """As ONNX Runtime where it dropped a conversion: a program as far off is a defect."""
    assert not judged(off(2e-3), off(-1e-3), off(1e-7)).enlarges_rounding


def test_engines_that_read_a_model_in_different_ways_are_both_heard() -> None:
    """Farther apart than roundings: the reference is right, unless float32 is as far off."""
    apart = judged(off(1e-6), off(0.2), off(1e-6))
    assert not apart.passed
    assert apart.opinion
    assert apart.opinion.near("y", TOLERANCE)
    assert apart.opinion.reads_otherwise("y")
    assert judged(off(1e-6), off(0.2), off(0.1)).passed


def test_another_shape_is_a_difference() -> None:
    found = judged(off(1e-6), off(0)[:5])
    assert found.outputs[0].shapes == ((8,), (5,))
    assert not found.passed
    assert not found.enlarges_rounding
    wrong = judged(off(0)[:5], off(1e-6))
    assert not wrong.passed
    assert not wrong.enlarges_rounding
    assert wrong.one_line() == "output 'y': shape 5, and 8 by engine"


def test_no_opinion_changes_nothing() -> None:
    def no_progress(_: str) -> ReferenceRun:
        raise EdgeconvError("refused", got="no such operator")

    given: Mapping[str, Values] = {"y": off(1e-3)}
    opinion, values = second_opinion(no_progress, {}, given, {"y": off(0)}, [], TOLERANCE)
    assert opinion == Opinion(absent="no such operator")
    assert not values
    found = (compare("y", off(1e-3), off(0)),)
    assert not Verification(found, (), TOLERANCE, "engine", "natively", opinion=opinion).passed


def test_narrow_outputs_are_rounded_before_they_are_compared() -> None:
    found = judged(RIGHT.astype(np.float16), off(4e-4), dtype="float16")
    assert found.passed
    assert found.errors[0].max_abs == 0
