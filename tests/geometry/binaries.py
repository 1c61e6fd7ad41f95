"""Element-wise operations on random shapes that broadcast, in every layout."""

from __future__ import annotations

import math

import numpy as np

from tests.geometry.draw import AFTER, CHANNELS, SIZES, WHOLE, Draws
from tests.kernels.cases import Spec

MOST_ELEMENTS = 10_000
KINDS = ("add", "sub", "mul", "max", "max", "min", "min")


def draw(draws: Draws) -> Spec:
    """Two operands, now and then with numbers that are not finite."""
    shape: tuple[int, ...] = (MOST_ELEMENTS + 1,)
    while math.prod(shape) > MOST_ELEMENTS:
        rank = draws.one((1, 2, 3, 4, 4, 5))
        shape = tuple(draws.one(CHANNELS if axis < 2 else SIZES) for axis in range(rank))
    ones = tuple(1 if draws.often(0.4) else size for size in shape)
    other = draws.one((shape, ones, ones[draws.up_to(len(shape)) :]))
    a, b = (shape, other) if draws.often(0.5) else (other, shape)
    x, y = draws.whole(*a), draws.whole(*b)
    constants = ("y",) if draws.often(0.3) else ()
    storage = draws.storage(*(("x",) if constants else ("x", "y")), "out", "residual")
    if WHOLE not in storage.values():
        x, y = draws.not_finite(x, 0.4), draws.not_finite(y, 0.4)
    out = np.broadcast_shapes(a, b)
    return Spec(
        "Binary",
        {"x": x, "y": y},
        out,
        {"kind": draws.one(KINDS)},
        constants,
        before=draws.one(AFTER),
        residual=draws.whole(*out) if draws.often(0.2) else None,
        after=draws.one(AFTER),
        storage=storage,
    )
