"""Filters in the order in which the direct convolution reads them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from edgeconv.ir.layout import Order
from edgeconv.kernels.algorithms.direct.tiles import FilterTile
from edgeconv.kernels.algorithms.packing import joined, row_elements
from edgeconv.kernels.algorithms.problem import ConvProblem

Floats = npt.NDArray[np.float32]


def packed_elements(problem: ConvProblem, tiles: Sequence[FilterTile], lanes: int) -> int:
    """Elements of the packed filters."""
    return sum(tile_elements(problem, tile, lanes) for tile in tiles)


def tile_elements(problem: ConvProblem, tile: FilterTile, lanes: int) -> int:
    """Elements of the packed filters of one tile."""
    taps = problem.kernel[0] * problem.kernel[1] * problem.kernel[2]
    return (tile.c1 - tile.c0) * taps * row_elements(tile.vectors * lanes, problem.filters_as)


def _channel_segments(c0: int, c1: int, block: int) -> list[tuple[int, int, int]]:
    """[c0, c1) as runs (first, channels per block, blocks) of equal pieces of channel blocks."""
    runs: list[tuple[int, int, int]] = []
    c = c0
    if c % block:
        end = min(c1, (c // block + 1) * block)
        runs.append((c, end - c, 1))
        c = end
    whole = (c1 - c) // block
    if whole:
        runs.append((c, block, whole))
        c += whole * block
    if c < c1:
        runs.append((c, c1 - c, 1))
    return runs


def _tile_filters(weights: Floats, problem: ConvProblem, tile: FilterTile, lanes: int) -> Floats:
    """Filters of one tile as (channels c0..c1, taps, filters), zero where it has none."""
    width = row_elements(tile.vectors * lanes, problem.filters_as)
    taps = int(np.prod(problem.kernel))
    last = min(tile.filter + tile.vectors * lanes, problem.out_c)
    flat = weights.reshape(problem.out_c, problem.group_in_c, taps)
    dense = np.zeros((tile.c1 - tile.c0, taps, width), np.float32)
    if problem.groups == 1:
        dense[:, :, : last - tile.filter] = flat[tile.filter : last].transpose(1, 2, 0)
        return dense
    for f in range(tile.filter, last):
        c = f // problem.group_out_c * problem.group_in_c - tile.c0
        dense[c : c + problem.group_in_c, :, f - tile.filter] = flat[f]
    return dense


def pack_filters(
    weights: Floats, problem: ConvProblem, tiles: Sequence[FilterTile], lanes: int
) -> Floats:
    """Pack weights of shape (out_c, in_c / groups, kernel ...).

    Order: tile; channel block of the input layout; kernel position; channel of the block; filter
    of the tile (KCRS[x]c[y]k of NeoCPU's Algorithm 1 with y the tile's filters).
    """
    whole = np.empty(packed_elements(problem, tiles, lanes), np.float32)
    return joined(filter_runs(weights, problem, tiles, lanes), whole)


def filter_runs(
    weights: Floats, problem: ConvProblem, tiles: Sequence[FilterTile], lanes: int
) -> Iterator[Floats]:
    """What `pack_filters` gives, in equal pieces of channel blocks of each tile."""
    channels_last = problem.in_layout.order is Order.CHANNELS_LAST
    block = problem.in_c if channels_last else problem.in_layout.block
    for tile in tiles:
        dense = _tile_filters(weights, problem, tile, lanes)
        for first, channels, blocks in _channel_segments(tile.c0, tile.c1, block):
            at = first - tile.c0
            part = dense[at : at + channels * blocks]
            shaped = part.reshape(blocks, channels, *part.shape[1:])
            yield shaped.transpose(0, 2, 1, 3).reshape(-1)
