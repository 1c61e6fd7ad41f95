"""Inputs one after the other along an axis; inputs that lie in the output already cost nothing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import accumulate

from edgeconv.ir.choice import Alias, Arg, ArgKind, Blob, Layer
from edgeconv.ir.graph import Graph, Node
from edgeconv.ir.layout import ROW_MAJOR, Layout, Order
from edgeconv.lowering.calls import (
    c_format,
    constant_blob,
    element_bytes,
    output_arg,
    read_arg,
    storage_of,
)
from edgeconv.lowering.options import LayoutOption
from edgeconv.lowering.work import copying
from edgeconv.ops.kernels.images import layouts_of, padding
from edgeconv.targets import Target


def _outer(node: Node, graph: Graph, layout: Layout) -> int:
    """How often every input appears in the output: the sizes outside of the axis, in memory."""
    axis, shape = int(node.attrs["axis"]), graph[node.output].shape
    if layout.order is Order.CHANNELS_LAST and axis > 0:
        axis = len(shape) - 1 if axis == 1 else axis - 1
    return math.prod(layout.physical_shape(shape)[:axis])


def layouts(node: Node, graph: Graph, target: Target) -> Sequence[LayoutOption]:
    """Any; blocked along the channels only where every input but the last fills its blocks."""
    shape, axis = graph[node.output].shape, int(node.attrs["axis"])
    inner_channels = [graph[name].shape[1] for name in node.inputs[:-1]] if len(shape) > 2 else []
    options = []
    for layout in layouts_of(shape, target):
        if axis == 1 and any(c % layout.block for c in inner_channels):
            continue
        copied = 0.0 if _outer(node, graph, layout) == 1 else 2.0 * layout.elements(shape)
        options.append(
            LayoutOption((layout,) * len(node.inputs), (layout,), copied + padding(shape, layout))
        )
    return options or [LayoutOption((ROW_MAJOR,) * len(node.inputs), (ROW_MAJOR,))]


def lower(node: Node, graph: Graph, target: Target) -> Layer:
    """One strided copy per input; ``alias`` numbers the inputs that may lie in the output."""
    out = graph[node.output]
    outer = _outer(node, graph, out.layout)
    runs = [out.layout.elements(graph[name].shape) // outer for name in node.inputs]
    starts = [0, *accumulate(runs)][:-1]
    blobs: list[Blob] = []
    args: list[Arg] = []
    aliases: list[Alias] = []
    alias_of: list[int] = []
    for number, name in enumerate(node.inputs):
        arg = read_arg(graph, name, f"in{number}", blobs)
        if arg.kind is ArgKind.WEIGHTS:
            blobs[-1] = constant_blob(name, graph[name].constant(), out.layout)
        args.append(arg)
        same = graph[name].storage == out.storage and name not in node.inputs[:number]
        view = outer == 1 and arg.kind is ArgKind.INPUT and same
        alias_of.append(len(aliases) if view else -1)
        if view:
            offset = starts[number] * element_bytes(graph, name)
            aliases.append(Alias(name, inner=name, outer=node.output, offset=offset, exact=True))
    return Layer(
        node=node,
        algorithm="concat",
        template="ops/concat.c.j2",
        params={
            "outer": outer,
            "row": sum(runs),
            "runs": tuple(runs),
            "starts": tuple(starts),
            "alias_of": tuple(alias_of),
            "formats": tuple(c_format(graph, name) for name in node.inputs),
            **storage_of(graph, out=node.output),
        },
        args=(*args, output_arg(node, graph)),
        headers=("ec_lanes.h", "ec_copy.h"),
        work=copying(node, graph, target, blobs),
        blobs=tuple(blobs),
        aliases=tuple(aliases),
        free_if_aliased=-1 not in alias_of,
    )
