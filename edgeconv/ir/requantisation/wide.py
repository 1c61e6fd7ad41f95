"""From sums to integers of 16 bits, or of int16 inputs to those of 8: what kernels compute, proven.

A result of 16 bits has 65,535 thresholds, and sums of int16 are known to a part in 2^25 of what
they reach: a product of 64 bits, as `Fixed` has it, is not enough.  `Wide` multiplies by 64 bits.

That it is what the model says (``exact``) is proven without looking at thresholds.  Both are linear
functions of the sum, rounded down; where one of them is never the smaller one they are equal
everywhere just where their sums over all sums are, and those Euclid's algorithm finds
(``linear``).  Numbers in the middle between two steps are counted alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil

import numpy as np
import numpy.typing as npt

from edgeconv.ir.requantisation.exact import Integers, Sums
from edgeconv.ir.requantisation.forms import Words
from edgeconv.ir.requantisation.linear import Line

_WORD = 32
_WIDEST = 2**62  # products and offsets: two of them fit 64 bits
_MOST_SHIFT = 45  # an offset has 17 bits before the point
LEAST, MOST = -(2**31), 2**31 - 1  # sums that a kernel multiplies; those beyond become these
WORDS = 4  # of a channel


@dataclass(frozen=True, slots=True, eq=False)
class Wide:
    """Requantisation of a sum in int32, m = ``multiplier`` of its channel:

        p = floor(sum m / 2^32) + offset[channel]
        q = p >> shift,   one less if p mod 2^shift < tie and q - zero is odd
        result = min(max(q, low), high)

    Shifts are arithmetic, and nothing of it overflows int64: m is high 2^32 + low with two words,
    so that sum high + (sum low >> 32) is the first term.  1 <= ``shift`` <= 45.  ``tie``: 0 where
    no sum is in the middle between two steps.  `ec_int16_of_sum` of
    runtime_c/kernels/ec_int16_scaling.h.

    With ``away`` it is of twice the sum, less 1 where that is negative: what goes up in the middle
    between two steps goes away from 0 then, of a ``zero`` of 0.

    Sums are brought between ``least`` and ``most`` first; where these have more than 32 bits
    (`long`) it is `ec_int16_of_long` of ec_int16_product.h.
    """

    multiplier: Integers
    offset: Integers
    shift: int
    tie: int
    zero: int
    low: int
    high: int
    least: int = LEAST
    most: int = MOST
    away: bool = False

    @property
    def words(self) -> tuple[Words, Words, Words, Words]:
        """What kernels read of every channel: lower and upper word of multiplier and offset; the
        multiplier's lower word is signed."""
        low = ((self.multiplier + 2**31) & (2**_WORD - 1)) - 2**31
        high = (self.multiplier - low) >> _WORD
        return _words(low), _words(high), _words(self.offset), _words(self.offset >> _WORD)

    def of(self, sums: Integers) -> Integers:
        """The results for sums of shape (channels, any number), as kernels compute them."""
        low, high, _, _ = (word.astype(np.int64)[:, None] for word in self.words)
        if self.away:
            sums = 2 * sums - (sums < 0)
        brought = np.clip(sums, self.least, self.most)
        if self.least < LEAST or self.most > MOST:  # products beyond 64 bits
            brought, low, high = (each.astype(object) for each in (brought, low, high))
        p = brought * high + ((brought * low) >> _WORD) + self.offset[:, None]
        q = p >> self.shift
        tied = ((p & ((1 << self.shift) - 1)) < self.tie) & (((q - self.zero) & 1) == 1)
        found: Integers = np.clip(q - tied, self.low, self.high).astype(np.int64)
        return found


def long(
    unit: float,
    spacing: float,
    zero: int,
    bounds: tuple[int, int],
    reach: tuple[int, int],
    *,
    ties_up: bool = False,
) -> Wide | None:
    """The form, of one channel, of sums that are whole numbers of units within ``reach``, of 64
    bits; None where there is none.  ``unit``: exact in float64; ``bounds``: of results;
    ``ties_up``: ties go up instead of to the even number."""
    least, most = (np.array([end], np.int64) for end in reach)
    sums = Sums(np.array([unit]), np.zeros(1), least, most, spacing, zero, *bounds)
    line = _line(sums, 0, 0)
    ends = _ends(line, sums, *reach)
    steepest = Fraction(line.slope, line.over)
    for shift in _shifts(steepest):
        multiplier, offsets = _offsets(line, ends, shift)
        products = [abs(end * multiplier >> _WORD) for end in ends]
        if max(*map(abs, offsets), *products) < _WIDEST:
            made = (_one(multiplier, each, shift, zero, bounds, ends) for each in offsets)
            found = (_proven(form, [line], [ends], ties_up=ties_up) for form in made)
            return next((form for form in found if form is not None), None)
    return None


def _one(
    multiplier: int,
    offset: int,
    shift: int,
    zero: int,
    bounds: tuple[int, int],
    ends: tuple[int, int],
) -> Wide:
    words = np.array([multiplier], np.int64), np.array([offset], np.int64)
    return Wide(*words, shift, 0, zero, *bounds, *ends)


