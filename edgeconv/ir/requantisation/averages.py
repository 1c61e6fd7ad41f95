"""Averages of int8 as int8: what a model says, and how kernels make them of sums, proven.

A window of ``count`` numbers q of scale s and zero point z stands for the average

    s / count (sum_i q_i - count z),

of which there is one rounding.  Like scales and a power of two for a count make halves of a step,
which go to the even one: those are shifted (`Halves`).  Few numbers have steps that are large
beside the sum (`Linear`), all else is `Fixed`, by count; but for halves of a step of other counts,
where the sum is divided twice (`Even`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from edgeconv.ir.requantisation.exact import Integers, Sums, requantised
from edgeconv.ir.requantisation.forms import Fixed, fixed
from edgeconv.ir.requantisation.pair import Affine
from edgeconv.ir.requantisation.tflite_averages import Away, Doubled

_EXACT = 2**28  # times a float32 it is exact in float64
_RESULTS = 2**9  # more than twice those of a result
_FEW = 64  # numbers, of which all sums are looked at
_LARGEST = 2**31 - 1
_MOST_RIGHT = 22
_TRIED = (0, *(sign * near for near in range(1, 9) for sign in (1, -1)))  # beside the nearest


@dataclass(frozen=True, slots=True)
class Halves:
    """The average of a sum of ``2^right`` numbers, in units of the result:

    q = min(max(round((sum + start) / 2^right) + zero, low), high), ties to even
    """

    start: int
    zero: int
    right: int
    low: int
    high: int

    @property
    def offset(self) -> int:
        """One half less one of the last bit, and the zero point."""
        return (1 << (self.right - 1)) - 1 + (self.zero << self.right)

    def of(self, sums: Integers) -> Integers:
        """The results, as kernels compute them."""
        started = sums + self.start
        odd = (started >> self.right) & 1
        found: Integers = np.clip((started + odd + self.offset) >> self.right, self.low, self.high)
        return found


@dataclass(frozen=True, slots=True)
class Linear:
    """The average of sums of few numbers: q = min(max((sum factor + start) >> right, low), high),
    start and factor by count; nothing of it overflows int32."""

    start: tuple[int, ...]
    factor: tuple[int, ...]
    right: int
    low: int
    high: int

    @property
    def offset(self) -> int:
        """None beside the start."""
        return 0


@dataclass(frozen=True, slots=True)
class Even:
    """The average where steps of the result are a whole number of sums, ties to even.  With

        n = 2 sum + start,    up = (high_word(n multiplier) + offset) >> right,

    and down the same of n - 1, which differs at ties alone, the result is ``up`` where that is an
    even number of steps, else ``down``, brought between low and high; start and multiplier by
    count.
    """

    start: tuple[int, ...]
    multiplier: tuple[int, ...]
    right: int
    offset: int
    zero: int
    low: int
    high: int

    def of(self, sums: Integers, which: int = 0) -> Integers:
        """The results of the count of this number, as kernels compute them."""
        doubled = 2 * sums + self.start[which]
        up, down = (
            ((number * self.multiplier[which] >> 32) + self.offset) >> self.right
            for number in (doubled, doubled - 1)
        )
        odd = (down - self.zero) & 1
        found: Integers = np.clip(down + (up - down) * odd, self.low, self.high)
        return found


WHOLE = Affine(1.0, 0)  # of sums of the integers themselves
Average = Away | Doubled | Even | Fixed | Halves | Linear


def averages(
    counts: Sequence[int], x: Affine, y: Affine, low: int, high: int, *, away: bool = False
) -> Average | None:
    """The form of averages of windows of so many numbers, a channel of the form for each; None
    where none is proven.  ``away``: ties go away from 0, as in `Sums`."""
    found: Average | None = None
    if len(counts) == 1 and not away:
        found = _halves(counts[0], x, y, low, high)
    if found is None and max(counts) <= _FEW:
        found = _linear(counts, x, y, low, high, away)
    found = found or _fixed(counts, x, y, low, high, away)
    return found if found or away else _even(counts, x, y, low, high)


def _sums(
    counts: Sequence[int], x: Affine, y: Affine, low: int, high: int, away: bool
) -> Sums | None:
    """The exact description of sums less their zero points, a channel for each count; None beyond
    what float64 has."""
    common = math.lcm(*counts)
    if common * _RESULTS > _EXACT:
        return None
    count = np.array(counts, np.int64)
    unit = x.scale * (common // count).astype(np.float64)  # in the common one of the scale
    least, most = (-128 - x.zero) * count, (127 - x.zero) * count
    spacing = y.scale * common
    return Sums(unit, np.zeros(len(count)), least, most, spacing, y.zero, low, high, away)


def _fixed(
    counts: Sequence[int], x: Affine, y: Affine, low: int, high: int, away: bool
) -> Fixed | None:
    sums = _sums(counts, x, y, low, high, away)
    found = fixed(sums) if sums else None
    if found is None:
        return None
    start = found.start - np.array(counts, np.int64) * x.zero
    return replace(found, start=start.astype(np.int32))


def _linear(
    counts: Sequence[int], x: Affine, y: Affine, low: int, high: int, away: bool
) -> Linear | None:
    goals = []
    for count in counts:
        sums = _sums([count], x, y, low, high, away)
        assert sums is not None  # of few numbers
        values = np.arange(-128 * count, 127 * count + 1)
        goals.append((values, requantised(sums, values[None, :] - count * x.zero)[0]))
    ratio = x.scale / y.scale
    fitting = [n for n in range(1, _MOST_RIGHT + 1) if 256 * ratio * 2**n < _LARGEST]
    for right in reversed(fitting[-3:]):
        words = [
            _word(*goal, ratio / count * 2**right, right, (low, high))
            for count, goal in zip(counts, goals, strict=True)
        ]
        known = [word for word in words if word is not None]
        if len(known) == len(words):
            starts, factors = zip(*known, strict=True)
            return Linear(starts, factors, right, low, high)
    return None


def _word(
    values: Integers, goal: Integers, near: float, right: int, bounds: tuple[int, int]
) -> tuple[int, int] | None:
    """Start and factor with which every sum is as the goal."""
    low, high = bounds
    for tried in _TRIED:
        factor = round(near) + tried
        without = values * factor
        least = ((goal << right) - without)[goal > low].max(initial=-_LARGEST)
        most = (((goal + 1) << right) - 1 - without)[goal < high].min(initial=_LARGEST)
        start = int(least + (most - least) // 2)
        if least <= most and np.abs([without, without + start]).max() <= _LARGEST:
            return start, factor
    return None


def _halves(count: int, x: Affine, y: Affine, low: int, high: int) -> Halves | None:
    right = count.bit_length() - 1
    if x.scale != y.scale or count != 1 << right or not 1 <= right <= 16:
        return None
    return Halves(-count * x.zero, y.zero, right, low, high)


def _even(counts: Sequence[int], x: Affine, y: Affine, low: int, high: int) -> Even | None:
    """A step is a whole number of sums: so it is divided by, as a product with its reciprocal
    rounded up (Granlund and Montgomery, "Division by Invariant Integers using Multiplication",
    1994)."""
    ratio = Fraction(x.scale) / Fraction(y.scale)
    steps = [count / ratio for count in counts]
    if any(step.denominator > 1 for step in steps):
        return None
    over = [2 * step.numerator for step in steps]
    right = min(_MOST_RIGHT, (min(over) - 1).bit_length() - 2)
    if right < 0:
        return None
    above = 256 * math.ceil(ratio)  # steps that make every number positive
    starts, multipliers = [], []
    for count, divisor in zip(counts, over, strict=True):
        power = 1 << (32 + right)
        multiplier = -(-power // divisor)
        start = divisor // 2 + above * divisor - 2 * count * x.zero
        most = 2 * 127 * count + start
        if (
            multiplier > _LARGEST
            or most > _LARGEST
            or most * (multiplier * divisor - power) >= power
        ):
            return None
        starts.append(start)
        multipliers.append(multiplier)
    offset = (y.zero - above) << right
    if abs(offset) > _LARGEST // 2:
        return None
    return Even(tuple(starts), tuple(multipliers), right, offset, y.zero, low, high)
