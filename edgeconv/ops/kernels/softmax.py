"""Softmax and log-softmax over one axis."""

from __future__ import annotations

import math

from edgeconv.ir.choice import Arg, ArgKind, Layer
from edgeconv.ir.graph import Graph, Node
from edgeconv.lowering.calls import in_place, output_arg
from edgeconv.lowering.options import row_major_only as layouts
from edgeconv.lowering.work import Call
from edgeconv.targets import Target

# Slots by counting in the kernel: exponential, maximum, sum and product of a vector; of a row, two
# reductions across lanes and a division, each waiting for the one before.
_VECTOR, _ROW = 30, 300

__all__ = ["layouts", "lower"]


def lower(node: Node, graph: Graph, target: Target) -> Layer:
    """Vectors along the axis where it is innermost, across it elsewhere."""
    shape, axis = graph[node.output].shape, int(node.attrs["axis"])
    rows = math.prod(shape[:axis])
    vectors = rows * -(-math.prod(shape[axis:]) // target.lanes)
    log = bool(node.attrs.get("log"))
    return Layer(
        node=node,
        algorithm="log_softmax" if log else "softmax",
        template="ops/softmax.c.j2",
        params={
            "outer": rows,
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
        work=Call(node, graph, target).streams(_VECTOR * vectors + _ROW * rows, times=2.0),
        aliases=in_place(node, graph, (node.inputs[0],)),
    )
