"""From an integer candidate to its kernel call."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from edgeconv.algorithms.candidate import ConvCandidate
from edgeconv.algorithms.integer.candidate import IntegerPlan
from edgeconv.algorithms.integer.packing import (
    DEPTHWISE_CHANNELS,
    DEPTHWISE_WORDS,
    QUAD,
    channel_words,
    depthwise_words,
    in_quads,
)
from edgeconv.algorithms.packing import filters_blob
from edgeconv.algorithms.sums import form_of, multiples
from edgeconv.ir.choice import Arg, ArgKind, Blob, Layer, Param
from edgeconv.ir.graph import Graph, Node
from edgeconv.lowering.calls import input_arg, output_arg
from edgeconv.requantisation import Fixed
from edgeconv.targets import Target

PAIR, FOUR = 2, 4  # filters that are computed together, of a convolution and of a dense layer
_HEADERS = ("ec_int8_channels.h",)
_IMAGES = (*_HEADERS, "ec_window.h", "ec_int8_panel.h")


def lower(candidate: ConvCandidate[IntegerPlan], node: Node, graph: Graph, target: Target) -> Layer:
    """The kernel call of a Conv node."""
    del target
    problem, form = candidate.problem, _form(node, graph)
    if candidate.plan.is_depthwise:
        fours = -(-problem.out_c // DEPTHWISE_CHANNELS)
        filters = multiples(node, graph)
        words = _words(fours * DEPTHWISE_WORDS, lambda: depthwise_words(filters, form))
        blobs: tuple[Blob, ...] = (words,)
        header = "ec_int8_depthwise.h"
    else:
        blobs = (_filters(node, graph, PAIR), _channels(form, PAIR))
        header = "ec_int8_tile.h"
    arguments = (*(_weights(blob) for blob in blobs),)
    return Layer(
        node=node,
        algorithm=candidate.algorithm,
        template="conv/integer.c.j2",
        params={
            "kernel_function": candidate.plan.kernel,
            "images": problem.batch,
            **problem.window,
            **problem.rings,
            "channels": (problem.in_c, problem.out_c),
            "has_filters": len(blobs) > 1,
            **_result(form, graph[node.inputs[0]].storage.zero[0]),
        },
        args=(
            input_arg(graph, node.inputs[0]),
            *arguments,
            output_arg(node, graph),
            Arg(ArgKind.WORKSPACE, "workspace"),
        ),
        headers=(*_IMAGES, header),
        work=candidate.work,
        blobs=blobs,
        workspace_bytes=candidate.workspace_bytes,
        macs=problem.macs,
        divides=problem.divides,
        candidate=candidate,
        plan={"right": form.right},
    )


def lower_dense(
    candidate: ConvCandidate[IntegerPlan], node: Node, graph: Graph, target: Target
) -> Layer:
    """The kernel call of a Dense node."""
    del target
    problem, form = candidate.problem, _form(node, graph)
    blobs = (_filters(node, graph, FOUR), _channels(form, FOUR))
    return Layer(
        node=node,
        algorithm=candidate.algorithm,
        template="ops/dense_integer.c.j2",
        params={
            "rows": math.prod(problem.out_size),
            "channels": (problem.in_c, problem.out_c),
            **_result(form, 0),
        },
        args=(
            input_arg(graph, node.inputs[0]),
            *(_weights(blob) for blob in blobs),
            output_arg(node, graph),
        ),
        headers=(*_HEADERS, "ec_int8_dot.h"),
        work=candidate.work,
        blobs=blobs,
        macs=problem.macs,
        candidate=candidate,
        plan={"right": form.right},
    )


def _form(node: Node, graph: Graph) -> Fixed:
    form = form_of(node, graph)
    assert form is not None, node.name
    return form


def _result(form: Fixed, padding: int) -> dict[str, Param]:
    return {
        "padding": padding,
        "offset": form.offset,
        "right": form.right,
        "low": form.low,
        "high": form.high,
    }


def _filters(node: Node, graph: Graph, together: int) -> Blob:
    out_c, *window = graph[node.inputs[1]].shape
    quads = -(-math.prod(window) // QUAD)
    elements = -(-out_c // together) * together * quads * QUAD
    return filters_blob(node, graph, elements, lambda weights: in_quads(weights, together))


def _channels(form: Fixed, together: int) -> Blob:
    count = 2 * -(-len(form.start) // together) * together
    return _words(count, lambda: channel_words(form, together))


def _words(elements: int, pack: Callable[[], npt.NDArray[np.int32]]) -> Blob:
    return Blob("channels", elements, pack, dtype="int32")


def _weights(blob: Blob) -> Arg:
    """The pointer to a constant."""
    c_type = "int32_t" if blob.dtype == "int32" else "unsigned char"
    return Arg(ArgKind.WEIGHTS, blob.name, blob.name, c_type)
