"""Element-wise functions: the kernel is an epilogue that reads its input from memory."""

from __future__ import annotations

from collections.abc import Sequence

from edgeconv.ir.choice import Arg, ArgKind, Layer
from edgeconv.ir.graph import Graph, Node
from edgeconv.ops.base import LayoutOption
from edgeconv.ops.kernels.images import same_everywhere
from edgeconv.ops.lowering import (
    activation_headers,
    epilogue_param,
    in_place,
    output_arg,
    residual_args,
)
from edgeconv.targets import Target


def layouts(node: Node, graph: Graph, target: Target) -> Sequence[LayoutOption]:
    """Any, the same for input and output."""
    return same_everywhere(node, graph, target)


def lower(node: Node, graph: Graph, target: Target) -> Layer:
    """One flat loop over memory, channel padding included."""
    del target
    return Layer(
        node=node,
        algorithm="elementwise",
        template="ops/unary.c.j2",
        params={
            "elements": graph[node.output].elements,
            "epilogue": epilogue_param(node.epilogue),
        },
        args=(Arg(ArgKind.INPUT, "x", node.inputs[0]), *residual_args(node), output_arg(node)),
        headers=(*activation_headers(node.epilogue), "ec_unary.h"),
        aliases=in_place(node, graph, (node.inputs[0], node.epilogue.residual)),
    )
