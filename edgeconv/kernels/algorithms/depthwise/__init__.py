"""Depthwise convolution by a direct vector kernel: a vector holds neighbouring channels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from edgeconv.ir.choice import Layer
from edgeconv.ir.graph import Graph, Node
from edgeconv.ir.layout import blocked
from edgeconv.ir.work import CacheTraffic, Work
from edgeconv.kernels.algorithms.axis import axes_of
from edgeconv.kernels.algorithms.base import Algorithm
from edgeconv.kernels.algorithms.candidate import ConvCandidate
from edgeconv.kernels.algorithms.layer import conv_layer
from edgeconv.kernels.algorithms.packing import row_elements
from edgeconv.kernels.algorithms.prefetch import (
    FOUND_CYCLES,
    HEADER,
    fetches,
    latency,
    rounds,
)
from edgeconv.kernels.algorithms.problem import ConvProblem
from edgeconv.kernels.algorithms.strips import Segment, flatten, segments
from edgeconv.kernels.algorithms.traffic import Runs, lost
from edgeconv.kernels.algorithms.work import encoding, epilogue, taps_met
from edgeconv.kernels.lowering.calls import residual_overwritten
from edgeconv.kernels.lowering.options import LayoutOption, Stored, convolved
from edgeconv.kernels.lowering.work import Call, width
from edgeconv.target.targets import Target

# Input columns under one strip that the kernel unrolls at the most (EC_UNROLL's own limit is 64).
MOST_COLUMNS = 48


def _rows(problem: ConvProblem, target: Target) -> int:
    """mr: as many output pixels as the tile has, fewer under wide kernels and strides."""
    reach = (problem.kernel[2] - 1) * problem.dilations[2]
    fit = (MOST_COLUMNS - 1 - reach) // problem.strides[2] + 1
    return max(1, min(target.depthwise_rows, fit))


@dataclass(frozen=True, slots=True)
class DepthwisePlan:
    """``strips`` of every output row."""

    strips: tuple[Segment, ...]

    @property
    def rows(self) -> int:
        """Output pixels of the largest."""
        return max(strip.rows for strip in self.strips)


def _candidates(problem: ConvProblem, target: Target) -> tuple[ConvCandidate[DepthwisePlan], ...]:
    """One, where the columns under a strip can be unrolled."""
    reach = (problem.kernel[2] - 1) * problem.dilations[2]
    if not problem.is_depthwise or reach >= MOST_COLUMNS:
        return ()
    plan = DepthwisePlan(segments(problem, problem.out_size[2], _rows(problem, target)))
    found = ConvCandidate(
        algorithm="depthwise",
        problem=problem,
        plan=plan,
        workspace={},
        work=_work(problem, target, plan.rows),
        cache_traffic=partial(_traffic, problem, target),
    )
    return (found,)


def _layouts(node: Node, graph: Graph, target: Target) -> Sequence[LayoutOption]:
    del graph
    xc = {blocked(target.lanes): 0.0}
    return convolved(node, xc, xc)


def pack_depthwise(
    weights: npt.NDArray[np.float32], lanes: int, row: int
) -> npt.NDArray[np.float32]:
    """Filters of shape (channels, 1, kernel ...) as (channel block, kernel position, channel).

    Each block of ``lanes`` channels takes ``row`` elements, zeros at its end.
    """
    channels, taps = weights.shape[0], math.prod(weights.shape[2:])
    blocks = -(-channels // lanes)
    padded = np.zeros((blocks * lanes, taps), np.float32)
    padded[:channels] = weights.reshape(channels, taps)
    packed = np.zeros((blocks, row), np.float32)
    packed[:, : taps * lanes] = (
        padded.reshape(blocks, lanes, taps).transpose(0, 2, 1).reshape(blocks, -1)
    )
    return packed.reshape(-1)


def _work(problem: ConvProblem, target: Target, rows: int) -> Work:
    """A column of the input is loaded once for all taps that it meets in a strip of ``rows``."""
    filters_as, in_as = problem.filters_as, problem.in_as
    kernel_w, stride = problem.kernel[2], problem.strides[2]
    taps = math.prod(problem.kernel) * taps_met(problem)
    out_vectors = problem.out_elements / target.lanes
    columns = ((rows - 1) * stride + kernel_w) / kernel_w / rows  # loads per tap and output
    weights, data = out_vectors * taps / rows, out_vectors * taps * columns  # vectors
    decoded = (
        weights * target.decoding(filters_as).vector
        + data * target.decoding(in_as).vector
        + encoding(problem, target)
    )
    return Work(
        slots=out_vectors * (taps + 2)
        + (weights + data) * target.lone_load_slots
        + epilogue(problem, target)
        + decoded,
        moves=weights + data + out_vectors if target.single_issue else 0.0,
        weight_bytes=width(filters_as) * target.lanes * weights,
        data_bytes=width(in_as) * target.lanes * data
        + problem.out_elements * width(problem.out_as),
        decoding=decoded,
    )


def _prefetch_distance(
    problem: ConvProblem, plan: DepthwisePlan, target: Target
) -> tuple[int, float]:
    """Output rows between that which is computed and that whose input is fetched, on cores in
    order, and lines that are fetched in all; 0 where nothing is."""
    planes = problem.kernel[0] * problem.in_size[0]
    if not fetches(target) or problem.in_ring or planes > 1:
        return 0, 0.0
    lines = problem.in_elements * problem.in_bytes / target.line_bytes
    level_traffic = [each.input for each in _traffic(problem, target)]
    cycles = latency(level_traffic, target, FOUND_CYCLES * lines)
    strips = problem.batch * -(-problem.in_c // target.lanes) * problem.out_size[1]
    slot = target.lanes * target.peak / (target.macs_per_cycle or target.lanes * target.peak)
    rows = rounds(cycles, slot * _work(problem, target, plan.rows).slots / strips)
    return rows, lines if rows else 0.0


def _lower(
    candidate: ConvCandidate[DepthwisePlan], node: Node, graph: Graph, target: Target
) -> Layer:
    problem, plan, lanes = candidate.problem, candidate.plan, target.lanes
    blocks = -(-problem.in_c // lanes)
    row = row_elements(lanes * math.prod(problem.kernel), problem.filters_as)
    prefetch, lines = _prefetch_distance(problem, plan, target)
    return conv_layer(
        candidate,
        Call(node, graph, target),
        "depthwise",
        params={
            "batch": problem.batch,
            "blocks": blocks,
            **problem.window,
            **problem.rings,
            "segments": flatten(plan.strips),
            **({"prefetch_input": prefetch} if prefetch else {}),
        },
        headers=(
            *("ec_strips.h", "ec_window.h"),
            *((HEADER,) if prefetch else ()),
            "ec_conv_depthwise.h",
        ),
        filters=(blocks * row, lambda weights: pack_depthwise(weights, lanes, row)),
        aliases=residual_overwritten(node, graph),
        divides=problem.divides,
        fetches=lines,
        plan={"mr": plan.rows, "nr": lanes},
    )


def _traffic(problem: ConvProblem, target: Target) -> tuple[CacheTraffic, ...]:
    """Block by block of channels, each operand once; input rows again as far as they were evicted
    before the next output row, and filters before the next image."""
    blocks = -(-problem.in_c // target.lanes)
    in_lanes, out_lanes = target.lanes * problem.in_bytes, target.lanes * problem.out_bytes
    depth, height, width = axes_of(problem)
    in_row, out_row = in_lanes * width.size, out_lanes * width.out
    image = float(in_row * depth.all_read * height.all_read)
    apart = float(in_row * depth.read_by(1) * height.read_by(1))
    result = out_lanes * math.prod(problem.out_size)
    filters = Runs(1, target.lanes * problem.filter_bytes * math.prod(problem.kernel))
    window = Runs(depth.kernel, in_row * min(height.kernel * height.sharing, height.size))
    found = []
    for cache in sorted(target.caches, key=lambda cache: cache.level):
        rows = lost(cache, window, filters, Runs(1, out_row))
        images = lost(cache, Runs(1, blocks * filters.bytes), Runs(1, blocks * (image + result)))
        found.append(
            CacheTraffic(
                level=cache.level,
                input=problem.batch * blocks * (image + rows * (apart - image)),
                packed=0.0,
                filters=(1 + (problem.batch - 1) * images) * blocks * filters.bytes,
                output_reads=0.0,
                packed_writes=0.0,
                output_writes=float(problem.batch * blocks * result),
            )
        )
    return tuple(found)


ALGORITHM = Algorithm("depthwise", _candidates, _layouts, _lower, Stored.BOTH, float16=True)
