"""From a plan to the parameters of its template."""

from __future__ import annotations

from edgeconv.ir.choice import Layer
from edgeconv.ir.graph import Graph, Node
from edgeconv.kernels.algorithms.layer import conv_layer
from edgeconv.kernels.algorithms.rows.candidate import RowsCandidate
from edgeconv.kernels.algorithms.rows.params import HEADERS, displayed, gemm_params
from edgeconv.kernels.lowering.calls import residual_overwritten
from edgeconv.kernels.lowering.work import Call
from edgeconv.target.targets import Target


def lower(candidate: RowsCandidate, node: Node, graph: Graph, target: Target) -> Layer:
    """The kernel call of a Conv node whose layouts are decided."""
    problem, plan, lanes = candidate.problem, candidate.plan, target.lanes
    order = plan.order(problem, lanes)
    residual = node.epilogue.residual
    return conv_layer(
        candidate,
        Call(node, graph, target),
        "gemm",
        params={
            **gemm_params(problem, plan, lanes),
            "prefetch": plan.fetches(target),
            "residual": bool(residual),
            "filters_as": "EC_F32",  # they are multiplied as they are stored
            "zero": 0,
            "requantise": (),
            "words_at": (),
        },
        headers=(
            plan.kernel.header,
            *HEADERS,
            *("ec_gemm_spec.h", "ec_gemm.h"),
        ),
        filters=(order.elements, order.pack),
        pointers=("filters", "panels"),
        aliases=residual_overwritten(node, graph),
        plan=displayed(candidate, lanes),
    )
