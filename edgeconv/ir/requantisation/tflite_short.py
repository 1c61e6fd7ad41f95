"""What TensorFlow Lite's kernels of int16 make of one tensor or two: sums, products, requantised
integers, LOGISTIC and TANH.

Sums and products are those of int8, with operands shifted left by 15 bits in place of 20.  The two
functions are lines between the points of one table of 256 numbers of 16 bits, a step of x = 1/24:

    t(i) = round(2^16 (s(x) + |s''(x)| / (16 24^2))),   s(x) = 1 / (1 + exp(-x))

with tanh x = 2 s(2x) - 1:

points that lie above the curve by as much as chords would lie below it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from edgeconv.ir.encoding import Encoding
from edgeconv.ir.requantisation import tflite
from edgeconv.ir.requantisation.double_rounding import quantised_multiplier
from edgeconv.ir.requantisation.exact import Integers
from edgeconv.ir.requantisation.pair import Affine

LEFT = 15  # bits by which operands of a sum are shifted up
_STEPS, _POINTS = 24, 256  # of the table in 1, and in all
_INSIDE = 255  # points; beyond the last the function is 1
_ONE = 1 << 16
_UNIT = 2.0**-12  # of arguments that need no factor but 3: 3 units are a table's step over 512
_RESULT = 2.0**-15
_MOST_MULTIPLIER, _MOST_SHIFT = 32767 / 2, 30
_WORDS = 8
_LOW, _HIGH = -(1 << 15), (1 << 15) - 1


@dataclass(frozen=True, slots=True)
class Doubled:
    """A function in TensorFlow Lite's arithmetic: ``kind`` is that of `ec_int16_function`, and
    ``words`` its numbers, multipliers and shifts to the right."""

    kind: str
    words: tuple[int, ...]
    zero: int
    low: int
    high: int

    @staticmethod
    def of_words(kind: str, words: Sequence[int], y: Affine, low: int, high: int) -> Doubled:
        """A function of ``words``, to which zeros are added."""
        return Doubled(kind, (*words, *(0,) * (_WORDS - len(words))), y.zero, low, high)


def doubled_sum(a: Affine, b: Affine, y: Affine, low: int, high: int) -> Doubled | None:
    """ADD and, of a negative scale of ``b``, SUB."""
    largest = 2 * max(a.scale, abs(b.scale))
    factors = [each / largest for each in (a.scale, abs(b.scale))]
    pairs = [*map(quantised_multiplier, (*factors, largest / (2**LEFT * y.scale)))]
    if pairs[-1][1] < 0:
        return None
    words = [number for pair in pairs for number in pair]
    return Doubled.of_words("doubled_sum", [*words, 1 if b.scale > 0 else -1], y, low, high)


def doubled_product(a: Affine, b: Affine, y: Affine, low: int, high: int) -> Doubled | None:
    """MUL; None where zero points let products be beyond int32, in which kernels have them."""
    if math.prod(max(_HIGH - each.zero, each.zero - _LOW) for each in (a, b)) >= 1 << 31:
        return None
    multiplier, right = quantised_multiplier(tflite.product_factor(a, b, y))
    return (
        Doubled.of_words("doubled_product", [multiplier, right], y, low, high)
        if right >= 0
        else None
    )


def doubled_one(x: Affine, y: Affine, low: int, high: int) -> Doubled | None:
    """QUANTIZE of integers."""
    multiplier, right = quantised_multiplier(x.scale / y.scale)
    return Doubled.of_words("doubled", [multiplier, right], y, low, high) if right >= 0 else None


def short_sum(a: Integers, b: Integers, scales: tuple[float, float], y: float) -> Integers | None:
    """ADD of integers less their zero points, as `tflite.summed`."""
    return tflite.summed((a, b), scales, y, LEFT)


def short_function(kind: str, x: Encoding, y: Encoding, low: int, high: int) -> Doubled | None:
    """LOGISTIC ("sigmoid") and TANH ("tanh") of int16, whose words are multiplier and shift of the
    argument; None of other grids than their kernels have, and of one so coarse that the product
    with the argument overflows there."""
    if x.bits != 16 or x.zero != (0,) or (y.scale, y.zero) != ((_RESULT,), (0,)):
        return None
    multiplier, right = _argument_factor(x.scale[0], 1 if kind == "tanh" else 0)
    if -_LOW * multiplier + ((1 << right) >> 1) >= 1 << 31:
        return None
    return Doubled.of_words(kind, [multiplier, right], Affine.of(y), low, high)


def of_argument(function: Doubled, argument: Integers) -> Integers:
    """What such a function makes of the integers of its argument."""
    multiplier, right = function.words[:2]
    thirds = (argument * multiplier + ((1 << right) >> 1)) >> right
    found = (tanh if function.kind == "tanh" else logistic)(thirds)
    bounded: Integers = np.clip(found, function.low, function.high)
    return bounded


def _argument_factor(scale: float, most: int) -> tuple[int, int]:
    """Multiplier and shift that bring arguments to units of 1 / (3 2^12); ``most``: the largest
    power of two times 2^-12 that is a multiplier alone."""
    bits = math.log2(scale / _UNIT)
    if bits == round(bits) and 0 <= bits <= most:
        return 3 << round(bits), 0
    factor, shift = scale / _UNIT * 3, 0
    while factor <= _MOST_MULTIPLIER and shift <= _MOST_SHIFT:
        factor, shift = factor * 2, shift + 1
    return int(factor), shift


@lru_cache(maxsize=1)
def points() -> Integers:
    """The table of both functions, as above."""
    x = np.arange(_POINTS) / _STEPS
    s = 1 / (1 + np.exp(-x))
    above = s * (1 - s) * (2 * s - 1) / (16 * _STEPS**2)
    found = np.floor(_ONE * (s + above) + 0.5).astype(np.int64)
    found[-1] = _ONE - 1
    return found


def _between(magnitude: Integers, bits: int, end: int) -> Integers:
    """The table at magnitude / 2^bits, times 2^bits; ``end``: beyond it."""
    table, place = points(), magnitude >> bits
    inside = np.minimum(place, _INSIDE - 1)
    rise = (magnitude & ((1 << bits) - 1)) * (table[inside + 1] - table[inside])
    return np.where(place >= _INSIDE, end << bits, (table[inside] << bits) + rise)


def logistic(thirds: Integers) -> Integers:
    """LOGISTIC in units of 2^-15, of arguments in units of 2^-12 / 3."""
    found = _between(np.abs(thirds), 9, 0)
    end = (_ONE // 2 - 1) << 10
    found = np.where(np.abs(thirds) >> 9 >= _INSIDE, end, found)
    half = 1 << 9
    signed: Integers = np.where(thirds >= 0, found + half, (_ONE << 9) - found + half - 1)
    return signed >> 10


def tanh(thirds: Integers) -> Integers:
    """TANH likewise."""
    found, middle, half = _between(np.abs(thirds), 8, _ONE - 1), _ONE << 7, 1 << 7
    signed: Integers = np.where(thirds >= 0, found - middle + half, middle - found + half - 1)
    return signed >> 8
