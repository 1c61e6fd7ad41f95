"""Functions of one or two integers of 16 bits, or eight, in `Wide`'s arithmetic, proven.

Integers of ``x`` stand for (integer - zero) scale.  Functions that are linear, or linear on either
side of 0, and products are sums of one number: `Wide` is asked for the integers as they are.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np

from edgeconv.ir.encoding import Encoding
from edgeconv.ir.requantisation.exact import Sums
from edgeconv.ir.requantisation.wide import Wide, wide

_EXACT = 2**28  # times a float32 it is exact in float64


def wide_line(
    x: Encoding,
    y: Encoding,
    low: int,
    high: int,
    *,
    factor: float = 1.0,
    plus: float = 0.0,
    over: float = 1.0,
) -> Wide | None:
    """The form of the integers of ``x``: their numbers times ``factor``, and ``plus``, over
    ``over``, as those of ``y`` from ``low`` to ``high``.  Factors are float32 above 0."""
    spread = replace(y, scale=(y.scale[0] * over,))  # two float32: exact
    return _wide([x.scale[0] * factor], plus, [(x.low, x.high)], x.zero[0], spread, low, high)


def wide_sides(x: Encoding, y: Encoding, low: int, high: int, factor: float) -> Wide | None:
    """The form of two channels: those that are not negative as they are, negative ones times
    ``factor`` > 0, which is a float32."""
    zero = x.zero[0]
    units = [x.scale[0], x.scale[0] * factor]
    return _wide(units, 0.0, [(zero, x.high), (x.low, zero)], zero, y, low, high)


def wide_product(a: Encoding, b: Encoding, y: Encoding, low: int, high: int) -> Wide | None:
    """The form of the products of integers less their zero points."""
    return _wide([a.scale[0] * b.scale[0]], 0.0, [products_of(a, b)], 0, y, low, high)


def products_of(a: Encoding, b: Encoding) -> tuple[int, int]:
    """Between which products of integers less their zero points lie."""
    ends = [[bound - each.zero[0] for bound in (each.low, each.high)] for each in (a, b)]
    corners = np.outer(*np.array(ends, np.int64))
    return int(corners.min()), int(corners.max())


@lru_cache(maxsize=4096)
def wide_averages(
    counts: tuple[int, ...], x: Encoding, y: Encoding, low: int, high: int, *, away: bool = False
) -> Wide | None:
    """The form of sums of so many integers of ``x``, a channel for each count; None where a sum may
    not fit 32 bits, or the common multiple of all counts is beyond what float64 has.  ``away``:
    ties go away from 0, which is the zero point then."""
    common, times = math.lcm(*counts), 2 if away else 1
    if common > _EXACT or max(counts) * -x.low * times > 2**31 - 1 - away:
        return None
    count = np.array(counts, np.int64)
    unit = x.scale[0] * (common // count).astype(np.float64)  # in the common one of the scale
    zero, spacing = x.zero[0], y.scale[0] * common
    least, most = (x.low - zero) * count * times - away, (x.high - zero) * count * times
    unit = unit / times
    sums = Sums(unit, np.zeros(len(count)), least, most, spacing, y.zero[0], low, high)
    found = wide(sums, -zero * count, ties_up=away)
    return replace(found, away=away) if found else None


def _wide(
    units: Sequence[float],
    plus: float,
    reach: Sequence[tuple[int, int]],
    zero: int,
    y: Encoding,
    low: int,
    high: int,
) -> Wide | None:
    """The form of integers less ``zero`` that stand for so many units each, and lie within
    ``reach``."""
    if min(units) <= 0.0:
        return None
    least, most = np.array(reach, np.int64).T - zero
    unit, bias = np.array(units), np.full(len(units), plus)
    sums = Sums(unit, bias, least, most, y.scale[0], y.zero[0], low, high)
    return wide(sums, np.full(len(units), -zero, np.int64))
