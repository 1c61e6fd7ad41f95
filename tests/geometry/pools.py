"""Pools of random geometry, in every layout."""

from __future__ import annotations

import math

import numpy as np

from tests.geometry.draw import AFTER, CHANNELS, WHOLE, Draws, Sizes, Window, window
from tests.kernels.cases import Spec

MOST_ELEMENTS = 20_000


def _out(draws: Draws, shape: Window) -> Sizes:
    """Positions of the window, at times one more where it hangs over the end (ceil_mode)."""
    rank, sizes = len(shape.size), list(shape.out)
    if draws.often(0.3):
        for axis, span in enumerate(shape.spans):
            room = shape.size[axis] + shape.pads[axis] + shape.pads[rank + axis] - span
            more = -(-room // shape.strides[axis]) + 1
            starts = (more - 1) * shape.strides[axis]
            sizes[axis] = more if starts < shape.size[axis] + shape.pads[axis] else sizes[axis]
    return tuple(sizes)


def _every_window_has_data(shape: Window, out: Sizes) -> bool:
    for axis, count in enumerate(out):
        first = np.arange(count)[:, None] * shape.strides[axis] - shape.pads[axis]
        taps = first + np.arange(shape.kernel[axis])[None] * shape.dilations[axis]
        if not ((taps >= 0) & (taps < shape.size[axis])).any(axis=1).all():
            return False
    return True


def _shape(draws: Draws) -> tuple[Window, Sizes]:
    while True:
        shape = window(draws, draws.often(0.1))
        if draws.often(0.15):  # the whole input at once
            ones = (1,) * len(shape.size)
            shape = Window(shape.size, shape.size, ones, ones, (0,) * (2 * len(shape.size)))
        out = _out(draws, shape)
        if _every_window_has_data(shape, out):
            return shape, out


def draw(draws: Draws) -> Spec:
    """A pool, now and then of numbers that are not finite."""
    while True:
        shape, out = _shape(draws)
        batch, channels = draws.one((1, 1, 1, 2)), draws.one(CHANNELS)
        if batch * channels * max(math.prod(shape.size), math.prod(out)) <= MOST_ELEMENTS:
            break
    mode = draws.one(("max", "average"))
    storage = draws.storage("x", "out", "residual")
    x = draws.whole(batch, channels, *shape.size)
    attrs = {
        "mode": mode,
        **shape.attrs(),
        "count_include_pad": mode == "average" and draws.often(0.5),
    }
    full = (batch, channels, *out)
    return Spec(
        "Pool",
        {"x": x if WHOLE in storage.values() else draws.not_finite(x, 0.4)},
        full,
        attrs,
        before=draws.one(AFTER),
        residual=draws.whole(*full) if draws.often(0.2) else None,
        after=draws.one(AFTER),
        tolerance=0 if mode == "max" else 3,
        scale=8,
        storage=storage,
    )
