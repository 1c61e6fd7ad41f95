"""From a plan to the parameters of its template."""

from __future__ import annotations

from edgeconv.algorithms.candidate import ConvCandidate
from edgeconv.algorithms.int8_depthwise.candidate import DepthwisePlan
from edgeconv.algorithms.int8_depthwise.packing import Words, channel_words, word_count
from edgeconv.algorithms.layer import integer_layer
from edgeconv.algorithms.scaling import scaling_words
from edgeconv.algorithms.sums import multiples
from edgeconv.ir.choice import Layer
from edgeconv.ir.graph import Graph, Node
from edgeconv.lowering.work import Call
from edgeconv.requantisation import Form
from edgeconv.targets import Target


def lower(
    candidate: ConvCandidate[DepthwisePlan], node: Node, graph: Graph, target: Target
) -> Layer:
    """The kernel call of a Conv node whose layouts are decided."""
    problem, plan, lanes = candidate.problem, candidate.plan, target.lanes
    each = scaling_words(graph)
    once = node.epilogue.is_only_before and graph[node.output].storage.affine

    def words(form: Form) -> Words:
        return channel_words(multiples(node, graph), form, plan.row, lanes, four=once)

    return integer_layer(
        candidate,
        Call(node, graph, target),
        "depthwise_int8",
        params={
            "images": problem.batch,
            "channels": problem.in_c,
            "pixels": plan.pixels,
            **problem.window,
            **problem.rings,
        },
        headers=(
            "ec_window.h",  # pools too have it in front of vectors of integers
            *plan.row.headers,
            *("ec_requantise.h", "ec_conv_depthwise_int8.h"),
        ),
        words=(word_count(problem.in_c, problem.kernel, plan.row, lanes, each), words),
        divides=problem.divides,
        workspace="panel",
        plan={"nr": lanes, "pixels_per_panel": plan.pixels, "compute": candidate.compute},
    )
