"""Interpolation along up to three neighbouring dimensions."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from edgeconv.errors import EdgeconvError
from edgeconv.ir.choice import Arg, ArgKind, Blob, Layer
from edgeconv.ir.graph import Graph, Node
from edgeconv.ir.layout import Layout, Order
from edgeconv.lowering.calls import (
    FLOAT_BYTES,
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
from edgeconv.ops.kernels.images import same_everywhere, volume
from edgeconv.ops.kernels.interpolation import tables
from edgeconv.ops.kernels.moves import table_arg
from edgeconv.targets import Target

_MOST = 3
_TAP_SLOTS = 2  # of an output vector, by counting in the kernel


def layouts(node: Node, graph: Graph, target: Target) -> Sequence[LayoutOption]:
    """Channels side by side are best; channel blocks only where channels are not interpolated, and
    no layout that puts what is interpolated too far apart, while there is another."""
    shapes = graph[node.inputs[0]].shape, graph[node.output].shape
    size = float(graph[node.output].size)

    def penalty(layout: Layout) -> float:
        return 4.0 * size if layout.order is Order.ROW_MAJOR and target.lanes > 1 else 0.0

    options = same_everywhere(node, graph, target, penalty)
    spatial = len(shapes[0]) < 3 or shapes[0][1] == shapes[1][1]
    options = [o for o in options if spatial or o.writes[0].order is not Order.BLOCKED]
    near = [o for o in options if len(_interpolated(node, graph, o.writes[0])) <= _MOST]
    return near or options


def _in_memory_order(
    node: Node, graph: Graph, layout: Layout
) -> tuple[list[int], list[int], list[float]]:
    """Input size, output size and scale of every dimension in memory."""
    x, out = graph[node.inputs[0]].shape, graph[node.output].shape
    scales = [float(scale) for scale in node.attrs["scales"]]
    if layout.order is Order.CHANNELS_LAST:
        scales = [scales[0], *scales[2:], scales[1]]
    elif layout.order is Order.BLOCKED:
        scales = [*scales, 1.0]
    return list(layout.physical_shape(x)), list(layout.physical_shape(out)), scales


def _interpolated(node: Node, graph: Graph, layout: Layout) -> range:
    """The dimensions in memory from the first to the last that is interpolated; the innermost where
    none is."""
    dimensions = zip(*_in_memory_order(node, graph, layout), strict=True)
    resized = [d for d, (n, m, scale) in enumerate(dimensions) if n != m or scale != 1]
    rank = len(layout.physical_shape(graph[node.output].shape))
    return range(resized[0], resized[-1] + 1) if resized else range(rank - 1, rank)


def lower(node: Node, graph: Graph, target: Target) -> Layer:
    """Tables per dimension; dimensions inside the interpolated ones are lanes, outer ones loops."""
    call = Call(node, graph, target)
    sizes, outs, scales = _in_memory_order(node, graph, graph[node.output].layout)
    span = _interpolated(node, graph, graph[node.output].layout)
    first, last = span.start, span.stop
    if last - first > _MOST:
        raise EdgeconvError(
            "unsupported Resize",
            where=node.name,
            got=f"scales {list(node.attrs['scales'])}",
            rule=f"at most {_MOST} neighbouring dimensions are interpolated",
            hint="split the node in two",
        )
    made = [tables(sizes[d], outs[d], scales[d], node.attrs) for d in range(first, last)]
    index = np.concatenate([np.zeros(_MOST - len(made), np.int32), *(i.ravel() for i, _ in made)])
    weight = np.concatenate([np.ones(_MOST - len(made), np.float32), *(w.ravel() for _, w in made)])
    lanes = math.prod(outs[last:])
    taps = volume(tuple(i.shape[0] for i, _ in made), 1)
    # The nearest element is copied.
    each = 0 if node.attrs["mode"] == "nearest" else _TAP_SLOTS * math.prod(taps)
    blobs = (
        Blob("index", index.size, lambda: index, dtype="int32"),
        Blob("weight", weight.size, lambda: weight),
    )
    return Layer(
        node=node,
        algorithm=f"resize_{node.attrs['mode']}",
        template="ops/resize.c.j2",
        params={
            "in_size": volume(tuple(sizes[first:last]), 1),
            "out_size": volume(tuple(outs[first:last]), 1),
            "taps": taps,
            "outer": math.prod(outs[:first]),
            "inner": lanes,
            **storage_of(graph, **{"in": node.inputs[0]}),
            "epilogue": epilogue_of(node, graph),
        },
        args=(
            input_arg(graph, node.inputs[0]),
            table_arg("index"),
            Arg(ArgKind.WEIGHTS, "weight", "weight"),
            *residual_args(node, graph),
            output_arg(node, graph),
            *((Arg(ArgKind.WORKSPACE, "workspace"),) if lanes == 1 else ()),
        ),
        headers=(*activation_headers(node.epilogue), "ec_resize.h"),
        work=call.streams(each * call.out_vectors, blobs),
        blobs=blobs,
        aliases=residual_in_place(node, graph),
        workspace_bytes=sizes[last - 1] * FLOAT_BYTES if lanes == 1 else 0,
    )
