"""What a `Preprocessing` makes of a frame, written in numpy from its definition alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from edgeconv.ir.preprocessing import (
    BLACK,
    GREY,
    NEUTRAL,
    PACKED,
    RGB565,
    YUV422,
    YUV_TO_RGB,
    Neighbours,
    Pixels,
    Preprocessing,
)

Integers = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]


def preprocessed(made: Preprocessing, frame: Bytes) -> npt.NDArray[np.float32]:
    """The numbers (1, C, H, W) of a ``frame``, the uint8 of its rows of bytes in any shape.

    Colours are whole numbers from 0 to 255 (`colours`).  Neighbours are weighed by whole numbers,
    so that sums are exact.
    """
    rows = frame.reshape(made.lines, made.stride).astype(np.int64)
    pixels = colours(made.pixels, rows, made.height, made.width)
    sums = _between(_between(pixels, made.rows, 0), made.columns, 1)  # (rows, columns, C)
    if made.is_whole:
        values = (sums + made.over // 2) // made.over
        box = np.stack([made.table()[c][values[..., c]] for c in range(made.channels)])
    else:
        scale, shift = np.array(made.scale), np.array(made.shift)
        box = (sums / made.over * scale + shift).astype(np.float32).transpose(2, 0, 1)
    fill = np.array(made.fill, np.float32)[:, None, None]
    found = np.broadcast_to(fill, made.shape[1:]).copy()
    height, width = made.box
    found[:, made.top : made.top + height, made.left : made.left + width] = box
    return found[None]


def colours(pixels: Pixels, rows: Integers, height: int, width: int) -> Integers:
    """(height, width, C): the network's channels of every pixel."""
    x = np.arange(width)
    if pixels.kind == PACKED:
        planes = [rows[:, x * pixels.pixel_bytes + at][:height] for at in pixels.at]
        return _ordered(planes, pixels) if pixels.grey else np.stack(planes, axis=-1)
    if pixels.kind == RGB565:
        low, high = (rows[:, x * 2 + at] for at in pixels.at)
        bits = low + 256 * high
        red, green, blue = bits >> 11, bits >> 5 & 63, bits & 31
        wide = [red << 3 | red >> 2, green << 2 | green >> 4, blue << 3 | blue >> 2]
        return _ordered(wide, pixels)
    if pixels.kind == YUV422:
        luma = rows[:, x * 2 + pixels.at[0]]
        differences = [rows[:, x // 2 * 4 + at] for at in pixels.at[1:]]
    else:
        luma = rows[:height, x]
        shared = rows[height + np.arange(height) // 2]
        differences = [shared[:, x // 2 * 2 + at] for at in pixels.at[1:]]
    parts = [luma - BLACK, *(each - NEUTRAL for each in differences)]
    sums = [sum(f * p for f, p in zip(by, parts, strict=True)) + 128 for by in YUV_TO_RGB]
    return _ordered([np.clip(each >> 8, 0, 255) for each in sums], pixels)


def _ordered(rgb: list[Any], pixels: Pixels) -> Integers:
    if pixels.grey:
        grey = sum(by * each for by, each in zip(GREY, rgb, strict=True))
        return np.stack([grey + 128 >> 8], axis=-1)
    return np.stack([rgb[colour] for colour in pixels.order], axis=-1)


def _between(values: Integers, axis: Neighbours, along: int) -> Integers:
    """Sums of the neighbours along an axis, ``over`` times what they mean."""
    first: Integers = np.take(values, axis.first, axis=along)
    if not axis.is_linear:
        return first
    second: Integers = np.take(values, axis.second, axis=along)
    shape = tuple(-1 if d == along else 1 for d in range(values.ndim))
    weight = np.array(axis.weight).reshape(shape)
    found: Integers = first * (axis.over - weight) + second * weight
    return found
