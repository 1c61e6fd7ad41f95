"""Broadcasting as a copy."""

from __future__ import annotations

from edgeconv.ir.choice import Layer
from edgeconv.ir.graph import Graph, Node
from edgeconv.ir.layout import ROW_MAJOR
from edgeconv.lowering.options import row_major_only as layouts
from edgeconv.ops.kernels.moves import move_layer, plan_move
from edgeconv.ops.kernels.nest import broadcast_strides, dense_strides
from edgeconv.targets import Target

__all__ = ["layouts", "lower"]


def lower(node: Node, graph: Graph, target: Target) -> Layer:
    """A move that stays in place along broadcast dimensions."""
    x, out = graph[node.inputs[0]], graph[node.output]
    strides = broadcast_strides(x.shape, ROW_MAJOR, out.shape, ROW_MAJOR)
    return move_layer(node, graph, target, plan_move(out.shape, strides, dense_strides(out.shape)))
