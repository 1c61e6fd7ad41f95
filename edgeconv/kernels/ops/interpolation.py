"""ONNX Resize in one dimension: which input elements make an output element, with which weights.

The equations are those of the ONNX operator's definition.  Positions are rational numbers: one that
lies on an element or half way between two is to be recognised as such.  Where a model states
scales, the nearest element is that of float32's quotients, as in ONNX Runtime.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

Taps = list[tuple[int, float]]
_LARGEST = 128  # denominator of weights that are looked for
_NEAR = 2.0**-16  # to a whole number, as which float32 leaves it

_HALF = Fraction(1, 2)
# Denominators that are told apart; the ratio of any two sizes up to it survives as a float.
_DENOMINATOR = 10**7

_Divide = Callable[[Fraction], Fraction]  # by the scale

# (output position, division by the scale, scale, input size, output size) -> position in the input
_POSITION: Mapping[str, Callable[[int, _Divide, Fraction, int, int], Fraction]] = {
    "asymmetric": lambda i, by, scale, size, out: by(Fraction(i)),
    "half_pixel": lambda i, by, scale, size, out: by(i + _HALF) - _HALF,
    "pytorch_half_pixel": lambda i, by, scale, size, out: (
        by(i + _HALF) - _HALF if out > 1 else Fraction(0)
    ),
    "tf_half_pixel_for_nn": lambda i, by, scale, size, out: by(i + _HALF),
    "align_corners": lambda i, by, scale, size, out: (
        Fraction(i * (size - 1), out - 1) if out > 1 else Fraction(0)
    ),
    "half_pixel_symmetric": lambda i, by, scale, size, out: (
        size * _HALF * (1 - out / (scale * size)) + by(i + _HALF) - _HALF
    ),
}
# Whether TensorFlow Lite calls that corners aligned, or centres half a pixel in.
PLACES: Mapping[str, tuple[bool, bool]] = {
    "asymmetric": (False, False),
    "align_corners": (True, False),
    "half_pixel": (False, True),
}
_TIE = Fraction(1, 10**6)  # up to which a position is half way between two elements
NEAREST: Mapping[str, Callable[[Fraction], int]] = {
    "floor": math.floor,
    "ceil": math.ceil,
    "round_prefer_floor": lambda x: math.ceil(x - _HALF - _TIE),
    "round_prefer_ceil": lambda x: math.floor(x + _HALF + _TIE),
}


def _cubic(distance: float, a: float) -> float:
    """Keys' convolution kernel (1981) with parameter ``a``, for distances up to 2."""
    d = abs(distance)
    if d <= 1:
        return ((a + 2) * d - (a + 3)) * d * d + 1
    return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a


def _taps(x: Fraction, size: int, attrs: Mapping[str, Any]) -> Taps:
    """Input elements and weights for position ``x``; outside, the nearest border element counts."""
    mode = attrs["mode"]
    if mode == "nearest":
        return [(min(max(NEAREST[attrs["nearest_mode"]](x), 0), size - 1), 1.0)]
    low = math.floor(x)
    beyond = float(x - low)
    if mode == "linear":
        taps = [(low, 1 - beyond), (low + 1, beyond)]
    else:
        a = attrs["cubic_coeff_a"]
        taps = [(low + k, _cubic(beyond - k, a)) for k in range(-1, 3)]
    if attrs.get("exclude_outside"):
        total = sum(weight for k, weight in taps if 0 <= k < size)
        taps = [(k, weight / total if 0 <= k < size else 0.0) for k, weight in taps]
    return [(min(max(k, 0), size - 1), weight) for k, weight in taps]


def _single_quotient(scale: float, x: Fraction) -> Fraction:
    return Fraction(float(np.float32(float(x)) / np.float32(scale)))


def tables(
    size: int, out: int, scale: float, attrs: Mapping[str, Any]
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float32]]:
    """Indices and weights of shape (taps, out) that resize ``size`` elements to ``out``.

    ``attrs`` may say "single": the quotients by ``scale`` are those of float32, which decide
    between neighbours, instead of those of the simplest fraction that ``scale`` can stand for.
    """
    if size == out and scale == 1.0:
        return np.arange(out, dtype=np.int32)[None], np.ones((1, out), np.float32)
    position = _POSITION[attrs["coordinate_transformation_mode"]]
    exact = Fraction(scale).limit_denominator(_DENOMINATOR)
    by = partial(_single_quotient, scale) if attrs.get("single") else lambda x: x / exact
    taps = [_taps(position(i, by, exact, size, out), size, attrs) for i in range(out)]
    index = np.array([[k for k, _ in tap] for tap in taps], np.int32)
    weight = np.array([[w for _, w in tap] for tap in taps], np.float32)
    return np.ascontiguousarray(index.T), np.ascontiguousarray(weight.T)


def whole_weights(weight: npt.NDArray[np.float32]) -> tuple[npt.NDArray[np.int32], int] | None:
    """Weights of `tables` as whole numbers, and the denominator of all of them; None where that is
    large, or some weight is negative."""
    wide = weight.astype(np.float64)
    for denominator in range(1, _LARGEST + 1):
        whole = np.rint(wide * denominator)
        near = bool((np.abs(wide * denominator - whole) <= _NEAR).all())
        if near and (whole >= 0).all() and (whole.sum(axis=0) == denominator).all():
            return whole.astype(np.int32), denominator
    return None
