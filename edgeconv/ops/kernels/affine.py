"""Scale and shift per channel (batch normalisation at inference)."""

from __future__ import annotations

import math
from collections.abc import Sequence

from edgeconv.ir.choice import Arg, ArgKind, Layer, Param
from edgeconv.ir.graph import Graph, Node
from edgeconv.ir.layout import Layout, Order, Shape
from edgeconv.lowering.calls import (
    activation_headers,
    constant_blob,
    epilogue_of,
    in_place,
    input_arg,
    output_arg,
    residual_args,
    storage_of,
)
from edgeconv.lowering.options import LayoutOption
from edgeconv.lowering.work import elementwise
from edgeconv.ops.kernels.images import pixels, same_everywhere
from edgeconv.ops.kernels.nest import is_blocked
from edgeconv.targets import Target


def layouts(node: Node, graph: Graph, target: Target) -> Sequence[LayoutOption]:
    """Any, the same for input and output."""
    return same_everywhere(node, graph, target)


def _loops(shape: Shape, layout: Layout) -> dict[str, Param]:
    """Which loop nest of ec_affine.h, and its sizes."""
    if layout.order is Order.ROW_MAJOR and pixels(shape) > 1:
        return {"rows": True, "sizes": (shape[0], shape[1], pixels(shape))}
    n, count = shape[0], pixels(shape)
    if is_blocked(layout):
        blocks = math.ceil(shape[1] / layout.block)
        return {"rows": False, "sizes": (n, blocks, count, layout.block)}
    return {"rows": False, "sizes": (1, 1, n * count, shape[1])}


def lower(node: Node, graph: Graph, target: Target) -> Layer:
    """The channel vectors are padded like the tensor's channels."""
    x, out = graph[node.inputs[0]], graph[node.output]
    channels = (1, x.shape[1], 1)  # packed like a tensor of one pixel
    blobs = tuple(
        constant_blob(c_name, graph[name].constant().reshape(channels), out.layout)
        for c_name, name in zip(("scale", "shift"), node.inputs[1:3], strict=True)
    )
    return Layer(
        node=node,
        algorithm="elementwise",
        template="ops/affine.c.j2",
        params={
            **_loops(x.shape, out.layout),
            **storage_of(graph, x=x.name),
            "epilogue": epilogue_of(node, graph),
        },
        args=(
            input_arg(graph, node.inputs[0], "x"),
            Arg(ArgKind.WEIGHTS, "scale", "scale"),
            Arg(ArgKind.WEIGHTS, "shift", "shift"),
            *residual_args(node, graph),
            output_arg(node, graph),
        ),
        headers=(*activation_headers(node.epilogue), "ec_affine.h"),
        work=elementwise(node, graph, target, blobs),
        blobs=blobs,
        aliases=in_place(node, graph, (node.inputs[0], node.epilogue.residual)),
        macs=0,
    )
