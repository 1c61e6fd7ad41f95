"""Determinants of square matrices."""

from __future__ import annotations

import math
from collections.abc import Sequence

from edgeconv.ir.choice import Layer
from edgeconv.ir.graph import Graph, Node
from edgeconv.kernels.lowering.calls import kernel_layer
from edgeconv.kernels.lowering.options import Stored
from edgeconv.kernels.lowering.work import Call
from edgeconv.kernels.ops.base import ImportContext, Operator, Source
from edgeconv.kernels.ops.importing import make_node
from edgeconv.target.targets import Target

_DOUBLE_BYTES = 8


def _import(source: Source, ctx: ImportContext) -> Sequence[Node]:
    shape = ctx.tensor(source.inputs[0]).shape
    if len(shape) < 2 or shape[-1] != shape[-2]:
        raise ctx.reject(source, f"input {list(shape)}", "matrices are square")
    return [make_node(source, "Det")]


def lower(node: Node, graph: Graph, target: Target) -> Layer:
    """One after the other, in double."""
    *outer, n, _ = graph[node.inputs[0]].shape
    call = Call(node, graph, target)
    return kernel_layer(
        call,
        "determinant",
        "ops/determinant.c.j2",
        operands={"in": node.inputs[0]},
        params={"count": math.prod(outer), "n": n},
        headers=("ec_determinant.h",),
        work=call.streams(float(math.prod(outer) * n**3)),
        workspace_bytes=_DOUBLE_BYTES * n * n,
        epilogue=False,
    )


OPERATOR = Operator(name="Det", onnx={"Det": _import}, lower=lower, stored=Stored.NOTHING)
