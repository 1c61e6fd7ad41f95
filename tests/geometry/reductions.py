"""Reductions of random shapes over random axes, in every layout."""

from __future__ import annotations

import math

import numpy as np

from tests.geometry.draw import AFTER, WHOLE, Draws
from tests.kernels.cases import Spec

MOST_ELEMENTS = 20_000
SIZES = (1, 1, 2, 3, 4, 5, 7, 8, 13, 16, 17, 31, 64, 67, 130)
KINDS = ("sum", "mean", "max", "max", "min", "min", "prod", "l1", "l2", "sum_square")
# Roundings beside the sums, which are exact: of a factor and of a product with it, of a root.
TOLERANCES = {"mean": 2, "l2": 4}


def draw(draws: Draws) -> Spec:
    """A reduction, now and then of numbers that are not finite."""
    shape: tuple[int, ...] = (MOST_ELEMENTS + 1,)
    while math.prod(shape) > MOST_ELEMENTS:
        shape = tuple(draws.one(SIZES) for _ in range(draws.up_to(5, 1)))
    axes = tuple(axis for axis in range(len(shape)) if draws.often(0.5))
    kind, keepdims = draws.one(KINDS), draws.often(0.5)
    x = draws.whole(*shape)
    if kind == "prod":  # few that are not 1, so that a product has room
        x = np.where(np.abs(x) < 3, np.float32(1), np.sign(x)) * draws.one((np.float32(1), 2))
        x = x.astype(np.float32) if math.prod(shape) < 20 else np.sign(x).astype(np.float32)
    storage = draws.storage("x", "out", "residual")
    kept = [1 if axis in axes else size for axis, size in enumerate(shape)]
    if not keepdims:
        kept = [size for axis, size in enumerate(shape) if axis not in axes]
    return Spec(
        "Reduce",
        {"x": x if WHOLE in storage.values() else draws.not_finite(x, 0.5)},
        tuple(kept),
        {"kind": kind, "axes": axes, "keepdims": keepdims},
        before=draws.one(AFTER),
        residual=draws.whole(*kept) if draws.often(0.2) else None,
        after=draws.one(AFTER),
        tolerance=TOLERANCES.get(kind, 0),
        scale=4,
        storage=storage,
    )
