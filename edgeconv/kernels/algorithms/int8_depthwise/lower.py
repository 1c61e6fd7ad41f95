"""From a plan to the parameters of its template."""

from __future__ import annotations

from edgeconv.ir.choice import Layer
from edgeconv.ir.graph import Graph, Node
from edgeconv.ir.requantisation import Form
from edgeconv.kernels.algorithms.candidate import ConvCandidate
from edgeconv.kernels.algorithms.int8_depthwise.candidate import DepthwisePlan
from edgeconv.kernels.algorithms.int8_depthwise.packing import (
    Words,
    channel_words,
    has_zero_points,
    word_count,
)
from edgeconv.kernels.algorithms.layer import integer_layer
from edgeconv.kernels.algorithms.scaling import scaling_words
from edgeconv.kernels.algorithms.sums import filter_zeros, multiples
from edgeconv.kernels.lowering.work import Call
from edgeconv.target.targets import Target


def lower(
    candidate: ConvCandidate[DepthwisePlan], node: Node, graph: Graph, target: Target
) -> Layer:
    """The kernel call of a Conv node whose layouts are decided."""
    problem, plan, lanes = candidate.problem, candidate.plan, target.lanes
    each = scaling_words(graph)
    seen = problem.along_rows if plan.transposed else problem
    around = has_zero_points(problem, plan.row)
    once = node.epilogue.is_only_before and graph[node.output].storage.affine

    def words(form: Form) -> Words:
        filters = multiples(node, graph)
        filters = filters.swapaxes(-1, -2) if plan.transposed else filters
        zeros = filter_zeros(node, graph) if around else None
        return channel_words(filters, form, plan.row, plan.shape, lanes, four=once, zeros=zeros)

    return integer_layer(
        candidate,
        Call(node, graph, target),
        "depthwise_int8",
        params={
            "images": problem.batch,
            "channels": problem.in_c,
            "pixels": plan.pixels,
            "word": (plan.shape.down, plan.shape.across),
            "sharing": (plan.sharing.every, plan.sharing.fresh),
            "transposed": plan.transposed,
            "phases": plan.phases,
            "around": int(around),
            **problem.window,
            **problem.rings,
        },
        headers=(
            *(("ec_zero_points.h",) if around else ()),
            "ec_window.h",  # pools too have it in front of vectors of integers
            *(target.integers, plan.row.header),
            *("ec_requantise.h", "ec_conv_depthwise_int8.h"),
        ),
        words=(word_count(seen, plan.row, plan.shape, lanes, each, four=once), words),
        divides=problem.divides,
        workspace="panel",
        plan={
            "nr": lanes,
            "word": f"{plan.shape.down}x{plan.shape.across}",
            "pixels_per_panel": plan.pixels,
            **({"phases": plan.phases} if plan.phases else {}),
            "compute": candidate.compute,
        },
    )
