"""A tensor as the model says it is, and how far arithmetic in float32 may be from that."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from edgeconv.ir.requantisation.exact_reals import Real, Reals, numbers

ULP = 2.0**-24  # half of one: what a rounding to float32 is off by, relative


class NoExactValueError(Exception):
    """An operator that is not computed exactly here, or of operands that it is not computed of."""


@dataclass(frozen=True, eq=False)
class Value:
    """The exact value of a tensor.  ``real``: the numbers.  ``apart``: makes a bound on how far an
    evaluation in float32 is from them, element by element, sums being added up in whatever order;
    it is asked for where some engine's numbers are others."""

    real: Real
    apart: Callable[[], Reals]

    @cached_property
    def off(self) -> Reals:
        """What ``apart`` makes."""
        return self.apart()

    @property
    def shape(self) -> tuple[int, ...]:
        return self.real.shape

    def near(self) -> Reals:
        """In float64."""
        return self.real.near()


def stored(real: Real) -> Value:
    """Numbers that float32 has, rounded once."""
    return Value(real, lambda: ULP * np.abs(real.near()))


def constant(values: npt.NDArray[Any], shape: tuple[int, ...]) -> Value:
    """A float32 constant, repeated to ``shape``."""
    if values.dtype.kind != "f" or not np.isfinite(values).all():
        raise NoExactValueError
    wide = np.broadcast_to(values, shape)
    return Value(numbers(wide), lambda: np.zeros(shape))


def growth(count: int) -> float:
    """By how much of the sum of magnitudes ``count`` roundings may be off (Higham 2002, 3.1)."""
    return count * ULP / (1 - count * ULP)


def result_of(real: Real, roundings: int, apart: Callable[[], Reals]) -> Value:
    """Computed with so many roundings of its own, from operands that are ``apart`` in all."""

    def off() -> Reals:
        before = apart()
        found: Reals = before + growth(roundings) * (np.abs(real.near()) + before)
        return found

    return Value(real, off)
