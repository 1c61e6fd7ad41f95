"""SOFTMAX of int16 as TensorFlow Lite's reference kernel has it.

Of a row's largest element m and a factor f = scale / (10 / 65535), as `double_rounding` has it,

    e(i) = E((x(i) - m) f),    y(i) = round(e(i) R(sum e) / 2^(bits - 1)),  bits: of the sum

with two functions that are lines between 513 points of 16 bits: E of exp from -10 on to 0, and R of
1 / (1 + u), where the sum is 1 + u times a power of 2.  A point is moved towards the chord's side
of the curve, by half of what the middle of the chord is off.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from edgeconv.ir.encoding import Encoding
from edgeconv.ir.requantisation.double_rounding import multiplied, quantised_multiplier
from edgeconv.ir.requantisation.exact import Integers

Floats = npt.NDArray[np.float32]
MOST = (1 << 16) - 1  # elements of a row, whose powers add up in 31 bits
_STEPS, _LINE = 512, 7  # lines of a table, and bits of an argument that are within one
_HALF, _WORD = 1 << 15, 1 << 31
_RESULT = 2.0**-15
_POWERS = -10.0, 0.0  # arguments of exp in the table
_ARGUMENT = 10.0 / 65535.0  # the step of these
_ROUNDING = 1 << 13  # half of what is cut off the sum


@dataclass(frozen=True, slots=True)
class ShortSoftmax:
    """TensorFlow Lite's softmax of int16; ``multiplier`` and ``right``: the factor f."""

    multiplier: int
    right: int

    def of(self, x: Integers) -> Integers:
        """Results of rows (last axis)."""
        below = multiplied(x - x.max(axis=-1, keepdims=True), self.multiplier, self.right)
        powers = _between(power_points(), _short(below + _HALF - 1))
        total = powers.sum(axis=-1, keepdims=True)
        bits = np.vectorize(lambda each: int(each).bit_length(), otypes=[np.int64])(total)
        above = ((total << (31 - bits)) + _ROUNDING) >> 14
        scale = _between(reciprocal_points(), _short(above - 3 * _HALF))
        found = (powers * scale + (np.int64(1) << (bits - 2))) >> (bits - 1)
        bounded: Integers = np.clip(found, 0, _HALF - 1)
        return bounded


@lru_cache(maxsize=1024)
def short_softmax(x: Encoding, y: Encoding, low: int, high: int) -> ShortSoftmax | None:
    """SOFTMAX of int16; None of other results than its kernel has, and where arguments leave 32
    bits."""
    if (y.scale, y.zero, low, high) != ((_RESULT,), (0,), -_HALF, _HALF - 1):
        return None
    multiplier, right = quantised_multiplier(x.scale[0] / _ARGUMENT)
    if MOST << max(-right, 0) >= _WORD:
        return None
    return ShortSoftmax(multiplier, right)


@lru_cache(maxsize=1)
def power_points() -> Integers:
    """The points of E."""
    return _points(lambda x: np.exp(x.astype(np.float64)).astype(np.float32), *_POWERS)


@lru_cache(maxsize=1)
def reciprocal_points() -> Integers:
    """The points of R."""
    return _points(lambda x: np.float32(1) / (np.float32(1) + x), 0.0, 1.0)


def _points(of: Callable[[Floats], Floats], first: float, last: float) -> Integers:
    """In float32, as the kernel makes its tables."""
    step = np.float32((last - first) / _STEPS)
    at = np.float32(first) + np.arange(_STEPS + 1, dtype=np.float32) * step
    scaled = of(at) * np.float32(_HALF)
    here, following = _away(scaled)[:-1], scaled[1:]
    half = np.float32(0.5)
    middle = _away(of(at[:-1] + step * half) * np.float32(_HALF))
    off: Floats = _away((following + here) * half) - middle
    points = np.append(here - _away(off * half), _away(scaled)[-1])
    return _short(points.astype(np.int64))


def _away(x: Floats) -> Floats:
    """Rounded, halves away from 0."""
    rounded: Floats = np.trunc(x + np.copysign(np.float32(0.5), x))
    return rounded


def _short(x: Integers) -> Integers:
    bounded: Integers = np.clip(x, -_HALF, _HALF - 1)
    return bounded


def _between(points: Integers, x: Integers) -> Integers:
    """The line through two points at x, from -2^15 on."""
    place = x + _HALF
    line, within = place >> _LINE, place & ((1 << _LINE) - 1)
    rise = (points[line + 1] - points[line]) * within
    found: Integers = points[line] + ((rise + (1 << (_LINE - 1))) >> _LINE)
    return found