def wide(sums: Sums, whole: Integers, *, ties_up: bool = False) -> Wide | None:
    """The form of ``sums`` which kernels have less ``whole`` of each channel: the zero point's part
    and the bias.  ``ties_up``: ties go up instead of to the even number.  None where there is none:
    scales differ too much, or sums beyond 32 bits make results between the bounds."""
    says = [_line(sums, int(whole[channel]), channel) for channel in range(len(sums.unit))]
    reach = [
        _reach(line, sums, int(least), int(most))
        for line, least, most in zip(says, sums.least - whole, sums.most - whole, strict=True)
    ]
    if not all(reach):
        return None
    steepest = max(Fraction(line.slope, line.over) for line in says)
    for shift in _shifts(steepest):
        made = [_offset(line, ends, shift) for line, ends in zip(says, reach, strict=True) if ends]
        if all(abs(offset) < _WIDEST for _, offset in made):
            break
    else:
        return None
    multiplier, offset = np.array(made, np.int64).T
    form = Wide(multiplier, offset, shift, 0, sums.zero, sums.low, sums.high)
    if not _narrow(form, sums.least - whole, sums.most - whole):
        return None
    return _proven(form, says, [ends for ends in reach if ends], ties_up=ties_up)


def _narrow(form: Wide, least: Integers, most: Integers) -> bool:
    """What is brought between the bounds fits 32 bits, as it does in kernels."""
    ends = np.clip(np.stack([least, most], axis=1), LEAST, MOST)
    lines = [_computed(form, channel) for channel in range(len(ends))]
    steps = [line.at(int(end)) for line, own in zip(lines, ends, strict=True) for end in own]
    return min(steps) > LEAST and max(steps) <= MOST


def _line(sums: Sums, whole: int, channel: int) -> Line:
    """What the model says but for ties, which go up, and bounds, of a kernel's sum."""
    spacing, unit = (Fraction(float(each[channel])) for each in (sums.spacings, sums.unit))
    bias = Fraction(float(sums.bias[channel])) + unit * whole
    return Line.through(unit / spacing, bias / spacing + sums.zero + Fraction(1, 2))


def _reach(line: Line, sums: Sums, least: int, most: int) -> tuple[int, int] | None:
    """The first and the last sum of which the kernel's result matters: those of results one beyond
    the bounds, or that there are.  None where sums that a kernel does not have are among them."""
    first, last = _ends(line, sums, least, most)
    return (first, last) if first >= LEAST and last <= MOST else None


def _ends(line: Line, sums: Sums, least: int, most: int) -> tuple[int, int]:
    first = max(min(line.first(sums.low) - 1, most), least)
    last = max(min(line.first(sums.high + 1), most), least)
    return first, last


def _shifts(steepest: Fraction) -> Sequence[int]:
    """The largest with which a multiplier is below 2^63, and smaller ones, that offsets fit."""
    bits = steepest.numerator.bit_length() - steepest.denominator.bit_length() + 1
    most = min(_MOST_SHIFT, 30 - bits)
    return range(most, max(0, most - 24), -1)


def _offset(says: Line, ends: tuple[int, int], shift: int) -> tuple[int, int]:
    """Multiplier and offset of a channel: the nearest, and the smallest with which no sum is less
    than what the model says."""
    multiplier, (offset, _) = _offsets(says, ends, shift)
    return multiplier, offset


def _offsets(says: Line, ends: tuple[int, int], shift: int) -> tuple[int, tuple[int, int]]:
    """The offsets that hold, and the one that is nearest to what the model says at both ends."""
    slope, start = Fraction(says.slope, says.over), Fraction(says.start, says.over)
    multiplier = round(slope * 2 ** (_WORD + shift))
    missing = [(slope * s + start) * 2**shift - Fraction(s * multiplier, 2**_WORD) for s in ends]
    return multiplier, (ceil(max(missing)), round(sum(missing) / 2))


def _computed(form: Wide, channel: int, less: int = 0) -> Line:
    """What the kernel computes but for ties and bounds, with an offset that is ``less``."""
    offset = int(form.offset[channel]) - less
    return Line(int(form.multiplier[channel]), offset << _WORD, 1 << (_WORD + form.shift))


def _proven(
    form: Wide, says: Sequence[Line], reach: Sequence[tuple[int, int]], *, ties_up: bool
) -> Wide | None:
    """``form`` with what tells ties, if it is the model's for every channel and every sum."""
    ties = [0 if ties_up else line.whole(*ends) for line, ends in zip(says, reach, strict=True)]
    tie = 0
    for channel, (line, ends) in enumerate(zip(says, reach, strict=True)):
        made = _computed(form, channel)
        if not made.equals(line, *ends):
            return None
        if ties[channel]:
            tie = max(tie, *(_above(made, line, s, form.shift) for s in ends))
    powers = (1 << (tie - 1).bit_length(), tie) if tie else (0,)  # an immediate, if that does
    return next(
        (replace(form, tie=each) for each in powers if _separates(form, each, ties, reach)), None
    )


def _separates(form: Wide, tie: int, ties: Sequence[int], reach: Sequence[tuple[int, int]]) -> bool:
    """As many sums of each channel are below ``tie`` as are in the middle between two steps."""
    for channel, (count, ends) in enumerate(zip(ties, reach, strict=True)):
        if tie:
            made, without = _computed(form, channel), _computed(form, channel, tie)
            if made.total(*ends) - without.total(*ends) != count:
                return False
    return True


def _above(made: Line, says: Line, value: int, shift: int) -> int:
    """More than by how much, in 2^-shift, a kernel's number is above what the model says."""
    more = Fraction(made.slope * value + made.start, made.over) - Fraction(
        says.slope * value + says.start, says.over
    )
    return int(more * 2**shift) + 1


def _words(values: Integers) -> Words:
    """The lower 32 bits."""
    words: npt.NDArray[np.int32] = (values & (2**_WORD - 1)).astype(np.uint32).view(np.int32)
    return words
