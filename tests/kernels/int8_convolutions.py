"""Convolutions of int8 around the tiles of a micro-kernel, their operands, their results by
definition."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from edgeconv.target.micro_kernel import MicroKernel, Tile
from tests.kernels.cases import Array


@dataclass(frozen=True)
class Conv:
    """Input (height, width, channels), filters, kernel; borders before and after each axis."""

    size: tuple[int, int]
    in_c: int
    out_c: int
    kernel: tuple[int, int] = (1, 1)
    pads: tuple[int, int, int, int] = (0, 0, 0, 0)
    stride: tuple[int, int] = (1, 1)
    dilation: tuple[int, int] = (1, 1)
    groups: int = 1
    images: int = 1
    zero: int = 0
    extreme: int = 0  # every product is (-128 or 127) * this
    chunk: int = 0
    block: int = 0

    @property
    def out(self) -> tuple[int, int]:
        """Height and width of the output."""
        reach = [(k - 1) * d + 1 for k, d in zip(self.kernel, self.dilation, strict=True)]
        whole = [n + self.pads[i] + self.pads[2 + i] for i, n in enumerate(self.size)]
        each = zip(whole, reach, self.stride, strict=True)
        height, width = ((n - r) // s + 1 for n, r, s in each)
        return height, width


def convs(row: MicroKernel, tile: Tile, lanes: int) -> Iterator[Conv]:
    """Around the tile: fewer, as many and more pixels, filters and channels than it has."""
    nr, mr = tile.vectors * lanes, tile.rows
    yield Conv((1, 1), 1, 1)
    yield Conv((2, mr), 4 * row.k, nr, zero=3)
    yield Conv((2, 2 * mr + 1), row.k + 1, nr + 1, extreme=-128, zero=-128)
    yield Conv((3, mr + 1), 19, 2 * nr + lanes - 1, (3, 3), (1, 1, 1, 1), zero=-128, chunk=2)
    yield Conv((5, mr + 3), 64, lanes, (3, 3), (1, 1, 1, 1), zero=127, extreme=127, block=16)
    yield Conv((9, 13), 16, nr, (3, 3), (0, 0, 1, 1), (2, 2), zero=-1, chunk=3)
    yield Conv((12, 11), 3, lanes + 3, (7, 7), (3, 3, 3, 3), (2, 2), zero=77)
    yield Conv((9, 10), 9, 5, (5, 3), (4, 2, 4, 2), (1, 1), (2, 2), zero=-5, chunk=1)
    yield Conv((7, 9), 6, nr, (2, 3), (3, 4, 0, 1), (3, 2), (3, 1), zero=17)
    yield Conv((6, 9), 21, lanes, (1, 1), (0, 0, 0, 0), (2, 2), zero=9)
    yield Conv((4, 5), 2 * 8, 2 * lanes, (3, 3), (1, 1, 1, 1), groups=2, images=2, zero=-77)


def drawn(conv: Conv, row: MicroKernel, rng: np.random.Generator) -> dict[str, Array]:
    """Input, filters, bias, units and residual; filters as low as the row takes them."""
    low, high = (-128, 128)
    per = conv.in_c // conv.groups
    shapes = {"x": (conv.images, *conv.size, conv.in_c), "w": (conv.out_c, per, *conv.kernel)}
    made: dict[str, Array] = {
        name: rng.integers(low, high, shape, np.int8) for name, shape in shapes.items()
    }
    if conv.extreme:
        made["x"] = rng.choice(np.array([-128, 127], np.int8), shapes["x"])
        made["w"][:] = conv.extreme
    if row.largest_pair:  # as much of either sign as is promised
        half = row.largest_pair // 2
        made["w"] = rng.integers(-half, half + 1, shapes["w"], np.int8)
        if conv.extreme:
            made["w"][:, ::2], made["w"][:, 1::2] = conv.extreme, -1 - conv.extreme
    if row.two_fit:
        made["w"] = np.maximum(made["w"], -127)
        made["w"].reshape(conv.out_c, -1)[:, -1] = -128
    made["bias"] = rng.integers(-3000, 3000, conv.out_c, np.int32)
    span = 90 * math.sqrt(per * math.prod(conv.kernel))
    # To a result that fills int8, or all of 31 bits of multiplier.
    made["right"] = rng.choice([1, 9, 22])
    scale = rng.uniform(0.2, 1.0, conv.out_c) / span * 2.0 ** (32 + int(made["right"]))
    made["multiplier"] = np.minimum(scale, 2**31 - 1).astype(np.int32)
    made["multiplier"][0] = 2**31 - 1
    made["r"] = rng.integers(low, high, (conv.images, *conv.out, conv.out_c), np.int8)
    return made


def sums_of(conv: Conv, x: Array, w: Array, bias: Array) -> Array:
    """By definition: (image, row, column, filter), in int64."""
    height, width = conv.out
    top, left, bottom, right = conv.pads
    outside = ((0, 0), (top, bottom), (left, right), (0, 0))
    real = np.pad(x.astype(np.int64) - conv.zero, outside)
    total = np.zeros((conv.images, height, width, conv.out_c), np.int64)
    per_in, per_out = conv.in_c // conv.groups, conv.out_c // conv.groups
    for group in range(conv.groups):
        filters = slice(group * per_out, (group + 1) * per_out)
        channels = slice(group * per_in, (group + 1) * per_in)
        for ky, kx in np.ndindex(*conv.kernel):
            y0, x0 = ky * conv.dilation[0], kx * conv.dilation[1]
            y1 = y0 + (height - 1) * conv.stride[0] + 1
            x1 = x0 + (width - 1) * conv.stride[1] + 1
            part = real[:, y0 : y1 : conv.stride[0], x0 : x1 : conv.stride[1], channels]
            total[..., filters] += part @ w[filters, :, ky, kx].astype(np.int64).T
    return np.asarray(total + bias)


def int8_of(sums: Array, made: Mapping[str, Array], asked: Mapping[str, Any]) -> Array:
    """What the kernel's contract says becomes of sums."""
    words = (sums * made["multiplier"].astype(np.int64)) >> 32
    whole = np.clip((words + asked["offset"]) >> asked["right"], asked["low"], asked["high"])
    if asked["sum_right"]:
        added = made["r"].astype(np.int64) * asked["by_residual"] * asked["has_residual"]
        whole = (whole * asked["by_sum"] + added + asked["sum_offset"]) >> asked["sum_right"]
        whole = np.clip(whole, asked["sum_low"], asked["sum_high"])
    return np.asarray(whole, np.int8)
