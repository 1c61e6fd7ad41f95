"""Change of layout, inserted between operators that want different ones."""

from __future__ import annotations

from collections.abc import Sequence

from edgeconv.ir.choice import Layer
from edgeconv.ir.graph import Graph, Node
from edgeconv.ir.layout import ROW_MAJOR, Layout, Order, Shape
from edgeconv.lowering.calls import input_arg, output_arg, storage_of
from edgeconv.lowering.options import LayoutOption
from edgeconv.lowering.work import copying
from edgeconv.ops.kernels.images import layouts_of, pixels
from edgeconv.ops.kernels.moves import flat_copy
from edgeconv.ops.kernels.nest import is_blocked
from edgeconv.targets import Target

_NAMES = {Order.ROW_MAJOR: "nchw", Order.CHANNELS_LAST: "nhwc", Order.BLOCKED: "blocks"}


def layouts(node: Node, graph: Graph, target: Target) -> Sequence[LayoutOption]:
    """Every pair of different layouts; ``choose`` inserts the one that it needs."""
    offered = layouts_of(graph[node.output].shape, target)
    return [LayoutOption((a,), (b,)) for a in offered for b in offered if a != b]


def _is_prefix(shape: Shape, have: Layout, want: Layout) -> bool:
    """Whether the wanted bytes are the first ones of what is there."""
    if have.canonical(shape) == want.canonical(shape):
        return True
    dense = want.canonical(shape) == ROW_MAJOR
    return is_blocked(have) and dense and shape[0] == 1 and pixels(shape) == 1


def lower(node: Node, graph: Graph, target: Target) -> Layer:
    """A view where the bytes are the same ones, else transpositions image by image."""
    x, out = graph[node.inputs[0]], graph[node.output]
    have, want, shape = x.layout, out.layout, x.shape
    if _is_prefix(shape, have, want):
        return flat_copy(node, graph, target, out.elements)
    if x.storage != out.storage:
        raise ValueError(f"{node.name}: a conversion keeps the format")
    if is_blocked(have) and is_blocked(want):
        raise ValueError(f"{node.name}: no conversion from {have} to {want}")
    return Layer(
        node=node,
        algorithm="convert",
        template="ops/convert.c.j2",
        params={
            "source": _NAMES[have.order],
            "target": _NAMES[want.order],
            "images": shape[0],
            "channels": shape[1],
            "pixels": pixels(shape),
            "block": max(have.block, want.block),
            **storage_of(graph, out=out.name),
        },
        args=(input_arg(graph, x.name), output_arg(node, graph)),
        headers=("ec_lanes.h", "ec_copy.h", "ec_transpose.h", "ec_convert.h"),
        work=copying(node, graph, target),
    )
