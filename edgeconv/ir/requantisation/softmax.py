"""Softmax of int8 as int8: a table of powers, an exact sum of them, and one rounding.

Integers q_i of scale s stand for s q_i and a constant, which cancels.  With m the largest of n,

    p_i = exp(-s (m - q_i)) / sum_j exp(-s (m - q_j)),
    q = min(max(round(p_i / step) + zero, low), high).

Kernels take exp(-s d) of a difference d as a whole number of 2^-30, add these up exactly, and
multiply by the reciprocal of the sum.  What they round is off by `error` at most, so that they have
the model's number wherever p_i / step is not as near to the middle between two steps.

It lies in the middle itself only where all n are equal and n step = 2.  Powers exp(-s d) of
different d are linearly independent over the algebraic numbers (Lindemann and Weierstrass), so that
a sum with any d > 0 in it is irrational.  And 1 / (n step) = k + 1/2 for a step that is a whole
number of some power of two, as float32 is, leaves n step (2 k + 1) = 2, so k = 0.  Of 0 and 1 the
even one is 0: kernels round a half down.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from edgeconv.ir.requantisation.exact import Integers
from edgeconv.ir.requantisation.exact_reals import Reals
from edgeconv.ir.requantisation.pair import Affine

_BITS = 30  # of a power: 2^30 stands for 1
_DIFFERENCES = 256
_INVERSE_BITS = 31  # of the number of steps in 1
_SMALLEST = 2.0**-20  # step: results before they are bounded fit 32 bits
_EVERY_BIT = 2**32 - 1


@dataclass(frozen=True, slots=True)
class Softmax:
    """A softmax of int8, by a table of powers.  ``powers``: of the differences 0, 1, ..., the last
    of which stands for all beyond.  ``inverse`` * 2^-right: steps in a probability of 1."""

    powers: tuple[int, ...]
    inverse: int
    right: int
    zero: int
    low: int
    high: int

    def of(self, row: Sequence[int]) -> list[int]:
        """The results of a row of int8, as kernels compute them."""
        last, most = len(self.powers) - 1, max(row)
        own = [self.powers[min(most - q, last)] for q in row]
        total = sum(own)
        bits = total.bit_length()
        mantissa = total >> (bits - 32) if bits > 32 else total << (32 - bits)
        factor = (reciprocal(mantissa) * self.inverse) >> 31
        shift = min(bits + self.right, 63)
        half = (1 << (shift - 1)) - 1
        found = ((power * factor + half >> shift) + self.zero for power in own)
        return [min(max(q, self.low), self.high) for q in found]


def reciprocal(mantissa: int) -> int:
    """2^63 / ``mantissa`` of at least 2^31, 4 too small or too large at most: a division of 16 bits
    and two of Newton's steps, as kernels make it."""
    found = (_EVERY_BIT // (mantissa >> 16)) << 15
    for _ in range(2):
        left = 2**63 - mantissa * found
        found += ((left >> 16) * (found >> 15)) >> 32
    return min(found, _EVERY_BIT)


def powers_of(scale: float) -> Integers:
    """Whole numbers of 2^-30 for exp(-scale d), d = 0, 1, ... to the first that is none."""
    every = np.rint(np.exp(-scale * np.arange(_DIFFERENCES)) * 2.0**_BITS).astype(np.int64)
    none = np.flatnonzero(every == 0)
    found: Integers = every[: none[0] + 1] if none.size else every
    return found


@lru_cache(maxsize=1024)
def softmax(x: Affine, y: Affine, low: int, high: int) -> Softmax | None:
    """What kernels compute; None of steps too fine for it."""
    if y.scale < _SMALLEST:
        return None
    steps = 1 / Fraction(y.scale)
    right = _INVERSE_BITS - math.floor(math.log2(steps)) - 1
    inverse = round(steps * Fraction(2) ** right)
    if inverse.bit_length() != _INVERSE_BITS:  # next to a power of two
        right += _INVERSE_BITS - inverse.bit_length()
        inverse = round(steps * Fraction(2) ** right)
    powers = tuple(map(int, powers_of(x.scale)))
    return Softmax(powers, inverse, right, y.zero, low, high)


def error(probability: Reals, count: int) -> Reals:
    """How far what is rounded may be from a probability among ``count``: its own power's rounding,
    and relative to it those of all powers, of the sum's upper 32 bits, of its reciprocal and of the
    number of steps."""
    found: Reals = 2.0**-31 * (1.0 + probability * (count + 8))
    return found
