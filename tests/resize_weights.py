"""ONNX Resize by its definition: what every input element counts for in every output element."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

HALF = Fraction(1, 2)


def _source_position(i: int, size: int, out: int, scale: Fraction, mode: str) -> Fraction:
    """Coordinate in the input of output element ``i`` (ONNX Resize, one dimension)."""
    length = scale * size
    table: dict[str, Callable[[], Fraction]] = {
        "asymmetric": lambda: i / scale,
        "half_pixel": lambda: (i + HALF) / scale - HALF,
        "pytorch_half_pixel": lambda: (i + HALF) / scale - HALF if out > 1 else Fraction(0),
        "tf_half_pixel_for_nn": lambda: (i + HALF) / scale,
        "align_corners": lambda: Fraction(i * (size - 1), out - 1) if out > 1 else Fraction(0),
        "half_pixel_symmetric": lambda: (
            size * HALF * (1 - out / length) + (i + HALF) / scale - HALF
        ),
    }
    return table[mode]()


def _single_position(i: int, size: int, out: int, scale: float, mode: str) -> float:
    """The same as ONNX Runtime computes it: in float32, operation by operation."""
    single, half = np.float32, np.float32(0.5)
    by = single(scale)
    if mode == "asymmetric":
        return float(single(i) / by)
    if mode == "align_corners":
        return float(single(i) * single(size - 1) / single(max(out - 1, 1)))
    quotient = (single(i) + half) / by
    if mode == "half_pixel_symmetric":
        adjustment = single(out) / (by * single(size))
        return float(single(size) / single(2) * (single(1) - adjustment) + (quotient - half))
    if mode == "pytorch_half_pixel" and out == 1:
        return 0.0
    return float(quotient if mode == "tf_half_pixel_for_nn" else quotient - half)


def _nearest(x: Fraction, mode: str) -> int:
    halves = abs(x - math.floor(x) - HALF) < Fraction(1, 10**6)
    x = math.floor(x) + HALF if halves else x
    table: dict[str, Callable[[Fraction], int]] = {
        "floor": math.floor,
        "ceil": math.ceil,
        "round_prefer_floor": lambda v: math.ceil(v - HALF),
        "round_prefer_ceil": lambda v: math.floor(v + HALF),
    }
    return table[mode](x)


def resize_weights(
    size: int, out: int, scale: float, attrs: Mapping[str, Any]
) -> npt.NDArray[np.float64]:
    """Matrix (out, size) that resizes one dimension; ``attrs`` as those of ONNX."""
    weights = np.zeros((out, size))
    mode, a = attrs["mode"], attrs["cubic_coeff_a"]
    exact = Fraction(scale).limit_denominator(10**7)  # 1/3 and 0.7 themselves
    for i in range(out):
        position = _source_position(i, size, out, exact, attrs["coordinate_transformation_mode"])
        if attrs.get("single"):
            coordinates = attrs["coordinate_transformation_mode"]
            position = Fraction(_single_position(i, size, out, scale, coordinates))
        if mode == "nearest":
            weights[i, min(max(_nearest(position, attrs["nearest_mode"]), 0), size - 1)] = 1
            continue
        x = float(position)
        low = math.floor(x)
        reach = range(low, low + 2) if mode == "linear" else range(low - 1, low + 3)
        taps = []
        for j in reach:
            d = abs(x - j)
            if mode == "linear":
                weight = 1 - d
            elif d <= 1:
                weight = ((a + 2) * d - (a + 3)) * d * d + 1
            else:
                weight = ((a * d - 5 * a) * d + 8 * a) * d - 4 * a
            inside = 0 <= j < size
            taps.append((min(max(j, 0), size - 1), weight, inside))
        if attrs["exclude_outside"]:
            taps = [(j, weight, inside) for j, weight, inside in taps if inside]
            total = sum(weight for _, weight, _ in taps)
            taps = [(j, weight / total, inside) for j, weight, inside in taps]
        for j, weight, _ in taps:
            weights[i, j] += weight
    return weights
