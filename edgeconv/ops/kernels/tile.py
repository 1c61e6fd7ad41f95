"""Repetition along dimensions."""

from __future__ import annotations

from edgeconv.ir.choice import Layer
from edgeconv.ir.graph import Graph, Node
from edgeconv.lowering.options import row_major_only as layouts
from edgeconv.ops.kernels.moves import move_layer, plan_move
from edgeconv.ops.kernels.nest import dense_strides
from edgeconv.targets import Target

__all__ = ["layouts", "lower"]


def lower(node: Node, graph: Graph, target: Target) -> Layer:
    """A move with two loops per dimension: the repeats, which stay in place, and the input."""
    x = graph[node.inputs[0]]
    sizes: list[int] = []
    strides: list[int] = []
    for repeat, size, stride in zip(
        node.attrs["repeats"], x.shape, dense_strides(x.shape), strict=True
    ):
        sizes += [int(repeat), size]
        strides += [0, stride]
    return move_layer(node, graph, target, plan_move(sizes, strides, dense_strides(sizes)))
