"""Reductions over any dimensions."""

from __future__ import annotations

import math
from collections.abc import Sequence

from edgeconv.ir.choice import Layer, Param
from edgeconv.ir.graph import Graph, Node
from edgeconv.ir.layout import ROW_MAJOR, Layout, Order
from edgeconv.lowering.calls import (
    activation_headers,
    epilogue_of,
    input_arg,
    output_arg,
    residual_args,
    residual_in_place,
    storage_of,
)
from edgeconv.lowering.options import LayoutOption
from edgeconv.lowering.work import Call
from edgeconv.ops.kernels.images import layouts_of
from edgeconv.ops.kernels.nest import collapse, dense_strides, require_loops
from edgeconv.targets import Target


def _written(node: Node, graph: Graph, layout: Layout) -> Layout | None:
    """The layout of the result of reducing memory in ``layout``; None where it has no name."""
    shape, axes = graph[node.inputs[0]].shape, tuple(node.attrs["axes"])
    if layout == ROW_MAJOR:
        return ROW_MAJOR
    if layout.order is Order.BLOCKED and 1 in axes:
        return None
    if node.attrs["keepdims"]:
        return layout
    pixels_only = axes == tuple(range(2, len(shape)))
    return ROW_MAJOR if pixels_only and shape[1] % layout.block == 0 else None


def layouts(node: Node, graph: Graph, target: Target) -> Sequence[LayoutOption]:
    """Row-major; others where what remains of them is a layout too."""
    options = []
    for layout in layouts_of(graph[node.inputs[0]].shape, target):
        written = _written(node, graph, layout)
        if written is not None:
            residual = (written,) if node.epilogue.residual else ()
            options.append(LayoutOption((layout, *residual), (written,)))
    return options


def _physical_axes(node: Node, rank: int, layout: Layout) -> frozenset[int]:
    """The reduced dimensions in memory order; channel blocks leave the others where they are."""
    axes = frozenset(int(axis) for axis in node.attrs["axes"])
    if layout.order is not Order.CHANNELS_LAST:
        return axes
    return frozenset(rank - 1 if a == 1 else a if a == 0 else a - 1 for a in axes)


def _loops(node: Node, graph: Graph) -> tuple[str, dict[str, Param]]:
    """Which kernel, and its loops: those that remain move the output, those reduced do not."""
    x = graph[node.inputs[0]]
    sizes = x.layout.physical_shape(x.shape)
    reduced = _physical_axes(node, len(x.shape), x.layout)
    remaining = dense_strides([1 if d in reduced else size for d, size in enumerate(sizes)])
    moves = [0 if d in reduced else step for d, step in enumerate(remaining)]
    nest = collapse(sizes, dense_strides(sizes), moves)
    loops = list(zip(nest.sizes, *nest.strides, strict=True))
    # the innermost elements are neighbours in memory; a single element counts as reduced
    inner_size, _, inner_move = loops.pop()
    kept = [(size, step) for size, step, move in loops if move] or [(1, 0)]
    below = [(size, step) for size, step, move in loops if not move] or [(1, 0)]
    require_loops(node, max(len(kept), len(below)))
    return "columns" if inner_move else "rows", {
        "kept": tuple(size for size, _ in kept),
        "kept_strides": tuple(stride for _, stride in kept),
        "reduced": tuple(size for size, _ in below),
        "reduced_strides": tuple(stride for _, stride in below),
        "n": inner_size,
    }


def lower(node: Node, graph: Graph, target: Target) -> Layer:
    """Loops over memory: vectors along what remains where that is innermost, else along sums."""
    shape, call = graph[node.inputs[0]].shape, Call(node, graph, target)
    kernel, loops = _loops(node, graph)
    return Layer(
        node=node,
        algorithm=f"reduce_{kernel}",
        template="ops/reduce.c.j2",
        params={
            "kernel_function": kernel,
            "kind": str(node.attrs["kind"]),
            "factor": 1.0 / max(math.prod(shape[a] for a in node.attrs["axes"]), 1),
            **loops,
            **storage_of(graph, **{"in": node.inputs[0]}),
            "epilogue": epilogue_of(node, graph),
        },
        args=(
            input_arg(graph, node.inputs[0]),
            *residual_args(node, graph),
            output_arg(node, graph),
        ),
        headers=(*activation_headers(node.epilogue), "ec_nest.h", "ec_reduce.h"),
        work=call.streams(call.in_vectors),
        aliases=residual_in_place(node, graph),
    )
