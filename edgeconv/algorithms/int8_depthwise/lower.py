"""From a plan to the parameters of its template."""

from __future__ import annotations

from edgeconv.algorithms.candidate import ConvCandidate
from edgeconv.algorithms.int8_depthwise.candidate import DepthwisePlan
from edgeconv.algorithms.int8_depthwise.packing import channel_words, word_count
from edgeconv.algorithms.sums import form_of, multiples, requantised, result_of
from edgeconv.ir.choice import Arg, ArgKind, Blob, Layer
from edgeconv.ir.graph import Graph, Node
from edgeconv.lowering.calls import (
    activation_headers,
    blob_arg,
    input_arg,
    output_arg,
    residual_args,
    residual_overwritten,
)
from edgeconv.targets import Target


def lower(
    candidate: ConvCandidate[DepthwisePlan], node: Node, graph: Graph, target: Target
) -> Layer:
    """The kernel call of a Conv node whose layouts are decided."""
    problem, plan, lanes = candidate.problem, candidate.plan, target.lanes
    form, result = form_of(node, graph), result_of(node, graph)
    assert form is not None, node.name
    assert result is not None, node.name
    residual = node.epilogue.residual
    once = node.epilogue.is_only_before and graph[node.output].storage.affine
    blob = Blob(
        "channels",
        word_count(problem.in_c, problem.kernel, plan.row, lanes),
        lambda: channel_words(multiples(node, graph), form, plan.row, lanes, four=once),
        dtype="int32",
    )
    return Layer(
        node=node,
        algorithm=candidate.algorithm,
        template="conv/depthwise_int8.c.j2",
        params={
            "images": problem.batch,
            "channels": problem.in_c,
            "zero": problem.in_as.zero[0],
            "pixels": plan.pixels,
            "residual": bool(residual),
            "requantise": requantised(node, graph, form),
            "result_scale": result.scale[0],
            **problem.window,
            **problem.rings,
        },
        args=(
            input_arg(graph, node.inputs[0]),
            blob_arg("words", blob),
            *residual_args(node, graph),
            output_arg(node, graph),
            Arg(ArgKind.WORKSPACE, "panel"),
        ),
        headers=(
            *activation_headers(node.epilogue),
            *plan.row.headers,
            *("ec_window.h", "ec_requantise.h", "ec_conv_depthwise_int8.h"),
        ),
        work=candidate.work,
        blobs=(blob,),
        aliases=residual_overwritten(node, graph) if residual != node.inputs[0] else (),
        workspace_bytes=candidate.workspace_bytes,
        macs=problem.macs,
        divides=problem.divides,
        candidate=candidate,
        plan={"nr": lanes, "pixels_per_panel": plan.pixels, "compute": candidate.compute},
    )
