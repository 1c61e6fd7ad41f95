"""Bytes that a convolution over packed rows moves between neighbouring levels of memory."""

from __future__ import annotations

import math

from edgeconv.ir.work import CacheTraffic
from edgeconv.kernels.algorithms.axis import axes_of
from edgeconv.kernels.algorithms.problem import ConvProblem
from edgeconv.kernels.algorithms.rows.plan import WORD_BYTES, RowsPlan
from edgeconv.kernels.algorithms.traffic import Runs, lost
from edgeconv.target.cache import Cache
from edgeconv.target.targets import Target


def traffic(problem: ConvProblem, plan: RowsPlan, target: Target) -> tuple[CacheTraffic, ...]:
    """Cache traffic behind each of the target's caches, nearest first, for the whole batch."""
    return tuple(
        _cache_traffic(problem, plan, target.lanes, cache)
        for cache in sorted(target.caches, key=lambda cache: cache.level)
    )


def _cache_traffic(problem: ConvProblem, plan: RowsPlan, lanes: int, cache: Cache) -> CacheTraffic:
    """Images and groups in turn; in each, panel by panel, under which all tiles of filters pass."""
    order = plan.order(problem, lanes)
    rounds = problem.batch * problem.groups
    chunks = plan.planes * -(-plan.rows // plan.chunk)
    element = WORD_BYTES / order.k
    each = [element * order.tile_elements(width, order.in_c) for width in order.widths]
    tile, filters = each[0], sum(each)
    panel, strips = float(plan.panel.bytes), plan.chunk * plan.strips.pieces
    results = problem.out_bytes * problem.out_c * math.prod(problem.out_size) / problem.groups
    part = results / chunks  # under one panel
    # Between two uses: of the panel a tile of filters, of a tile a strip's share of the panel, of
    # all filters a panel and its results.
    panel_lost = lost(cache, Runs(1, panel), Runs(1, tile), Runs(1, part))
    strip = Runs(1, (panel + part / len(order.widths)) / strips)
    tile_lost = lost(cache, Runs(1, tile), strip)
    chunk_lost = lost(cache, Runs(1, filters), Runs(1, panel), Runs(1, part))
    again = (rounds / problem.groups * chunks - 1) * chunk_lost
    streamed = rounds * chunks * (strips - 1) * tile_lost * filters
    read = math.prod(axis.all_read for axis in axes_of(problem)) * problem.in_c
    halo = max(0.0, _packed_elements(problem, chunks, plan.met_rows(problem)) - read)
    return CacheTraffic(
        level=cache.level,
        input=problem.batch * problem.in_bytes * (read + panel_lost * halo),
        packed=rounds * chunks * panel * (1 + panel_lost * len(order.widths)) - panel,
        filters=problem.groups * filters * (1 + again) + streamed,
        output_reads=0.0,
        packed_writes=rounds * chunks * panel * panel_lost,
        output_writes=rounds * results,
    )


def _packed_elements(problem: ConvProblem, chunks: int, rows: int) -> float:
    """Elements of the input of an image that packing reads."""
    width = axes_of(problem)[2].all_read
    return float(problem.in_c * chunks * problem.kernel[0] * rows * width)
