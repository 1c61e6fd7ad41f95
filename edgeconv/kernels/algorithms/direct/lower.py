"""From a direct plan to the parameters of its template."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial

from edgeconv.ir.choice import Layer, Param
from edgeconv.ir.graph import Graph, Node
from edgeconv.ir.layout import Order
from edgeconv.kernels.algorithms.direct.candidate import DirectCandidate
from edgeconv.kernels.algorithms.direct.packing import filter_runs, pack_filters, packed_elements
from edgeconv.kernels.algorithms.direct.prefetch import prefetch_distances
from edgeconv.kernels.algorithms.direct.tiles import FLOAT_BYTES, DirectPlan, filter_tiles, visits
from edgeconv.kernels.algorithms.direct.traffic import traffic
from edgeconv.kernels.algorithms.layer import conv_layer
from edgeconv.kernels.algorithms.prefetch import HEADER, NOTHING, fetches
from edgeconv.kernels.algorithms.problem import ConvProblem, Geometry
from edgeconv.kernels.algorithms.strips import Segment, flatten
from edgeconv.kernels.lowering.calls import residual_overwritten
from edgeconv.kernels.lowering.work import Call
from edgeconv.target.targets import Target


def _geometry_params(problem: ConvProblem, plan: DirectPlan, lanes: int) -> dict[str, Param]:
    """Sizes and strides, with the rows as the plan walks them.

    Where filters are prefetched, channels that lie side by side are taken by vectors, between
    which that happens.
    """
    source = Geometry.of(problem.in_layout, problem.in_c, problem.in_memory)
    target = Geometry.of(problem.out_layout, problem.out_c, problem.out_memory)
    in_size, out_size = problem.in_size, (plan.planes, plan.rows, plan.row)
    in_plane, in_row, out_plane, out_row = source.plane, source.row, target.plane, target.row
    if problem.is_pointwise:  # the pixels follow each other: any regrouping has these strides
        in_size = out_size
        in_row, out_row = plan.row * source.pixel, plan.row * target.pixel
        in_plane, out_plane = plan.rows * in_row, plan.rows * out_row
    block, block_stride = source.block, source.block_stride
    if plan.channels and problem.in_layout.order is Order.CHANNELS_LAST:
        block = block_stride = lanes
    return {
        **problem.window,
        "in_size": in_size,
        "out_size": out_size,
        "images": problem.batch if problem.batch > 1 else 0,
        "in_image": source.batch,
        "out_image": target.batch,
        "in_block": block,
        "in_block_stride": block_stride,
        "in_strides": (in_plane, in_row, source.pixel),
        "out_strides": (out_plane, out_row, target.pixel),
    }


def _tiles_params(
    problem: ConvProblem, plan: DirectPlan, tiles: int, target: Target
) -> dict[str, Param]:
    """The tiles of filters: vectors, lanes that the last vector stores, strips and cache lines that
    each strip prefetches; of the last tile, where those differ.

    A blocked layout has padding for a whole vector, so there every lane is stored.
    """
    padded, lanes = problem.out_layout.order is Order.BLOCKED, target.lanes
    last_lanes = lanes if padded else problem.out_c % lanes or lanes
    last, cut = plan.tail_vectors, plan.tail_segments
    if not last and last_lanes < lanes:
        last, cut = plan.vectors, plan.segments
    only = bool(last) and tiles == 1
    vectors, segments = (last, cut) if only else (plan.vectors, plan.segments)
    fetched = partial(_lines, problem, plan, target)
    return {
        "in_c": problem.in_c,
        "tiles": tiles,
        "vectors": vectors,
        "tile_lanes": last_lanes if only else lanes,
        "lines": fetched(vectors, segments),
        "segments": flatten(segments),
        "last_vectors": last,
        "last_lanes": last_lanes,
        "last_lines": fetched(last, cut),
        "last_segments": flatten(cut) if last and not only else (),
    }


def lower(candidate: DirectCandidate, node: Node, graph: Graph, target: Target) -> Layer:
    """The kernel call of ``node`` (Conv or Dense)."""
    lanes, problem, plan = target.lanes, candidate.problem, candidate.plan
    tiles = filter_tiles(problem, plan, target)
    prefetch = NOTHING if plan.prefetch is None else plan.prefetch
    if plan.prefetch is None and fetches(target):
        moved = candidate.traffic or traffic(problem, plan, target)
        prefetch = prefetch_distances(problem, plan, moved, target)
    step = Geometry.of(problem.out_layout, problem.out_c, problem.out_memory)
    out_vec = step.block_stride if problem.out_layout.order is not Order.CHANNELS_LAST else lanes
    params: dict[str, Param] = {
        **_geometry_params(problem, plan, lanes),
        **problem.rings,
        "out_vec": out_vec,
        "rows_per_chunk": plan.chunk,
        "channels_per_chunk": plan.channels,
        **_tiles_params(problem, plan, len(tiles), target),
        "groups": (problem.group_in_c, problem.group_out_c) if problem.groups > 1 else (0, 0),
        **_workspace_params(candidate.workspace),
        "decoded_rows": plan.band,
        **prefetch.params,
    }
    return conv_layer(
        candidate,
        Call(node, graph, target),
        "direct",
        params=params,
        headers=(
            *("ec_decode.h", "ec_strips.h", "ec_window.h"),
            *((HEADER,) if prefetch else ()),
            *("ec_conv_sums.h", "ec_conv_direct.h"),
        ),
        filters=(
            packed_elements(problem, tiles, lanes),
            lambda weights: pack_filters(weights, problem, tiles, lanes),
        ),
        pieces=lambda weights: filter_runs(weights, problem, tiles, lanes),
        aliases=residual_overwritten(node, graph),
        divides=problem.divides,
        fetches=prefetch.lines,
        plan={
            "mr": plan.largest_rows,
            "nr": plan.vectors * lanes,
            "row": plan.row,
            "rows_per_pass": plan.chunk,
            "channels_per_pass": plan.channels or problem.in_c,
            "predicted_slots": round(plan.cost),
        },
    )


def _workspace_params(sizes: Mapping[str, int]) -> dict[str, Param]:
    """What the workspace holds, and the floats before each."""
    found: dict[str, Param] = {}
    start = 0
    for name, size in sizes.items():
        found[name] = bool(size)
        found[f"{name}_at"] = start // FLOAT_BYTES
        start += size
    return found


def _lines(
    problem: ConvProblem, plan: DirectPlan, target: Target, vectors: int, cut: tuple[Segment, ...]
) -> int:
    """Cache lines of filters that each strip prefetches, where channels come in chunks."""
    if not plan.channels or not cut or not target.line_bytes:
        return 0
    filters = plan.channels * math.prod(problem.kernel) * vectors * target.lanes
    return math.ceil(filters * problem.filter_bytes / (target.line_bytes * visits(plan, cut)))
