"""Averages of int8 as int8: what a model says, and how kernels make them of sums, proven.

A window of ``count`` numbers q of scale s and zero point z stands for the average

    s / count (sum_i q_i - count z),

of which there is one rounding.  Like scales and a power of two for a count make halves of a step,
which go to the even one: those are shifted ("halves").  Few numbers have steps that are large
beside the sum ("linear"), all else is `Fixed` ("high"), by count; but for halves of a step of other
counts, where the sum is divided twice ("even").
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from edgeconv.ir.requantisation.double_rounding import halved, multiplied
from edgeconv.ir.requantisation.exact import Integers, Sums, requantised
from edgeconv.ir.requantisation.forms import Words, fixed
from edgeconv.ir.requantisation.pair import LARGEST, MOST_RIGHT, Affine, offsets, rights

_EXACT = 2**28  # times a float32 it is exact in float64
_RESULTS = 2**9  # more than twice those of a result
_FEW = 64  # numbers, of which all sums are looked at
_TRIED = (0, *(sign * near for near in range(1, 9) for sign in (1, -1)))  # beside the nearest


@dataclass(frozen=True, slots=True)
class Average:
    """How the sum of a window becomes its average, brought between ``low`` and ``high``; with s and
    f the ``start`` and ``factor`` of its count, and nothing of it beyond int32,

    ======= ==================================================================
    linear  (sum f + s) >> right
    high    (high_word((sum + s) f) + offset) >> right, as `Fixed`
    halves  (sum + s + bit + offset) >> right; bit: number ``right`` of sum + s
    even    up where that is an even number of steps from ``zero`` on, else down
    doubled `double_rounding.multiplied` of sum + s by f and ``right``, + offset
    away    round(sum / 2^right), halves away from 0
    ======= ==================================================================

    as EC_INT8_<``scaling``> of runtime_c/kernels/ec_int8_average.h.  With n = 2 sum + s, up is
    (high_word(n f) + offset) >> right, and down the same of n - 1, which differs at ties alone.
    """

    scaling: str
    right: int
    low: int
    high: int
    start: tuple[int, ...] = (0,)
    factor: tuple[int, ...] = (0,)
    offset: int = 0
    zero: int = 0

    @property
    def words(self) -> tuple[Words, Words]:
        """What kernels read, by count."""
        return np.array(self.start, np.int32), np.array(self.factor, np.int32)

    def of(self, sums: Integers, which: int = 0) -> Integers:
        """The results of the count of this number, as kernels compute them."""
        whole = _SCALINGS[self.scaling](self, sums, self.start[which], self.factor[which])
        found: Integers = np.clip(whole, self.low, self.high)
        return found


def _halves_to_even(form: Average, sums: Integers, start: int, factor: int) -> Integers:
    del factor
    started = sums + start
    return (started + ((started >> form.right) & 1) + form.offset) >> form.right


def _even_of_two(form: Average, sums: Integers, start: int, factor: int) -> Integers:
    doubled = 2 * sums + start
    up, down = (
        ((number * factor >> 32) + form.offset) >> form.right for number in (doubled, doubled - 1)
    )
    found: Integers = down + (up - down) * ((down - form.zero) & 1)
    return found


_SCALINGS: Mapping[str, Callable[[Average, Integers, int, int], Integers]] = {
    "linear": lambda form, sums, start, factor: (sums * factor + start) >> form.right,
    "high": lambda form, sums, start, factor: (
        (((sums + start) * factor >> 32) + form.offset) >> form.right
    ),
    "halves": _halves_to_even,
    "even": _even_of_two,
    "doubled": lambda form, sums, start, factor: (
        multiplied(sums + start, factor, form.right) + form.offset
    ),
    "away": lambda form, sums, start, factor: halved(sums, form.right),
}


WHOLE = Affine(1.0, 0)  # of sums of the integers themselves


@lru_cache(maxsize=4096)
def averages(
    counts: tuple[int, ...], x: Affine, y: Affine, low: int, high: int, *, away: bool = False
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
) -> Average | None:
    sums = _sums(counts, x, y, low, high, away)
    found = fixed(sums) if sums else None
    if found is None:
        return None
    start = found.start - np.array(counts, np.int64) * x.zero
    words = tuple(map(int, start)), tuple(map(int, found.multiplier))
    return Average("high", found.right, low, high, *words, found.offset)


def _linear(
    counts: Sequence[int], x: Affine, y: Affine, low: int, high: int, away: bool
) -> Average | None:
    goals = []
    for count in counts:
        sums = _sums([count], x, y, low, high, away)
        assert sums is not None  # of few numbers
        values = np.arange(-128 * count, 127 * count + 1)
        goals.append((values, requantised(sums, values[None, :] - count * x.zero)[0]))
    ratio = x.scale / y.scale
    for right in rights(256 * ratio, 3):
        words = [
            _word(*goal, ratio / count * 2**right, right, (low, high))
            for count, goal in zip(counts, goals, strict=True)
        ]
        known = [word for word in words if word is not None]
        if len(known) == len(words):
            starts, factors = zip(*known, strict=True)
            return Average("linear", right, low, high, starts, factors)
    return None


def _word(
    values: Integers, goal: Integers, near: float, right: int, bounds: tuple[int, int]
) -> tuple[int, int] | None:
    """Start and factor with which every sum is as the goal."""
    for tried in _TRIED:
        factor = round(near) + tried
        without = values * factor
        least, most = offsets(without, right, goal, bounds)
        start = int(least + (most - least) // 2)
        if least <= most and np.abs([without, without + start]).max() <= LARGEST:
            return start, factor
    return None


def _halves(count: int, x: Affine, y: Affine, low: int, high: int) -> Average | None:
    right = count.bit_length() - 1
    if x.scale != y.scale or count != 1 << right or not 1 <= right <= 16:
        return None
    # One half less one of the last bit, and the zero point.
    offset = (1 << (right - 1)) - 1 + (y.zero << right)
    return Average("halves", right, low, high, (-count * x.zero,), offset=offset)


def _even(counts: Sequence[int], x: Affine, y: Affine, low: int, high: int) -> Average | None:
    """A step is a whole number of sums: so it is divided by, as a product with its reciprocal
    rounded up (Granlund and Montgomery, "Division by Invariant Integers using Multiplication",
    1994)."""
    ratio = Fraction(x.scale) / Fraction(y.scale)
    steps = [count / ratio for count in counts]
    if any(step.denominator > 1 for step in steps):
        return None
    over = [2 * step.numerator for step in steps]
    right = min(MOST_RIGHT, (min(over) - 1).bit_length() - 2)
    if right < 0:
        return None
    above = 256 * math.ceil(ratio)  # steps that make every number positive
    starts, multipliers = [], []
    for count, divisor in zip(counts, over, strict=True):
        power = 1 << (32 + right)
        multiplier = -(-power // divisor)
        start = divisor // 2 + above * divisor - 2 * count * x.zero
        most = 2 * 127 * count + start
        if multiplier > LARGEST or most > LARGEST or most * (multiplier * divisor - power) >= power:
            return None
        starts.append(start)
        multipliers.append(multiplier)
    offset = (y.zero - above) << right
    if abs(offset) > LARGEST // 2:
        return None
    words = tuple(starts), tuple(multipliers)
    return Average("even", right, low, high, *words, offset, y.zero)
