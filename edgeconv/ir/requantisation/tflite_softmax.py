"""SOFTMAX of int8 as TensorFlow Lite's reference kernel has it: fixed point of 32 bits throughout.

A number of "Q n" has n bits in front of the point.  A product of two is that of `twice.multiplied`
without a shift.  The power of a difference from the largest element is a function of an integer of
eight bits, and so a table; the reciprocal of their sum is computed per row.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from edgeconv.ir.requantisation.double_rounding import halved, multiplied, quantised_multiplier
from edgeconv.ir.requantisation.exact import Integers
from edgeconv.ir.requantisation.pair import Affine

_BITS = 31
_IN_FRONT = 5  # of the point, in a difference
_SUM_IN_FRONT = 12
_ONE = 2**31 - 1  # of Q 0
_DIFFERENCES = 256
_QUARTERS = range(-2, 5)  # powers of 2 whose exponentials are multiplied


@dataclass(frozen=True, slots=True)
class TfliteSoftmax:
    """TensorFlow Lite's softmax of int8.  ``powers``: by the difference from the largest element,
    in Q 0; 0 where it is too large."""

    powers: tuple[int, ...]

    def of(self, x: Integers) -> Integers:
        """Results of rows (last axis), 0 to 255, less the -128 that they are stored with."""
        powers = np.array(self.powers, np.int64)[x.max(axis=-1, keepdims=True) - x]
        total = multiplied(powers, 2**30, _SUM_IN_FRONT - 1).sum(axis=-1, keepdims=True)
        bits = np.vectorize(lambda each: int(each).bit_length(), otypes=[np.int64])(total)
        above = (total << (32 - bits)) - 2**31
        scale = _reciprocal(above)
        exponent = _SUM_IN_FRONT - (32 - bits) + _BITS - 8
        found = halved(_times(scale, powers), exponent)
        bounded: Integers = np.clip(found, 0, 255)
        return bounded


@lru_cache(maxsize=1024)
def tflite_softmax(x: Affine, y: Affine, low: int, high: int) -> TfliteSoftmax | None:
    """The table of SOFTMAX of int8 to int8: None where the result is not in steps of 1/256 from
    -128 on, as the kernel has it."""
    if y != Affine(1 / 256, -128) or (low, high) != (-128, 127):
        return None
    factor = min(x.scale * 2.0 ** (_BITS - _IN_FRONT), 2.0**31 - 1)
    multiplier, shift = quantised_multiplier(factor)
    if shift > 0:
        return None
    radius = math.floor((2**_IN_FRONT - 1) * 2.0 ** (_BITS - _IN_FRONT) / 2.0**-shift)
    differences = -np.arange(min(radius + 1, _DIFFERENCES))
    powers = _powers(multiplied(differences, multiplier, shift))
    return TfliteSoftmax((*map(int, powers), *(0,) * (_DIFFERENCES - len(powers))))


def _times(a: Integers, b: Integers | int) -> Integers:
    return multiplied(a, np.asarray(b, np.int64), 0)


def _saturated(x: Integers) -> Integers:
    bounded: Integers = np.clip(x, -(2**31), _ONE)
    return bounded


def _powers(x: Integers) -> Integers:
    """exp of numbers <= 0 of Q 5: a polynomial around -1/8 of what is left of quarters, times the
    exponentials of these."""
    quarter = 1 << (_BITS - _IN_FRONT - 2)
    left = (x & (quarter - 1)) - quarter
    z = _saturated(left << _IN_FRONT) + (1 << 28)
    square = _times(z, z)
    cube, fourth = _times(square, z), _times(square, square)
    tail = halved(_times(halved(fourth, 2) + cube, _fixed(1 / 3)) + square, 1)
    middle = _fixed(math.exp(-1 / 8))
    found = middle + _times(z + tail, middle)
    quarters = left - x
    for power in _QUARTERS:
        bit = (quarters >> (_BITS - _IN_FRONT + power)) & 1
        found = np.where(bit, _times(found, _fixed(math.exp(-(2.0**power)))), found)
    return np.where(x == 0, _ONE, found)


def _fixed(real: float, in_front: int = 0) -> int:
    return round(math.ldexp(real, _BITS - in_front))


def _reciprocal(x: Integers) -> Integers:
    """1 / (1 + x) of Q 0, 0 <= x < 1: three of Newton's steps."""
    total = x + _ONE
    half = (total + 1) // 2
    found = _fixed(48 / 17, 2) + _times(half, _fixed(-32 / 17, 2))
    for _ in range(3):
        error = (1 << 29) - _times(half, found)
        found = found + _saturated(_times(found, error) << 2)
    return _saturated(found << 1)
