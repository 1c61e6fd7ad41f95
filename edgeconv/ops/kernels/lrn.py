"""Local response normalisation across channels."""

from __future__ import annotations

from collections.abc import Sequence

from edgeconv.ir.choice import Arg, ArgKind, Blob, Layer
from edgeconv.ir.graph import Graph, Node
from edgeconv.ir.layout import Order
from edgeconv.ops.base import LayoutOption
from edgeconv.ops.kernels.images import layouts_of, padding, pixels
from edgeconv.ops.kernels.nest import is_blocked
from edgeconv.ops.lowering import (
    FLOAT_BYTES,
    activation_headers,
    epilogue_param,
    in_place,
    merge_headers,
    output_arg,
    read_arg,
    residual_args,
)
from edgeconv.targets import Target

_ROOTS = (0.5, 0.75, 1.0)  # powers that ec_lrn.h makes of square roots
_POW_HEADERS = ("ec_poly.h", "ec_exp.h", "ec_log.h", "ec_pow.h", "ec_lrn.h")


def layouts(node: Node, graph: Graph, target: Target) -> Sequence[LayoutOption]:
    """Any, the same for input and output."""
    shape = graph[node.output].shape
    return [
        LayoutOption((layout,) * len(node.reads()), (layout,), padding(shape, layout))
        for layout in layouts_of(shape, target)
    ]


def lower(node: Node, graph: Graph, target: Target) -> Layer:
    """Vectors of pixels for row-major tensors, of channels for the others."""
    x, out = graph[node.inputs[0]], graph[node.output]
    lanes, size = target.lanes, int(node.attrs["size"])
    channels, area = x.shape[1], pixels(x.shape)
    rows = out.layout.order is Order.ROW_MAJOR
    beside = -(-channels // lanes) * lanes  # channels as whole vectors
    line = (channels + size - 1) * lanes if rows else beside + size - 1
    blobs: list[Blob] = []
    beta = float(node.attrs["beta"])
    return Layer(
        node=node,
        algorithm="lrn",
        template="ops/lrn.c.j2",
        params={
            "size": size,
            "alpha_by_size": float(node.attrs["alpha"]) / size,
            "beta": beta,
            "bias": float(node.attrs["bias"]),
            "sizes": (x.shape[0], channels, area),
            "vector": 0 if rows else (area * lanes if is_blocked(out.layout) else lanes),
            "blocked": is_blocked(out.layout),
            "epilogue": epilogue_param(node.epilogue),
        },
        args=(
            read_arg(graph, node.inputs[0], "in", blobs),
            *residual_args(node),
            output_arg(node),
            Arg(ArgKind.WORKSPACE, "workspace"),
        ),
        headers=merge_headers(
            [
                (*activation_headers(node.epilogue), "ec_lrn.h"),
                () if beta in _ROOTS else _POW_HEADERS,
            ]
        ),
        blobs=tuple(blobs),
        aliases=in_place(node, graph, (node.inputs[0], node.epilogue.residual)),
        workspace_bytes=line * FLOAT_BYTES,
    )
