"""TensorFlow Lite's arithmetic: a product rounded to an integer, and that by a shift.

A real factor r is a multiplier of 31 bits and a shift (Jacob et al. 2018, section 2.2):

    r = multiplier 2^-31 2^-shift,    2^30 <= multiplier < 2^31

and a whole number x becomes

    word = floor((x multiplier + 2^30) / 2^31)       (halves up)
    x r ~ round(word / 2^shift)                      (halves away from zero; none where shift <= 0)

which is SaturatingRoundingDoublingHighMul, then RoundingDivideByPOT: VQRDMULH and, with one added
where it is negative, VRSHL of Arm.  Where ``shift`` is negative, x is shifted left before.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from edgeconv.ir.requantisation.exact import Integers, Sums

Words = npt.NDArray[np.int32]
_MOST_SHIFT = 31
REACH = 2**31 - 512  # so that offsets can be added to what is left of a sum


def quantised_multiplier(real: float) -> tuple[int, int]:
    """Multiplier and shift to the right of a factor >= 0; of one below 2^-32 the first is 0."""
    fraction, exponent = math.frexp(real)
    multiplier = math.floor(fraction * 2**31 + 0.5)  # exact in float64: halves away from zero
    if multiplier == 2**31:
        multiplier, exponent = 2**30, exponent + 1
    return (multiplier, -exponent) if -exponent <= _MOST_SHIFT else (0, _MOST_SHIFT)


def multiplied(
    x: Integers, multiplier: Integers | int, shift: Integers | int, *, start: int = 0
) -> Integers:
    """``x`` times such a factor, as above.  ``x`` shifted left by ``start`` and ``-shift`` lies in
    int32: the caller sees to it."""
    left, right = np.maximum(-np.asarray(shift), 0) + start, np.maximum(shift, 0)
    return halved(((x << left) * multiplier + (1 << 30)) >> 31, right)


def halved(x: Integers, times: Integers | int) -> Integers:
    """``x`` / 2^times, halves away from 0; ``times`` >= 0."""
    half = (np.int64(1) << np.asarray(times, np.int64)) >> 1
    found: Integers = (x + half - ((x < 0) & (half > 0))) >> times
    return found


@dataclass(frozen=True, slots=True, eq=False)
class Twice:
    """Requantisation of a sum that began with ``start`` of its channel, in int32:

        q = min(max(multiplied(sum, multiplier[channel], shift[channel]) + offset, low), high)

    0 <= ``shift``.  ``offset``: the zero point of the result.
    `ec_int8_of_sum` of runtime_c/kernels/ec_int8_scaling_twice.h.
    """

    start: Words
    multiplier: Words
    shift: Words
    offset: int
    low: int
    high: int

    @property
    def right(self) -> int:
        """The smallest shift: kernels of a Cortex-M with DSP need one of 1 at least."""
        return int(self.shift.min(initial=_MOST_SHIFT))

    @property
    def words(self) -> tuple[Words, ...]:
        """What kernels read of every channel: one less than the shift, for which there is no half
        to be added apart."""
        return self.start, self.multiplier, (self.shift - 1).astype(np.int32)

    def of(self, sums: Integers) -> Integers:
        """The results for sums of shape (channels, any number), without start, as kernels compute
        them."""
        started = sums + self.start.astype(np.int64)[:, None]
        factor, shift = (each.astype(np.int64)[:, None] for each in (self.multiplier, self.shift))
        bounded: Integers = np.clip(
            multiplied(started, factor, shift) + self.offset, self.low, self.high
        )
        return bounded


def twice(sums: Sums) -> Twice | None:
    """The form of ``sums``: None where a bias is no whole number of units, a factor 1 or more, or a
    sum out of reach."""
    factors = [quantised_multiplier(float(each)) for each in sums.unit / sums.spacings]
    multiplier, shift = (np.array(each, np.int32) for each in zip(*factors, strict=True))
    reach = max(abs(int(sums.least.min(initial=0))), int(sums.most.max(initial=0)))
    if sums.bias.any() or shift.min(initial=0) < 0 or reach >= REACH:
        return None
    start = np.zeros_like(multiplier)
    return Twice(start, multiplier, shift, sums.zero, sums.low, sums.high)
