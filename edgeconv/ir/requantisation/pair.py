"""The sum of two tensors of int8 as int8: what a model says, and fixed point proven to be it.

Integers a and b stand for (a - zero_a) scale_a and (b - zero_b) scale_b, their sum x for what

    Q(x) = min(max(round(x / spacing) + zero, low), high),    ties to even,

stores: real arithmetic, one rounding, as `exact` has it.  Kernels compute

    p = a by_a + b by_b + offset,    q = min(max((p + bit) >> right, low), high)

bit: number ``right`` of p where ``ties`` is 1, so that a half of a step, where all bits of p below
are 1, is raised in front of an odd number alone; else 0.  There are 65,536 pairs of a and b, all of
which are looked at.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np

from edgeconv.ir.encoding import Encoding
from edgeconv.ir.requantisation.exact import Integers

STORED = np.arange(-128, 128, dtype=np.int64)
LARGEST = 2**31 - 1
MOST_RIGHT = 22
_NEAR = 1e-9  # of a tie in float64, whose five roundings are below 1e-12 of 512
# Tried around the nearest factors, near ones first.
_AROUND = sorted(product(range(-4, 5), repeat=2), key=lambda near: max(map(abs, near)))


@dataclass(frozen=True, slots=True)
class Affine:
    """Integers of ``scale``, which is exact in float64, and a zero point.  The scale of what is
    subtracted is negative."""

    scale: float
    zero: int

    @staticmethod
    def of(encoding: Encoding) -> Affine:
        """The parameters of ``encoding``, of one scale."""
        return Affine(encoding.scale[0], encoding.zero[0])


@dataclass(frozen=True, slots=True)
class PairSum:
    """As above; nothing of it overflows int32."""

    by_a: int
    by_b: int
    offset: int
    right: int
    low: int
    high: int
    ties: int = 0

    def of(self, a: Integers, b: Integers) -> Integers:
        """The results, as the kernel computes them."""
        total = a * self.by_a + b * self.by_b + self.offset
        bit = (total >> self.right) & self.ties
        found: Integers = np.clip((total + bit) >> self.right, self.low, self.high)
        return found


Says = Callable[[Affine, Affine, Affine, int, int], Integers | None]


def added(a: Affine, b: Affine, result: Affine, low: int, high: int) -> Integers:
    """What the model says of the sum of every pair: a from -128 to 127 (first axis), b (second
    axis)."""
    return _rounded(operator.add, a, b, result, low, high)


def multiplied(a: Affine, b: Affine, result: Affine, low: int, high: int) -> Integers:
    """What the model says of the product of every pair likewise."""
    return _rounded(operator.mul, a, b, result, low, high)


def _rounded(
    function: Callable[[Any, Any], Any], a: Affine, b: Affine, result: Affine, low: int, high: int
) -> Integers:
    of_a, of_b = (STORED - a.zero)[:, None], (STORED - b.zero)[None, :]
    real = function(of_a * a.scale, of_b * b.scale) / result.scale
    found = np.rint(real).astype(np.int64)
    close = np.abs(real - np.floor(real) - 0.5) <= _NEAR * np.maximum(np.abs(real), 1)
    for i, j in zip(*np.nonzero(close & (np.abs(real) < 2 * 256)), strict=True):
        exact = function(int(of_a[i, 0]) * Fraction(a.scale), int(of_b[0, j]) * Fraction(b.scale))
        found[i, j] = round(exact / Fraction(result.scale))  # ties to even
    stored: Integers = np.clip(found + result.zero, low, high)
    return stored


@lru_cache(maxsize=16384)
def pair_sum(
    a: Affine, b: Affine, result: Affine, low: int, high: int, says: Says = added
) -> PairSum | None:
    """What kernels compute instead; None where nothing was found that is the same for all pairs, as
    where halves of a step are to become even and factors are no multiples of a power of two.
    ``says``: what it has to be, of all pairs; None where that has no meaning."""
    wanted = says(a, b, result, low, high)
    if wanted is None:
        return None
    by_a, by_b = a.scale / result.scale, b.scale / result.scale
    for right in rights(128 * (by_a + abs(by_b)), 3):
        for near_a, near_b in _AROUND:
            whole_a, whole_b = round(by_a * 2**right) + near_a, round(by_b * 2**right) + near_b
            without = STORED[:, None] * whole_a + STORED[None, :] * whole_b
            least, most = offsets(without, right, wanted, (low, high))
            offset = int(least + (most - least) // 2)
            size = 128 * (abs(whole_a) + abs(whole_b))
            if least <= most and size + abs(offset) <= LARGEST:
                return PairSum(whole_a, whole_b, offset, right, low, high)
    return _to_even(a, b, result, wanted, (low, high))


def _to_even(
    a: Affine, b: Affine, result: Affine, wanted: Integers, bounds: tuple[int, int]
) -> PairSum | None:
    """Where both factors are whole numbers of 2^-right, and the zero point of the result is even:
    it is added in front of the shift, where it must not change which numbers are odd."""
    factors = [Fraction(each.scale) / Fraction(result.scale) for each in (a, b)]
    right = max(1, *(each.denominator.bit_length() - 1 for each in factors))
    by_a, by_b = (each * 2**right for each in factors)
    if by_a.denominator != 1 or by_b.denominator != 1 or right > MOST_RIGHT or result.zero % 2:
        return None
    offset = int(((2 * result.zero + 1) << (right - 1)) - 1 - a.zero * by_a - b.zero * by_b)
    if 128 * (abs(by_a) + abs(by_b)) + abs(offset) >= LARGEST:
        return None
    found = PairSum(int(by_a), int(by_b), offset, right, *bounds, ties=1)
    same = np.array_equal(found.of(STORED[:, None], STORED[None, :]), wanted)
    return found if same else None


def offsets(
    without: Integers,
    right: int,
    wanted: Integers,
    bounds: tuple[int, int],
    axis: int | None = None,
) -> tuple[Integers, Integers]:
    """The first and the last one with which (``without`` + offset) >> ``right`` is as ``wanted``,
    for all numbers or along ``axis``: there are none where the first is the larger one."""
    low, high = bounds
    # Results between the bounds need a sum of their step; at a bound, of that or beyond it.
    least = np.where(wanted > low, (wanted << right) - without, -LARGEST)
    most = np.where(wanted < high, ((wanted + 1) << right) - 1 - without, LARGEST)
    return least.max(axis, initial=-LARGEST), most.min(axis, initial=LARGEST)


def rights(size: float, count: int) -> Iterator[int]:
    """The most bits behind the point with which numbers of this ``size`` may fit into int32, and
    fewer: so many in all."""
    fitting = [n for n in range(1, MOST_RIGHT + 1) if size * 2**n < LARGEST]
    yield from reversed(fitting[-count:])
