"""Functions of one int8 that differ from channel to channel, each linear but for its rounding.

What TensorFlow Lite makes of a tensor and constants, of all 256 numbers, is looked at for every
channel; kernels compute a line that is the same everywhere (`channel_pairs.ChannelPairs`, of
nothing as the second operand).
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from edgeconv.ir.requantisation import tflite
from edgeconv.ir.requantisation.channel_pairs import ChannelPairs
from edgeconv.ir.requantisation.double_rounding import multiplied, quantised_multiplier
from edgeconv.ir.requantisation.exact import Integers
from edgeconv.ir.requantisation.pair import LARGEST, STORED, Affine, offsets, rights

_NEAR = (0, *(sign * near for near in range(1, 33) for sign in (1, -1)))  # around a slope


@lru_cache(maxsize=1024)
def tflite_with_constants(
    kind: str, a: Affine, numbers: tuple[int, ...], scale: float, y: Affine, low: int, high: int
) -> ChannelPairs | None:
    """What kernels compute of "add", "sub", "sub_from" (the constant less a) and "mul" of ``a`` and
    a constant by channel, ``numbers`` times ``scale``; None where one is no line, or TensorFlow
    Lite has no factor for it."""
    known = {number: _line(kind, a, number, scale, y, low, high) for number in set(numbers)}
    lines = [known[number] for number in numbers]
    found = [line for line in lines if line is not None]
    if len(found) < len(lines):
        return None
    factor, offset, right = np.array(found, np.int64).reshape(-1, 3).T
    return ChannelPairs(factor, np.zeros_like(factor), offset, right, low, high)


def _line(
    kind: str, a: Affine, number: int, scale: float, y: Affine, low: int, high: int
) -> tuple[int, int, int] | None:
    """Factor, offset and shift with which all 256 results are right."""
    whole = STORED - a.zero
    slope = {"mul": number * scale, "sub_from": -1.0}.get(kind, 1.0) * a.scale / y.scale
    found: Integers | None
    if kind == "mul":
        factor = tflite.product_factor(a, Affine(scale, 0), y)
        found = multiplied(whole * number, *quantised_multiplier(factor)) if factor < 1.0 else None
    else:
        signs = {"add": (1, 1), "sub": (1, -1), "sub_from": (-1, 1)}[kind]
        scales = a.scale * signs[0], scale * signs[1]
        found = tflite.summed((whole, np.full_like(whole, number)), scales, y.scale)
    if found is None:
        return None
    goal = np.clip(found + y.zero, low, high)
    for right in rights(256 * abs(slope), 4):
        for near in _NEAR:
            by_a = round(slope * 2**right) + near
            without = STORED * by_a
            first, last = offsets(without, right, goal, (low, high))
            offset = int(first + (last - first) // 2)
            if first <= last and 128 * abs(by_a) + abs(offset) <= LARGEST:
                return by_a, offset, right
    return None
