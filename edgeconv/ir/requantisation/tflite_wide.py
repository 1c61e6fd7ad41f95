"""Sums of int16 and int8, or of two int16, as TensorFlow Lite's kernels requantise them.

Sums have 64 bits, and a factor 15 in place of 31 (`quantised_multiplier`), with one rounding:

    q = floor((sum m + 2^(s - 1)) / 2^s),    m = round(multiplier / 2^16),  s = 15 + shift

which is a linear function rounded down, as `wide` proves kernels to compute it.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from edgeconv.ir.encoding import Encoding
from edgeconv.ir.requantisation.double_rounding import quantised_multiplier
from edgeconv.ir.requantisation.exact import Integers, Sums
from edgeconv.ir.requantisation.wide import Wide, long, wide

_BITS, _DROPPED = 15, 16
_LARGEST = 2**_BITS - 1
_RESULT, _SUM = 2**31, 2**47  # beyond which the kernels' own integers do not reach


def short_multiplier(real: float) -> tuple[int, int]:
    """m and s of a factor, as above."""
    multiplier, right = quantised_multiplier(real)
    rounded = (multiplier + (1 << (_DROPPED - 1))) >> _DROPPED
    return min(rounded, _LARGEST), _BITS + right


def shortly_multiplied(x: Integers, multiplier: Integers | int, right: Integers | int) -> Integers:
    """``x`` times such a factor."""
    half = np.int64(1) << (np.asarray(right, np.int64) - 1)
    found: Integers = (x * multiplier + half) >> right
    return found


def tflite_long(
    unit: float, y: Encoding, bounds: tuple[int, int], reach: tuple[int, int]
) -> Wide | None:
    """As `long`, of such a factor, of sums of two int16 that count in ``unit``, between grids
    without zero points.  None likewise."""
    multiplier, right = short_multiplier(unit / y.scale[0])
    factor, largest = float(np.ldexp(float(multiplier), -right)), max(map(abs, reach))
    if y.zero[0] or not multiplier or largest >= _SUM or largest * factor >= _RESULT:
        return None
    return long(factor, 1.0, 0, bounds, reach, ties_up=True)


def tflite_wide(sums: Sums, whole: Integers) -> Wide | None:
    """As `wide`, of these factors.  None where a bias is no whole number of units, a result has a
    zero point, or the kernels' own integers overflow."""
    pairs = [short_multiplier(float(each)) for each in sums.unit / sums.spacings]
    factor = np.array([np.ldexp(float(multiplier), -right) for multiplier, right in pairs])
    reach = np.maximum(np.abs(sums.least), np.abs(sums.most))
    overflows = reach.max(initial=0) >= _SUM or (reach * factor).max(initial=0) >= _RESULT
    if sums.bias.any() or sums.zero or overflows or not factor.all():
        return None
    return wide(replace(sums, unit=factor, spacing=1.0), whole, ties_up=True)
