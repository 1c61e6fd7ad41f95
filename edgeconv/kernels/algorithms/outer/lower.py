"""From a plan to the parameters of its template."""

from __future__ import annotations

import math

from edgeconv.ir.choice import Layer
from edgeconv.ir.graph import Graph, Node
from edgeconv.kernels.algorithms.filter_order import FilterOrder
from edgeconv.kernels.algorithms.layer import conv_layer
from edgeconv.kernels.algorithms.outer.candidate import OuterCandidate
from edgeconv.kernels.algorithms.outer.plan import WORD_BYTES
from edgeconv.kernels.lowering.calls import residual_overwritten
from edgeconv.kernels.lowering.work import Call
from edgeconv.target.targets import Target


def lower(candidate: OuterCandidate, node: Node, graph: Graph, target: Target) -> Layer:
    """The kernel call of a Conv node whose input and output are NCHW."""
    problem, plan = candidate.problem, candidate.plan
    unit = plan.kernel.outer
    assert unit is not None, plan.kernel.name
    order = FilterOrder(
        groups=problem.groups,
        out_c=problem.group_out_c,
        in_c=problem.group_in_c,
        taps=math.prod(problem.kernel),
        widths=plan.widths,
        nc=problem.group_in_c,
        block=problem.group_in_c,
    )
    return conv_layer(
        candidate,
        Call(node, graph, target),
        "outer",
        params={
            **problem.window,
            "batch": problem.batch,
            "groups": problem.groups,
            "in_c": problem.group_in_c,
            "out_c": problem.group_out_c,
            "in_place": plan.in_place,
            "phases": plan.phases,
            "rows": plan.rows,
            "held": plan.held,
            "pitch": plan.pitch,
            "alone": plan.alone,
            "planes_at": plan.offsets_bytes(problem) // WORD_BYTES,
            "group_filters": order.elements // problem.groups,
            "residual": bool(node.epilogue.residual),
        },
        headers=("ec_window.h", "ec_outer.h", unit.header, "ec_conv_outer.h"),
        filters=(order.elements, order.pack),
        pieces=order.tiles,
        pointers=("filters", "workspace"),
        aliases=residual_overwritten(node, graph),
        plan={
            "rows": plan.rows,
            "mr": max(plan.widths),
            "pitch": plan.pitch,
            "predicted_slots": round(plan.cost),
        },
    )
