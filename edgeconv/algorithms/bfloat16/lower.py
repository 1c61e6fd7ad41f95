"""From a plan to the parameters of its template."""

from __future__ import annotations

from edgeconv.algorithms.bfloat16.candidate import Bfloat16Candidate
from edgeconv.algorithms.bfloat16.plan import Bfloat16Plan
from edgeconv.algorithms.cut import Cut
from edgeconv.algorithms.packing import bias_blob, filters_blob, storage_params, weights_arg
from edgeconv.algorithms.problem import ConvProblem, Geometry
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
from edgeconv.micro_kernels.base import Lies
from edgeconv.targets import Target


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
    in_vec = lanes if in_last else source.block_stride
    panel = plan.panel
    return {
        **problem.window,
        "in_size": in_size,
        "out_size": (0, 0, 0),
        "source": (source.block, source.block_stride, in_vec, *in_rows, source.pixel),
        "in_batch": source.batch,
        "panel": (panel.pairs, panel.rows, panel.row_stride, panel.column_stride)
        + (panel.phases, panel.wide, int(plan.kernel.lies is Lies.PACKED)),
        "out_batch": result.batch,
        "out_group": problem.group_out_c if out_last else blocks * result.block_stride,
        "out_slice": out_rows[0],
        "out_line": out_rows[1],
        "out_row": result.pixel,
        "out_vec": lanes if out_last else result.block_stride,
    }


def _loop_params(problem: ConvProblem, plan: Bfloat16Plan, lanes: int) -> dict[str, Param]:
    """Tiles, strips and the order of loops of ec_gemm.h: a line is an output row."""
    padded = problem.out_layout.order is Order.BLOCKED
    stored = -(-problem.group_out_c // lanes) * lanes if padded else problem.group_out_c
    filters = Cut.into(stored, plan.vectors * lanes)
    return {
        "micro_kernel": plan.kernel.enumerator,
        "row_multiple": plan.kernel.row_multiple,
        "packing": "EC_PACK_ROWS",
        "batch": problem.batch,
        "groups": problem.groups,
        "in_c": problem.group_in_c,
        "out_c": problem.group_out_c,
        "nc": problem.group_in_c,
        "k": plan.kernel.k,
        "slices": plan.planes,
        "lines": plan.rows,
        "filters": filters.members,
        "pixels": plan.strips.members,
        "narrow_pixels": plan.tail_strips.members if plan.tail_vectors else (),
        "last_pixels": 0,
        "lines_far": plan.rows,
        "tiles_far": filters.pieces,
        "chunk": plan.chunk,
        "tiles_near": 1,
        "residual_first": False,
        "decoded_at": 0,
    }


def lower(candidate: Bfloat16Candidate, node: Node, graph: Graph, target: Target) -> Layer:
    """The kernel call of a Conv node whose layouts are decided."""
    problem, plan, lanes = candidate.problem, candidate.plan, target.lanes
    order = plan.order(problem, lanes)
    residual = node.epilogue.residual
    filters = storage_params(node, problem.out_c, lanes)
    return Layer(
        node=node,
        algorithm=candidate.algorithm,
        template="conv/gemm.c.j2",
        params={
            **_geometry_params(problem, plan, lanes),
            **_loop_params(problem, plan, lanes),
            "prefetch": target.prefetch,
            "epilogue": epilogue_of(node, graph),
            "residual": bool(residual),
            "filters_as": "EC_F32",  # they are multiplied as they are stored
            "units": filters["units"],
            **storage_of(graph, **{"in": node.inputs[0]}, out=node.output, residual=residual),
        },
        args=(
            input_arg(graph, node.inputs[0]),
            weights_arg(node, "filters"),
            Arg(ArgKind.WEIGHTS, "bias", "bias"),
            *residual_args(node, graph),
            output_arg(node, graph),
            Arg(ArgKind.WORKSPACE, "panels"),
        ),
        headers=(
            *activation_headers(node.epilogue),
            plan.kernel.header,
            *(
                "ec_decode.h",
                "ec_window.h",
                "ec_pack_rows.h",
                "ec_micro_kernel.h",
                "ec_gemm_spec.h",
                "ec_gemm.h",
            ),
        ),
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
