"""Borders: constant, reflected, repeated or periodic."""

from __future__ import annotations

import math
from collections.abc import Sequence

from edgeconv.errors import EdgeconvError
from edgeconv.ir.choice import Blob, Layer
from edgeconv.ir.graph import Graph, Node
from edgeconv.ir.layout import Layout, Order
from edgeconv.lowering.calls import output_arg, read_arg, storage_of
from edgeconv.lowering.options import LayoutOption
from edgeconv.lowering.work import copying
from edgeconv.ops.kernels.images import layouts_of
from edgeconv.ops.kernels.nest import require_loops
from edgeconv.targets import Target


def _channel_pads(node: Node, rank: int) -> tuple[int, int]:
    pads = node.attrs["pads"]
    return (int(pads[1]), int(pads[rank + 1])) if rank > 1 else (0, 0)


def layouts(node: Node, graph: Graph, target: Target) -> Sequence[LayoutOption]:
    """Any; blocked unless channels are added."""
    shape = graph[node.output].shape
    return [
        LayoutOption((layout,), (layout,))
        for layout in layouts_of(shape, target)
        if layout.order is not Order.BLOCKED or _channel_pads(node, len(shape)) == (0, 0)
    ]


def _dimensions(node: Node, graph: Graph, layout: Layout) -> list[tuple[int, int, int]]:
    """(input size, output size, begin) per dimension in memory; unpadded neighbours are merged."""
    x, out = graph[node.inputs[0]], graph[node.output]
    n, *begins = node.attrs["pads"][: len(x.shape)]
    if layout.order is Order.CHANNELS_LAST:
        begins = [*begins[1:], begins[0]]
    elif layout.order is Order.BLOCKED:
        begins = [*begins, 0]
    sizes = zip(
        layout.physical_shape(x.shape), layout.physical_shape(out.shape), (n, *begins), strict=True
    )
    merged: list[tuple[int, int, int]] = []
    for size, padded, begin in sizes:
        if size == padded and merged and merged[-1][0] == merged[-1][1]:
            merged[-1] = (merged[-1][0] * size, merged[-1][1] * size, 0)
        else:
            merged.append((size, padded, int(begin)))
    return merged


def lower(node: Node, graph: Graph, target: Target) -> Layer:
    """Rows along the innermost padded dimension, each entry a run of the dimensions inside it."""
    name = node.inputs[0]
    dims = _dimensions(node, graph, graph[node.output].layout)
    if node.attrs["mode"] != "constant" and math.prod(graph[name].shape) == 0:
        raise EdgeconvError(
            "cannot pad", where=node.name, got="no elements", rule="only constants fill a border"
        )
    run = dims.pop()[0] if len(dims) > 1 and dims[-1][0] == dims[-1][1] else 1
    in_row, row, begin = dims.pop()
    outer = dims or [(1, 1, 0)]
    require_loops(node, len(outer))
    blobs: list[Blob] = []
    return Layer(
        node=node,
        algorithm="pad",
        template="ops/pad.c.j2",
        params={
            "mode": str(node.attrs["mode"]),
            "value": float(node.attrs.get("value", 0.0)),
            "sizes": tuple(padded for _, padded, _ in outer),
            "in_outer": tuple(size for size, _, _ in outer),
            "begin": tuple(b for _, _, b in outer),
            "row": row,
            "in_row": in_row,
            "row_begin": begin,
            "run": run,
            **storage_of(graph, **{"in": name}, out=node.output),
        },
        args=(read_arg(graph, name, "in", blobs), output_arg(node, graph)),
        headers=("ec_lanes.h", "ec_nest.h", "ec_copy.h", "ec_pad.h"),
        work=copying(node, graph, target, blobs),
        blobs=tuple(blobs),
    )
