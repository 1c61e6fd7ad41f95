"""Softmax in integers is what real arithmetic makes of it, wherever that is not next to a tie."""

from __future__ import annotations

import numpy as np
import pytest

from edgeconv.ir.requantisation.pair import Affine
from edgeconv.ir.requantisation.softmax import error, reciprocal, softmax


@pytest.mark.parametrize(
    ("scale", "step", "zero", "count"),
    [
        (0.17, 1 / 256, -128, 12),
        (0.05, 1 / 256, -128, 1000),
        (0.003, 1 / 255, -128, 2),
        (1.7, 0.0031, 0, 5),
        (0.02, 2.0, 0, 4),
        (0.001, 2.0**-20, 9, 40),
    ],
)
def test_against_float64(scale: float, step: float, zero: int, count: int) -> None:
    scale, step = float(np.float32(scale)), float(np.float32(step))
    form = softmax(Affine(scale, 0), Affine(step, zero), -128, 127)
    assert form is not None
    rng = np.random.default_rng(count)
    for number in range(24):
        reach = (3, 20, 128)[number % 3]
        row = rng.integers(-reach, reach, count)
        powers = np.exp(scale * (row - row.max()))
        p = powers / powers.sum()
        steps = p / step
        near_a_tie = np.abs(steps - np.floor(steps) - 0.5) <= error(p, count) / step
        wanted = np.clip(np.rint(steps) + zero, -128, 127)
        wrong = (form.of(row.tolist()) != wanted) & ~near_a_tie
        assert not wrong.any()


def test_a_tie_goes_to_zero() -> None:
    """The only one that there is: of 512 alike a result is half of a step of 1/256."""
    form = softmax(Affine(0.1, 0), Affine(1 / 256, -128), -128, 127)
    assert form is not None
    assert set(form.of([5] * 512)) == {-128}
    assert set(form.of([5] * 511)) == {-127}


def test_reciprocals() -> None:
    drawn = np.random.default_rng(1).integers(2**31, 2**32, 500).tolist()
    for mantissa in (2**31, 2**31 + 1, 2**31 + 2**16 - 1, 2**32 - 1, *drawn):
        assert abs(reciprocal(mantissa) - 2**63 / mantissa) <= 4


def test_steps_that_are_too_fine() -> None:
    assert softmax(Affine(0.1, 0), Affine(2.0**-21, 0), -128, 127) is None
