"""From a plan to the parameters of its template."""

from __future__ import annotations

from edgeconv.algorithms.bfloat16.candidate import Bfloat16Candidate
from edgeconv.algorithms.bfloat16.packing import FilterOrder
from edgeconv.algorithms.bfloat16.plan import Bfloat16Plan
from edgeconv.algorithms.packing import bias_blob, filters_blob, storage_params, weights_arg
from edgeconv.algorithms.problem import ConvProblem, Geometry
from edgeconv.algorithms.strips import flatten
from edgeconv.ir.choice import Arg, ArgKind, Layer, Param
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


def _geometry_params(problem: ConvProblem, plan: Bfloat16Plan, lanes: int) -> dict[str, Param]:
    """Sizes and strides of input, output and panel, with the rows as the plan walks them."""
    source = Geometry.of(problem.in_layout, problem.in_c, problem.in_size)
    result = Geometry.of(problem.out_layout, problem.out_c, problem.out_size)
    in_last = problem.in_layout.order is Order.CHANNELS_LAST
    out_last = problem.out_layout.order is Order.CHANNELS_LAST
    in_size, in_rows = problem.in_size, (source.plane, source.row)
    out_rows = (result.plane, result.row)
    if problem.is_pointwise:  # the pixels follow each other: any regrouping has these strides
        in_size = (plan.planes, plan.rows, plan.row)
        in_rows = (plan.rows * plan.row * source.pixel, plan.row * source.pixel)
        out_rows = (plan.rows * plan.row * result.pixel, plan.row * result.pixel)
    blocks = problem.group_out_c // lanes
    panel = plan.panel
    return {
        "in_block": source.block,
        "in_block_step": source.block_stride,
        "in_vec": lanes if in_last else source.block_stride,
        "in_size": in_size,
        "in_steps": (*in_rows, source.pixel),
        "in_batch": source.batch,
        "kernel": problem.kernel,
        "strides": problem.strides,
        "dilations": problem.dilations,
        "pads": problem.pads,
        "out_steps": (*out_rows, result.pixel),
        "out_batch": result.batch,
        "out_vec": lanes if out_last else result.block_stride,
        "group_out": problem.group_out_c if out_last else blocks * result.block_stride,
        "pairs": panel.pairs,
        "blocks": panel.blocks,
        "row_step": panel.row_step,
        "column_step": panel.column_step,
        "panel_rows": panel.rows,
        "phases": panel.phases,
        "wide": panel.wide,
    }


def _tile_params(
    problem: ConvProblem, plan: Bfloat16Plan, order: FilterOrder, target: Target
) -> dict[str, Param]:
    """Tiles of filters; the last apart where it has fewer vectors or stores fewer lanes."""
    lanes, tiles = target.lanes, len(order.widths)
    padded = problem.out_layout.order is Order.BLOCKED
    tail_lanes = lanes if padded else problem.group_out_c % lanes or lanes
    vectors, cut = plan.tail_vectors, plan.tail_segments
    if not vectors and tail_lanes < lanes:
        vectors, cut = plan.vectors, plan.segments
    strips = plan.chunk * sum(s.count for s in plan.segments)
    tile_bytes = order.tile_bytes(plan.vectors * lanes)
    return {
        "planes": plan.planes,
        "rows": plan.rows,
        "chunk": plan.chunk,
        "tiles": tiles,
        "vectors": plan.vectors,
        "segments": flatten(plan.segments),
        "full_tiles": tiles - bool(vectors),
        "tail_vectors": vectors,
        "tail_segments": flatten(cut),
        "tail_lanes": tail_lanes,
        "tile_bytes": tile_bytes,
        "group_bytes": sum(order.tile_bytes(width) for width in order.widths),
        "lines": -(-tile_bytes // (LINE_BYTES * strips)) if target.prefetch else 0,
    }


def lower(candidate: Bfloat16Candidate, node: Node, graph: Graph, target: Target) -> Layer:
    """The kernel call of a Conv node whose layouts are decided."""
    problem, plan, lanes = candidate.problem, candidate.plan, target.lanes
    order = plan.order(problem, lanes)
    residual = node.epilogue.residual
    return Layer(
        node=node,
        algorithm=candidate.algorithm,
        template="conv/bfloat16.c.j2",
        params={
            **_geometry_params(problem, plan, lanes),
            **_tile_params(problem, plan, order, target),
            "batch": problem.batch,
            "groups": problem.groups,
            "in_c": problem.group_in_c,
            "out_c": problem.group_out_c,
            "epilogue": epilogue_of(node, graph),
            **storage_params(node, problem.out_c, lanes),
            **storage_of(graph, **{"in": node.inputs[0]}, out=node.output, residual=residual),
        },
        args=(
            input_arg(graph, node.inputs[0]),
            weights_arg(node),
            Arg(ArgKind.WEIGHTS, "bias", "bias"),
            *residual_args(node, graph),
            output_arg(node, graph),
            Arg(ArgKind.WORKSPACE, "panels"),
        ),
        headers=(*activation_headers(node.epilogue), plan.kernel.header, "ec_conv_bfloat16.h"),
        work=candidate.work,
        blobs=(
            filters_blob(node, graph, order.elements, order.pack),
            bias_blob(node, graph, problem.out_c, lanes),
        ),
        aliases=residual_overwritten(node, graph) if residual != node.inputs[0] else (),
        workspace_bytes=candidate.workspace_bytes,
        macs=problem.macs,
        candidate=candidate,
        plan={
            "mr": plan.largest_rows,
            "nr": plan.vectors * lanes,
            "rows_per_panel": plan.chunk,
            "compute": candidate.compute,
            "predicted_slots": round(plan.cost),
        },
    )
