"""The sum of two tensors, of which any has integers of 16 bits: fixed point proven to be it.

As ``pair``, of 2^32 pairs, none of which is looked at.  What the model says of a pair before it is
rounded is a fraction of a denominator that follows from the three scales: a number that is no
integer is as far from the next one as one part of that, at least.  What the kernel computes is
never less, and by less than such a part more; so both are equal once they are rounded down.  That
tells numbers in the middle between two steps as well: there are many.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import product
from math import ceil, lcm

import numpy as np

from edgeconv.ir.requantisation.exact import Integers
from edgeconv.ir.requantisation.pair import Affine

_WIDEST = 2**63 - 1
_LEAST, _MOST = -(2**15), 2**15 - 1  # of an operand
_LEAST_SHIFT, _MOST_SHIFT = 32, 60  # of a word that fits 32 bits then


@dataclass(frozen=True, slots=True)
class WidePair:
    """The sum of integers a and b:

        p = a by_a + b by_b + offset
        q = p >> shift,   one less if p mod 2^shift < tie and q - zero is odd
        result = min(max(q, low), high)

    Nothing of it overflows int64, and q fits int32.  `ec_int16_rounded` of
    runtime_c/kernels/ec_int16_scaling.h.
    """

    by_a: int
    by_b: int
    offset: int
    shift: int
    tie: int
    zero: int
    low: int
    high: int

    @property
    def words(self) -> tuple[int, int, int, int]:
        """For either factor the lower word, which is signed, and the upper one."""
        return (*_split(self.by_a), *_split(self.by_b))

    def of(self, a: Integers, b: Integers) -> Integers:
        """The results, as kernels compute them."""
        p = a * self.by_a + b * self.by_b + self.offset
        q = p >> self.shift
        tied = ((p & ((1 << self.shift) - 1)) < self.tie) & (((q - self.zero) & 1) == 1)
        found: Integers = np.clip(q - tied, self.low, self.high)
        return found


def _split(factor: int) -> tuple[int, int]:
    low = ((factor + 2**31) & (2**32 - 1)) - 2**31
    return low, (factor - low) >> 32


@lru_cache(maxsize=4096)
def wide_pair(a: Affine, b: Affine, result: Affine, low: int, high: int) -> WidePair | None:
    """What kernels compute; None where scales differ so much that 64 bits do not tell ties."""
    spacing = Fraction(result.scale)
    slopes = Fraction(a.scale) / spacing, Fraction(b.scale) / spacing
    start = result.zero + Fraction(1, 2) - slopes[0] * a.zero - slopes[1] * b.zero
    over = lcm(*(number.denominator for number in (*slopes, start)))
    for shift in range(_MOST_SHIFT, _LEAST_SHIFT - 1, -1):
        by_a, by_b = (round(slope * 2**shift) for slope in slopes)
        less = [
            (slopes[0] * i + slopes[1] * j + start) * 2**shift - i * by_a - j * by_b
            for i, j in product((_LEAST, _MOST), repeat=2)
        ]
        offset = max(map(ceil, less))
        reach = -_LEAST * (abs(by_a) + abs(by_b)) + abs(offset)
        if reach > _WIDEST:
            continue
        tie = int(offset - min(less)) + 1  # more than by how much a number is above what it is
        tie = tie if 2 * tie * over > 2**shift else 1 << (tie - 1).bit_length()  # an immediate
        proven = tie * over <= 2**shift
        return WidePair(by_a, by_b, offset, shift, tie, result.zero, low, high) if proven else None
    return None
