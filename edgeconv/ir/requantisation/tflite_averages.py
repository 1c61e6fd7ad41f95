"""What TensorFlow Lite's kernels of int8 make of sums: MEAN, SUM and RESIZE_BILINEAR.

MEAN is one factor for all that it averages, the number of elements in it (`mean_factor`);
RESIZE_BILINEAR weighs with whole numbers of 2^-10 and divides by 2^20, halves away from 0.
"""

from __future__ import annotations

import numpy as np

from edgeconv.ir.requantisation.averages import Average
from edgeconv.ir.requantisation.double_rounding import REACH, quantised_multiplier
from edgeconv.ir.requantisation.exact import Integers
from edgeconv.ir.requantisation.pair import Affine

_BITS = 32
_MULTIPLIER_BITS = 31
PLACE_BITS = 10  # behind the point, of a place between two elements
ONE = 1 << PLACE_BITS


def mean_factor(count: int, x: float, y: float) -> tuple[int, int]:
    """Multiplier and shift to the right of MEAN: those of the quotient of the scales, divided by
    ``count`` with as many further bits as fit, rounded down."""
    multiplier, right = quantised_multiplier(x / y)
    further = max(0, min(count.bit_length() - 1, _BITS, _MULTIPLIER_BITS - right))
    return (multiplier << further) // count, right + further


def mean(count: int, x: Affine, y: Affine, low: int, high: int, bits: int = 8) -> Average | None:
    """MEAN of so many numbers of 8 or 16 ``bits``; None where its factor is 1 or more, or a sum out
    of reach."""
    multiplier, right = mean_factor(count, x.scale, y.scale)
    if right < 0 or count << bits >= REACH:
        return None
    return Average("doubled", right, low, high, (-count * x.zero,), (multiplier,), y.zero)


def total(count: int, x: Affine, y: Affine, low: int, high: int, bits: int = 8) -> Average | None:
    """SUM likewise."""
    multiplier, right = quantised_multiplier(x.scale / y.scale)
    if right < 0 or count << bits >= REACH:
        return None
    return Average("doubled", right, low, high, (-count * x.zero,), (multiplier,), y.zero)


def short_pool(counts: tuple[int, ...], low: int, high: int) -> Average | None:
    """AVERAGE_POOL_2D of int16 on one grid without a zero point, halves away from 0; None but of
    one count that is a power of two."""
    right = counts[0].bit_length() - 1
    alone = len(counts) == 1 and counts[0] == 1 << right and right < _BITS // 2
    return Average("away", right, low, high) if alone else None


def places(
    size: int, out: int, *, corners: bool, half_pixel: bool
) -> tuple[Integers, Integers, Integers]:
    """The taps of RESIZE_BILINEAR in one dimension by output element: the lower and the upper
    element that it lies between, and how far above the lower one it lies, in steps of 2^-10."""
    of, to = (size - 1, out - 1) if corners and out > 1 else (size, out)
    step = (ONE * of + to // 2) // to
    at = np.arange(out, dtype=np.int64) * step + (step // 2 - ONE // 2 if half_pixel else 0)
    lower = np.maximum(at, 0) >> PLACE_BITS
    upper = np.minimum(np.maximum(at + ONE - 1, 0) >> PLACE_BITS, size - 1)
    return lower, upper, at - (lower << PLACE_BITS)


def interpolated(over: int, x: Affine, y: Affine, low: int, high: int) -> Average | None:
    """RESIZE_BILINEAR, ``over``: what its weights add up to.  None where the result has another
    grid, or bounds: the kernel knows neither."""
    if x != y or high - low < 255:
        return None
    return Average("away", over.bit_length() - 1, low, high)
