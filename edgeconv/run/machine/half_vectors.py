"""Whether the core computes a vector in two halves."""

from __future__ import annotations

from collections.abc import Mapping

from edgeconv.target.targets import PANELS, Target

FORM = "halves"  # what rate.c calls multiply-adds of which every other one is of half a vector
_HALVED = 0.875  # of the time of whole ones: cores in halves take 0.75, others 1


def computes_halves(rate: Mapping[str, float], halved: Mapping[str, float], target: Target) -> bool:
    """``rate``: what rate.c printed, seconds of a multiply-add by form; ``halved``: with the
    kernels of such cores, whose register tiles must take no longer over all."""
    if FORM not in rate or rate[FORM] > _HALVED * rate["vectors"]:
        return False
    tiles = [f"{tile.rows}x{tile.vectors}" for tile in target.kernel(PANELS).tiles]
    return sum(halved[tile] for tile in tiles) <= sum(rate[tile] for tile in tiles)
