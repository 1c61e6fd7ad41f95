"""From integer sums to the integers of a result: what a quantised model says, exactly.

A layer of integers q_in, zero point z_in, and filters w sums int32

    sum = sum_i (q_in_i - z_in) w_i

and its model says that the result is what Q(unit * sum + bias) stores, with unit = s_in s_w and

    Q(x) = min(max(round(x / spacing) + zero, low), high),    ties to even.

Real arithmetic, one rounding: scales, units, biases and spacings are the float32 numbers that the
model's constants are, products of two of them are exact in float64, and all that is decided here is
decided with rationals.  A bias need be no multiple of the unit.

The result is monotone in the sum, so that ``high - low`` thresholds for each channel say all of it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil

import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[np.int64]
Reals = npt.NDArray[np.float64]
Truths = npt.NDArray[np.bool_]
_EXACT = 2.0**27  # with 24 bits behind the point a difference of two is exact in float64
MOST_RIGHT = 22  # bits: an offset has eight before the point
# Beyond so many ulps a float64 quotient cannot have crossed an integer: four roundings make it.
_ULPS = 16 * float(np.finfo(np.float64).eps)


@dataclass(frozen=True, slots=True, eq=False)
class Sums:
    """What the int32 sums of a layer stand for, and what becomes of them.

    ``unit`` > 0 and ``bias``, one per channel: the sum stands for unit * sum + bias, both exact in
    float64.  ``least`` and ``most``, one per channel: between which sums lie, whatever the input.
    ``spacing``, ``zero``: scale, of all channels or one per channel, and zero point of the result,
    exact in float64; ``low`` and ``high``: its bounds, those of an activation included.  ``away``:
    ties go away from 0 instead of to the even number.  ``right``: by so many bits at most are words
    of them shifted (`forms.Fixed`).
    """

    unit: Reals
    bias: Reals
    least: Integers
    most: Integers
    spacing: float | Reals
    zero: int
    low: int
    high: int
    away: bool = False
    right: int = MOST_RIGHT

    @property
    def spacings(self) -> Reals:
        """The spacing of every channel."""
        return np.broadcast_to(np.asarray(self.spacing, np.float64), self.unit.shape)

    def only(self, channel: int) -> Sums:
        """The sums of one channel."""
        one = slice(channel, channel + 1)
        ends = {name: getattr(self, name)[one] for name in ("unit", "bias", "least", "most")}
        return replace(self, spacing=self.spacings[one], **ends)


def thresholds(sums: Sums) -> Integers:
    """By channel (first axis) the smallest sum that makes more than ``low + i`` (second axis), of
    all integers: it may lie outside of ``least`` to ``most``, and is at most two outside."""
    # A tie between steps j - 1 and j goes to the even one, or to j if that is above 0.
    whole = np.arange(sums.low + 1, sums.high + 1, dtype=np.int64) - sums.zero
    edge = (whole - 0.5) * sums.spacings[:, None]
    with np.errstate(over="ignore"):
        at = (edge - sums.bias[:, None]) / sums.unit[:, None]
        size = (np.abs(edge) + np.abs(sums.bias)[:, None]) / sums.unit[:, None]
    first = np.clip(at, sums.least[:, None] - 1.0, sums.most[:, None] + 2.0)
    found = np.ceil(first).astype(np.int64)
    near = np.abs(at - np.rint(at)) <= _ULPS * (size + 1)
    inside = (at >= sums.least[:, None] - 2.0) & (at <= sums.most[:, None] + 2.0)
    sure = near & inside & _powers(sums)[:, None]
    down = whole <= 0 if sums.away else whole % 2 == 1
    found += sure & (at == np.rint(at)) & down[None, :]
    for channel, i in zip(*np.nonzero(near & inside & ~sure), strict=True):
        every = (each[channel] for each in (sums.bias, sums.unit, sums.spacings))
        bias, unit, spacing = (Fraction(float(number)) for number in every)
        exact = ((int(whole[i]) - Fraction(1, 2)) * spacing - bias) / unit
        tied = exact.denominator == 1 and down[i]
        found[channel, i] = ceil(exact) + tied
    return found


def _powers(sums: Sums) -> Truths:
    """Which channels have thresholds that are exact in float64: the unit is a power of two, and the
    bias a whole number of these, as half the spacing is where edges are."""
    mantissa, _ = np.frexp(sums.unit)
    units, half = sums.bias / sums.unit, 0.5 * sums.spacings / sums.unit
    whole = (units == np.rint(units)) & (np.abs(units) < _EXACT) & (half < _EXACT)
    short = sums.spacings == sums.spacings.astype(np.float32)
    found: Truths = (mantissa == 0.5) & whole & short
    return found


def results(sums: Sums, edges: Integers, values: Integers) -> Integers:
    """The integers of the result for sums of shape (channels, any number); ``edges``: their
    `thresholds`."""
    rows = zip(edges, values, strict=True)
    counts = [np.searchsorted(edge, value, side="right") for edge, value in rows]
    return sums.low + np.stack(counts).astype(np.int64)


def requantised(sums: Sums, values: Integers) -> Integers:
    """The results where nobody has the thresholds."""
    return results(sums, thresholds(sums), values)
