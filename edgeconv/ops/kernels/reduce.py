"""Reductions: loops over memory, each of them kept or reduced."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import groupby

from edgeconv.ir.choice import Blob, Layer, Param
from edgeconv.ir.graph import Graph, Node
from edgeconv.ir.layout import ROW_MAJOR, Layout, Order, Shape
from edgeconv.ops.base import LayoutOption
from edgeconv.ops.kernels.images import layouts_of
from edgeconv.ops.kernels.nest import MOST_LOOPS, Nest, dense_strides, is_blocked
from edgeconv.ops.lowering import (
    activation_headers,
    epilogue_param,
    output_arg,
    read_arg,
    residual_args,
    residual_in_place,
)
from edgeconv.targets import Target


def _written_layout(node: Node, shape: Shape, out: Shape, layout: Layout) -> Layout | None:
    """The layout of a result whose elements follow each other as in the input, if it has one."""
    axes = set(node.attrs["axes"])
    if layout == ROW_MAJOR:
        return ROW_MAJOR
    if is_blocked(layout) and 1 in axes:
        return None
    if len(out) == len(shape) or (len(out) > 2 and not axes & {0, 1}):
        return layout
    pixels_left = any(d not in axes for d in range(2, len(shape)))
    if is_blocked(layout):  # (N, C / x, x), unless the last block is padded
        return None if pixels_left or shape[1] % layout.block else ROW_MAJOR
    return None if pixels_left and 1 not in axes else ROW_MAJOR


def layouts(node: Node, graph: Graph, target: Target) -> Sequence[LayoutOption]:
    """Every layout in which the reduced elements can be left out of the order."""
    x, out = graph[node.inputs[0]].shape, graph[node.output].shape
    options = []
    for layout in layouts_of(x, target):
        written = _written_layout(node, x, out, layout)
        if written is not None:
            residual = (written,) if node.epilogue.residual else ()
            padding = float(layout.elements(x) - math.prod(x))
            options.append(LayoutOption((layout, *residual), (written,), padding))
    return options


def _loops(node: Node, shape: Shape, layout: Layout) -> list[tuple[int, int, bool]]:
    """(size, stride, reduced) of the input's loops, neighbours of one kind merged."""
    logical = list(range(len(shape)))
    if layout.order is Order.CHANNELS_LAST:
        logical = [0, *logical[2:], 1]
    elif is_blocked(layout):
        logical = [*logical, 1]
    sizes = layout.physical_shape(shape)
    axes = set(node.attrs["axes"])
    alike = groupby(
        (d for d in range(len(sizes)) if sizes[d] != 1), key=lambda d: logical[d] in axes
    )
    merged = [(reduced, list(dims)) for reduced, dims in alike]
    strides = dense_strides(sizes)
    return [(math.prod(sizes[d] for d in dims), strides[dims[-1]], r) for r, dims in merged]


def _nest(loops: Sequence[tuple[int, int, bool]]) -> Nest:
    """Loops over the input alone, one of a single round when there is none."""
    if len(loops) > MOST_LOOPS:
        raise ValueError(f"{len(loops)} loops, at most {MOST_LOOPS}")
    chosen = loops or [(1, 0, False)]
    return Nest(tuple(size for size, _, _ in chosen), (tuple(step for _, step, _ in chosen),))


def _params(node: Node, shape: Shape, layout: Layout) -> dict[str, Param]:
    """The members of ec_reduce and which of its two forms it is."""
    *outer, (n, _, rows_reduced) = _loops(node, shape, layout) or [(1, 1, False)]
    reduced = [loop for loop in outer if loop[2]]
    row = (1, 0, True)
    if not rows_reduced and reduced:
        row = reduced.pop()
    kept_nest, reduced_nest = _nest([loop for loop in outer if not loop[2]]), _nest(reduced)
    count = math.prod(shape[axis] for axis in node.attrs["axes"])
    mean = node.attrs["kind"] == "mean"
    return {
        "form": "rows" if rows_reduced else "columns",
        "kind": str(node.attrs["kind"]),
        "kept_sizes": kept_nest.sizes,
        "kept_steps": kept_nest.strides[0],
        "reduced_sizes": reduced_nest.sizes,
        "reduced_steps": reduced_nest.strides[0],
        "rows": row[0],
        "row_step": row[1],
        "n": n,
        "scale": 1.0 / count if mean else 1.0,
    }


def lower(node: Node, graph: Graph, target: Target) -> Layer:
    """Vectors run along the innermost loop, whether it is kept or reduced."""
    del target
    x = graph[node.inputs[0]]
    blobs: list[Blob] = []
    params = _params(node, x.shape, x.layout)
    return Layer(
        node=node,
        algorithm=f"reduce_{params['form']}",
        template="ops/reduce.c.j2",
        params={**params, "epilogue": epilogue_param(node.epilogue)},
        args=(read_arg(graph, x.name, "in", blobs), *residual_args(node), output_arg(node)),
        headers=(*activation_headers(node.epilogue), "ec_nest.h", "ec_reduce.h"),
        blobs=tuple(blobs),
        aliases=residual_in_place(node, graph),
    )
