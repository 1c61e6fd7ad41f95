"""Resizes by random ratios, in every layout."""

from __future__ import annotations

import math

from tests.geometry.draw import AFTER, CHANNELS, SIZES, Draws, Sizes
from tests.kernels.cases import Spec

MOST_ELEMENTS = 20_000
MODES = ("nearest", "nearest", "linear", "linear", "cubic")
COORDINATES = (
    "asymmetric",
    "half_pixel",
    "pytorch_half_pixel",
    "align_corners",
    "half_pixel_symmetric",
)
ROUNDINGS = ("floor", "ceil", "round_prefer_floor", "round_prefer_ceil")
RATIOS = (0.3, 0.5, 0.7, 1.3, 1.5, 2.0, 3.0, 4.7)


def _axis(draws: Draws, size: int, exact: bool) -> tuple[int, float]:
    """Output size and scale of one dimension; ``exact``: their product leaves no fraction."""
    if exact or draws.often(0.5):
        out = draws.up_to(3 * size, 1)
        return out, out / size
    scale = draws.one([ratio for ratio in RATIOS if ratio * size >= 1])
    return math.floor(size * scale), scale


def _sizes(draws: Draws, exact: bool) -> tuple[Sizes, Sizes, tuple[float, ...]]:
    """Input and output shape and the scales; one to three neighbouring dimensions change."""
    rank = draws.one((2, 3, 4, 4, 4, 5))
    shape = tuple(draws.one(CHANNELS if axis < 2 else SIZES) for axis in range(rank))
    spatial = rank > 2 and draws.often(0.8)
    first = 2 if spatial else draws.up_to(rank - 1)
    last = min(rank, first + draws.up_to(3, 1))
    pairs = [
        _axis(draws, size, exact) if first <= axis < last else (size, 1.0)
        for axis, size in enumerate(shape)
    ]
    return shape, tuple(out for out, _ in pairs), tuple(scale for _, scale in pairs)


def draw(draws: Draws) -> Spec:
    """A resize."""
    mode, coordinates = draws.one(MODES), draws.one(COORDINATES)
    while True:
        shape, out, scales = _sizes(draws, coordinates == "align_corners")
        if max(math.prod(shape), math.prod(out)) <= MOST_ELEMENTS:
            break
    attrs = {
        "mode": mode,
        "coordinate_transformation_mode": coordinates,
        "nearest_mode": draws.one(ROUNDINGS),
        "cubic_coeff_a": -0.75,
        "exclude_outside": mode == "cubic" and draws.often(0.5),
        "scales": scales,
    }
    return Spec(
        "Resize",
        {"x": draws.whole(*shape)},
        out,
        attrs,
        before=draws.one(AFTER),
        residual=draws.whole(*out) if draws.often(0.2) else None,
        after=draws.one(AFTER),
        tolerance=0 if mode == "nearest" else 8,
        scale=8,
    )
