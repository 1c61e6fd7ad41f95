"""From a plan to the parameters of its template."""

from __future__ import annotations

from edgeconv.algorithms.bfloat16.candidate import Bfloat16Candidate
from edgeconv.algorithms.packing import bias_blob, filters_blob, storage_params, weights_arg
from edgeconv.algorithms.rows.params import gemm_params
from edgeconv.ir.choice import Arg, ArgKind, Layer
from edgeconv.ir.graph import Graph, Node
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
            **gemm_params(problem, plan, lanes),
            "prefetch": target.prefetch,
            "epilogue": epilogue_of(node, graph),
            "residual": bool(residual),
            "filters_as": "EC_F32",  # they are multiplied as they are stored
            "units": filters["units"],
            "zero": 0,
            "requantise": (),
            "words_at": (),
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
