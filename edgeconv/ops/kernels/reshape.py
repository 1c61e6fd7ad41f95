"""Reshape, and Identity: the same memory under another shape or name."""

from __future__ import annotations

from collections.abc import Sequence

from edgeconv.ir.choice import Layer
from edgeconv.ir.graph import Graph, Node
from edgeconv.ir.layout import ROW_MAJOR
from edgeconv.lowering.options import LayoutOption
from edgeconv.ops.kernels.images import layouts_of
from edgeconv.ops.kernels.moves import flat_copy
from edgeconv.targets import Target


def layouts(node: Node, graph: Graph, target: Target) -> Sequence[LayoutOption]:
    """Row-major; any where only the spatial dimensions are regrouped."""
    before, after = graph[node.inputs[0]].shape, graph[node.output].shape
    kept = len(before) > 2 and len(after) > 2 and before[:2] == after[:2]
    offered = layouts_of(after, target) if kept else (ROW_MAJOR,)
    return [LayoutOption((layout,), (layout,)) for layout in offered]


def lower(node: Node, graph: Graph, target: Target) -> Layer:
    """A view of the whole input."""
    return flat_copy(node, graph, target, graph[node.output].elements)
