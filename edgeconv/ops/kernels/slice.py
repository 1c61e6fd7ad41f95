"""Regular sub-arrays."""

from __future__ import annotations

from collections.abc import Sequence

from edgeconv.ir.choice import Layer
from edgeconv.ir.graph import Graph, Node
from edgeconv.ir.layout import Layout, Order
from edgeconv.lowering.options import LayoutOption
from edgeconv.ops.kernels.images import layouts_of
from edgeconv.ops.kernels.moves import Move, move_layer, plan_move
from edgeconv.ops.kernels.nest import dense_strides
from edgeconv.targets import Target


def _physical(values: Sequence[int], layout: Layout, lane: int) -> tuple[int, ...]:
    """Per-dimension numbers in memory order; ``lane`` is that of the lanes of a channel block."""
    if layout.order is Order.ROW_MAJOR:
        return tuple(values)
    n, c, *spatial = values
    return (n, *spatial, c) if layout.order is Order.CHANNELS_LAST else (n, c, *spatial, lane)


def _move(node: Node, graph: Graph, layout: Layout) -> Move:
    x, out = graph[node.inputs[0]], graph[node.output]
    starts, steps = list(node.attrs["starts"]), list(node.attrs["steps"])
    if layout.order is Order.BLOCKED:
        starts[1] //= layout.block
    strides = dense_strides(layout.physical_shape(x.shape))
    moves = [s * t for s, t in zip(strides, _physical(steps, layout, 1), strict=True)]
    begins = zip(strides, _physical(starts, layout, 0), strict=True)
    sizes = layout.physical_shape(out.shape)
    return plan_move(sizes, moves, dense_strides(sizes), sum(s * b for s, b in begins))


def layouts(node: Node, graph: Graph, target: Target) -> Sequence[LayoutOption]:
    """Any layout, blocked only where the channels kept start with a block."""
    shape = graph[node.output].shape
    options = []
    for layout in layouts_of(shape, target):
        if layout.order is Order.BLOCKED and (
            node.attrs["starts"][1] % layout.block or node.attrs["steps"][1] != 1
        ):
            continue
        moved = 0.0 if _move(node, graph, layout).is_block else 2.0 * layout.elements(shape)
        options.append(LayoutOption((layout,), (layout,), moved))
    return options


def lower(node: Node, graph: Graph, target: Target) -> Layer:
    """A move; a view where the kept part is contiguous."""
    return move_layer(node, graph, target, _move(node, graph, graph[node.output].layout))
