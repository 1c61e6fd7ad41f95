"""From a direct plan to the parameters of its template."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from edgeconv.algorithms.direct.band import band_elements
from edgeconv.algorithms.direct.candidate import DirectCandidate
from edgeconv.algorithms.direct.packing import pack_filters, packed_elements, tile_elements
from edgeconv.algorithms.direct.tiles import (
    FLOAT_BYTES,
    DirectPlan,
    FilterTile,
    filter_tiles,
    visits,
)
from edgeconv.algorithms.packing import bias_blob, filters_blob, storage_params, weights_arg
from edgeconv.algorithms.problem import ConvProblem, Geometry
from edgeconv.algorithms.strips import Segment, flatten
from edgeconv.ir.choice import Arg, ArgKind, Blob, Layer, Param
from edgeconv.ir.graph import Graph, Node
from edgeconv.ir.layout import Order
from edgeconv.lowering.calls import (
    activation_headers,
    epilogue_of,
    input_arg,
    output_arg,
    residual_args,
    residual_overwritten,
    storage_of,
)
from edgeconv.targets import Target

LINE_BYTES = 64  # EC_LINE_BYTES of ec_common.h


def _geometry_params(problem: ConvProblem, plan: DirectPlan) -> dict[str, Param]:
    """Sizes and strides, with the rows as the plan walks them."""
    source = Geometry.of(problem.in_layout, problem.in_c, problem.in_memory)
    target = Geometry.of(problem.out_layout, problem.out_c, problem.out_memory)
    in_size = problem.in_size
    in_plane, in_row, out_plane, out_row = source.plane, source.row, target.plane, target.row
    if problem.is_pointwise:  # the pixels follow each other: any regrouping has these strides
        in_size = (plan.planes, plan.rows, plan.row)
        in_row, out_row = plan.row * source.pixel, plan.row * target.pixel
        in_plane, out_plane = plan.rows * in_row, plan.rows * out_row
    return {
        "in_block": source.block,
        "in_block_step": source.block_stride,
        "in_size": in_size,
        "in_steps": (in_plane, in_row, source.pixel),
        "in_batch": source.batch,
        "kernel": problem.kernel,
        "strides": problem.strides,
        "dilations": problem.dilations,
        "pads": problem.pads,
        "out_steps": (out_plane, out_row, target.pixel),
        "out_batch": target.batch,
    }


def _tail_params(
    problem: ConvProblem, plan: DirectPlan, tiles: int, lanes: int
) -> dict[str, Param]:
    """The last tile, where it has fewer vectors or its last vector stores fewer lanes.

    A blocked layout has padding for a whole vector, so there every lane is stored.
    """
    padded = problem.out_layout.order is Order.BLOCKED
    tail_lanes = lanes if padded else problem.out_c % lanes or lanes
    vectors, cut = plan.tail_vectors, plan.tail_segments
    if not vectors and tail_lanes < lanes:
        vectors, cut = plan.vectors, plan.segments
    return {
        "full_tiles": tiles - bool(vectors),
        "tail_vectors": vectors,
        "tail_segments": flatten(cut),
        "tail_lanes": tail_lanes,
    }


def lower(candidate: DirectCandidate, node: Node, graph: Graph, target: Target) -> Layer:
    """The kernel call of ``node`` (Conv or Dense)."""
    lanes, problem, plan = target.lanes, candidate.problem, candidate.plan
    tiles = filter_tiles(problem, plan, target)
    residual = node.epilogue.residual
    parts = candidate.workspace
    shared = _workspace_params(parts)
    step = Geometry.of(problem.out_layout, problem.out_c, problem.out_memory)
    out_vec = step.block_stride if problem.out_layout.order is not Order.CHANNELS_LAST else lanes
    params: dict[str, Param] = {
        **_geometry_params(problem, plan),
        **problem.rings,
        "batch": problem.batch,
        "out_vec": out_vec,
        "planes": plan.planes,
        "rows": plan.rows,
        "chunk": plan.chunk,
        "vectors": plan.vectors,
        "segments": flatten(plan.segments),
        **_tail_params(problem, plan, len(tiles), lanes),
        "epilogue": epilogue_of(node, graph),
        **_tile_params(problem, tiles, lanes),
        **_pass_params(problem, plan, lanes),
        **storage_params(node, problem.out_c, lanes),
        **shared,
        "band_rows": plan.band,
        "band_elements": band_elements(problem, plan),
        **storage_of(graph, **{"in": node.inputs[0]}, out=node.output, residual=residual),
    }
    return Layer(
        node=node,
        algorithm=candidate.algorithm,
        template="conv/direct.c.j2",
        params=params,
        args=(
            input_arg(graph, node.inputs[0]),
            weights_arg(node),
            Arg(ArgKind.WEIGHTS, "bias", "bias"),
            *residual_args(node, graph),
            output_arg(node, graph),
            *((Arg(ArgKind.WORKSPACE, str(shared["workspace"])),) if any(parts.values()) else ()),
        ),
        headers=(
            *activation_headers(node.epilogue),
            *(("ec_decode.h",) if parts["decoded"] + parts["band"] else ()),
            "ec_conv_direct.h",
        ),
        work=candidate.work,
        blobs=_blobs(node, graph, problem, tiles, lanes),
        aliases=residual_overwritten(node, graph),
        workspace_bytes=candidate.workspace_bytes,
        macs=problem.macs,
        divides=problem.divides,
        candidate=candidate,
        plan={
            "mr": plan.largest_rows,
            "nr": plan.vectors * lanes,
            "row": plan.row,
            "rows_per_pass": plan.chunk,
            "channels_per_pass": plan.channels or problem.in_c,
            "predicted_slots": round(plan.cost),
        },
    )


def _workspace_params(parts: Mapping[str, int]) -> dict[str, Param]:
    """Which parts the workspace has, and the floats before those that are not the first."""
    found: dict[str, Param] = {"workspace": next((name for name in parts if parts[name]), "")}
    start = 0
    for name, size in parts.items():
        found[name] = bool(size)
        found[f"{name}_from"] = start // FLOAT_BYTES
        start += size
    return found


def _pass_params(problem: ConvProblem, plan: DirectPlan, lanes: int) -> dict[str, Param]:
    """Passes over the input channels, and the cache lines of filters each strip fetches ahead."""

    def lines(vectors: int, cut: tuple[Segment, ...]) -> int:
        if not plan.channels or not cut:
            return 0
        taps = problem.kernel[0] * problem.kernel[1] * problem.kernel[2]
        per_pass = plan.channels * taps * vectors * lanes * problem.filter_bytes
        return math.ceil(per_pass / (LINE_BYTES * visits(plan, cut)))

    tail = plan.tail_segments or plan.segments
    return {
        "channels_per_pass": plan.channels,
        "lines": lines(plan.vectors, plan.segments),
        "tail_lines": lines(plan.tail_vectors or plan.vectors, tail),
    }


def _tile_params(problem: ConvProblem, tiles: list[FilterTile], lanes: int) -> dict[str, Param]:
    """Where each tile's channels and filters begin; a table only when groups make them differ."""
    sizes = [tile_elements(problem, tile, lanes) for tile in tiles]
    starts = tuple(int(n) for n in np.cumsum([0, *sizes[:-1]]))
    grouped = problem.groups > 1
    return {
        "in_c": problem.in_c,
        "tile_filters": sizes[0],
        "tile_c0": tuple(t.c0 for t in tiles) if grouped else (),
        "tile_c1": tuple(t.c1 for t in tiles) if grouped else (),
        "tile_start": starts if grouped else (),
    }


def _blobs(
    node: Node, graph: Graph, problem: ConvProblem, tiles: list[FilterTile], lanes: int
) -> tuple[Blob, ...]:
    return (
        filters_blob(
            node,
            graph,
            packed_elements(problem, tiles, lanes),
            lambda weights: pack_filters(weights, problem, tiles, lanes),
        ),
        bias_blob(node, graph, problem.out_c, lanes),
    )
