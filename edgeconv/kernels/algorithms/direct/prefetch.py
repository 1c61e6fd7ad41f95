"""How far ahead direct convolution fetches its filters and its input."""

from __future__ import annotations

import math
from collections.abc import Sequence

from edgeconv.ir.layout import CHANNELS_LAST, Order
from edgeconv.ir.work import CacheTraffic
from edgeconv.kernels.algorithms.direct.tiles import FLOAT_BYTES, DirectPlan, tile_kinds
from edgeconv.kernels.algorithms.prefetch import (
    FOUND_CYCLES,
    NOTHING,
    STREAMED_CYCLES,
    PrefetchDistances,
    fetches,
    latency,
    rounds,
)
from edgeconv.kernels.algorithms.problem import ConvProblem
from edgeconv.kernels.algorithms.strips import Segment
from edgeconv.target.targets import STRIPS, Target

CHANNELS = 4  # EC_PREFETCH_CHANNELS of ec_prefetch.h: between two fetches of filters


def prefetch_distances(
    problem: ConvProblem, plan: DirectPlan, traffic: Sequence[CacheTraffic], target: Target
) -> PrefetchDistances:
    """Distances of the plan, whose traffic behind the target's caches is this."""
    if not fetches(target) or plan.in_blocks or plan.band:
        return NOTHING
    cycles = _channel_cycles(plan, target)
    lines = _filter_lines(problem, plan, target)
    # Filters of passes over the channels are fetched by those before them.
    level_traffic = [0.0 if plan.channels else each.filters for each in traffic]
    each_line = STREAMED_CYCLES if problem.in_layout == CHANNELS_LAST else FOUND_CYCLES
    filters = latency(level_traffic, target, each_line * lines)
    of_channels = round(CHANNELS * plan.vectors * target.lanes * problem.filter_bytes)
    away = rounds(filters, CHANNELS * cycles)
    blocks, columns = _blocks(problem, plan, traffic, target)
    if plan.channels:  # passes fetch each filter once
        lines = sum(each.filters for each in traffic[:1]) / target.line_bytes
    fetched = (lines if filters or plan.channels else 0.0) + columns
    return PrefetchDistances(filters=away * of_channels, input=blocks, lines=fetched)


def _channel_cycles(plan: DirectPlan, target: Target) -> float:
    """The cycles of a step of the register tile: one channel at one kernel position."""
    slot = target.lanes * target.peak / (target.macs_per_cycle or target.lanes * target.peak)
    kernel = target.kernel(STRIPS)
    return slot * target.tile_slots(kernel, plan.largest_rows, plan.vectors)


def _cuts(
    problem: ConvProblem, plan: DirectPlan, target: Target
) -> list[tuple[int, int, int, tuple[Segment, ...]]]:
    """Tiles of each kind: how many, vectors, channels, strips of a row."""
    found = []
    for kind in tile_kinds(problem, plan.vectors, target):
        tail = plan.tail_segments and kind.vectors == plan.tail_vectors
        cut = plan.tail_segments if tail else plan.segments
        found.append((kind.count, kind.vectors, kind.channels, cut))
    return found


def _rows(problem: ConvProblem, plan: DirectPlan) -> int:
    return problem.batch * plan.planes * plan.rows


def _filter_lines(problem: ConvProblem, plan: DirectPlan, target: Target) -> float:
    """Lines that strips read of their filters, those of a tile once for each."""
    taps, lines = math.prod(problem.kernel), 0.0
    for count, vectors, channels, cut in _cuts(problem, plan, target):
        size = taps * channels * vectors * target.lanes * problem.filter_bytes
        lines += count * sum(s.count for s in cut) * size / target.line_bytes
    return lines * _rows(problem, plan)


def _blocks(
    problem: ConvProblem, plan: DirectPlan, traffic: Sequence[CacheTraffic], target: Target
) -> tuple[int, float]:
    """Blocks of channels between the input that is multiplied and that which is fetched, and how
    many lines are."""
    block = problem.in_layout.block
    if problem.in_layout.order is not Order.BLOCKED or block < target.lanes or problem.groups > 1:
        return 0, 0.0
    rows, fetched, line = math.prod(problem.kernel[:2]), 0.0, target.line_bytes
    columns = FLOAT_BYTES * block * problem.strides[2]  # bytes that a pixel more reads of a row
    for count, _, channels, cut in _cuts(problem, plan, target):
        runs = sum(s.count * -(-s.rows * columns // line) for s in cut)
        fetched += count * runs * -(-channels // block) * rows
    fetched *= _rows(problem, plan)
    level_traffic = [each.input for each in traffic]
    together = plan.largest_rows * columns / line
    cycles = latency(level_traffic, target, FOUND_CYCLES * fetched, together)
    blocks = rounds(cycles, block * math.prod(problem.kernel) * _channel_cycles(plan, target))
    return blocks, fetched if blocks else 0.0
