"""Broadcast to the output's shape."""

from __future__ import annotations

from collections.abc import Sequence

from edgeconv.ir.choice import Layer
from edgeconv.ir.graph import Graph, Node
from edgeconv.ir.layout import ROW_MAJOR
from edgeconv.kernels.lowering.moves import move_layer, plan_move
from edgeconv.kernels.lowering.nest import broadcast_strides, dense_strides
from edgeconv.kernels.lowering.options import Stored
from edgeconv.kernels.ops.base import ImportContext, Operator, Source
from edgeconv.kernels.ops.importing import make_node
from edgeconv.target.targets import Target


def _import_expand(source: Source, ctx: ImportContext) -> Sequence[Node]:
    data = source.inputs[:1]
    same = ctx.tensor(data[0]).shape == ctx.tensor(source.outputs[0]).shape
    return [make_node(source, "Identity" if same else "Expand", data)]


def lower(node: Node, graph: Graph, target: Target) -> Layer:
    """A move that stays in place along broadcast dimensions."""
    x, out = graph[node.inputs[0]], graph[node.output]
    strides = broadcast_strides(x.shape, ROW_MAJOR, out.shape, ROW_MAJOR)
    return move_layer(node, graph, target, plan_move(out.shape, strides, dense_strides(out.shape)))


OPERATOR = Operator(name="Expand", onnx={"Expand": _import_expand}, lower=lower, stored=Stored.BOTH)
