"""Element-wise functions: the kernel is an epilogue that reads its input from memory."""

from __future__ import annotations

from collections.abc import Sequence

from edgeconv.ir.choice import Layer
from edgeconv.ir.graph import Graph, Node
from edgeconv.lowering.calls import (
    activation_headers,
    epilogue_of,
    in_place,
    input_arg,
    output_arg,
    residual_args,
    storage_of,
)
from edgeconv.lowering.options import LayoutOption
from edgeconv.lowering.work import elementwise
from edgeconv.ops.kernels.images import same_everywhere
from edgeconv.targets import Target


def layouts(node: Node, graph: Graph, target: Target) -> Sequence[LayoutOption]:
    """Any, the same for input and output."""
    return same_everywhere(node, graph, target)


def lower(node: Node, graph: Graph, target: Target) -> Layer:
    """One flat loop over memory, channel padding included."""
    return Layer(
        node=node,
        algorithm="elementwise",
        template="ops/unary.c.j2",
        params={
            "elements": graph[node.output].elements,
            **storage_of(graph, x=node.inputs[0]),
            "epilogue": epilogue_of(node, graph),
        },
        args=(
            input_arg(graph, node.inputs[0], "x"),
            *residual_args(node, graph),
            output_arg(node, graph),
        ),
        headers=(*activation_headers(node.epilogue), "ec_unary.h"),
        work=elementwise(node, graph, target),
        aliases=in_place(node, graph, (node.inputs[0], node.epilogue.residual)),
    )
