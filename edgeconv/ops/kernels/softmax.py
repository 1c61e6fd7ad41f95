"""Softmax and log-softmax over one axis."""

from __future__ import annotations

import math

from edgeconv.ir.choice import Arg, ArgKind, Layer
from edgeconv.ir.graph import Graph, Node
from edgeconv.ops.base import row_major_only as layouts
from edgeconv.ops.lowering import in_place, output_arg
from edgeconv.targets import Target

__all__ = ["layouts", "lower"]


def lower(node: Node, graph: Graph, target: Target) -> Layer:
    """Vectors along the axis where it is innermost, across it elsewhere."""
    del target
    shape, axis = graph[node.output].shape, int(node.attrs["axis"])
    log = bool(node.attrs.get("log"))
    return Layer(
        node=node,
        algorithm="log_softmax" if log else "softmax",
        template="ops/softmax.c.j2",
        params={
            "outer": math.prod(shape[:axis]),
            "n": shape[axis],
            "inner": math.prod(shape[axis + 1 :]),
            "log": log,
        },
        args=(Arg(ArgKind.INPUT, "x", node.inputs[0]), output_arg(node, graph)),
        headers=(
            *("ec_poly.h", "ec_exp.h"),
            *(("ec_log.h",) if log else ()),
            *("ec_lanes.h", "ec_softmax.h"),
        ),
        aliases=in_place(node, graph, (node.inputs[0],)),
    )
