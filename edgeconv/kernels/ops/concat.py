"""Concatenation along one axis."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import accumulate

from edgeconv.ir.choice import Alias, Blob, Layer
from edgeconv.ir.element_types import FLOAT32
from edgeconv.ir.graph import Graph, Node
from edgeconv.ir.layout import ROW_MAJOR, Layout, Order, Shape
from edgeconv.kernels.lowering.calls import c_format, constant_blob, element_bytes, kernel_layer
from edgeconv.kernels.lowering.images import layouts_of, padding
from edgeconv.kernels.lowering.options import LayoutOption, Stored
from edgeconv.kernels.lowering.work import Call
from edgeconv.kernels.ops.base import ImportContext, Operator, Source
from edgeconv.kernels.ops.importing import axis_of, make_node
from edgeconv.target.targets import Target


def _shape(source: Source, ctx: ImportContext) -> Shape:
    """Rejects inputs that differ beside the axis."""
    shapes = [ctx.tensor(name).shape for name in source.inputs]
    axis = axis_of(source, ctx, source.attrs["axis"], len(shapes[0]))
    if len({(len(shape), *shape[:axis], *shape[axis + 1 :]) for shape in shapes}) > 1:
        got = f"inputs of {', '.join(str(list(shape)) for shape in shapes)}, axis {axis}"
        raise ctx.reject(source, got, "sizes are equal but along the axis")
    size = sum(shape[axis] for shape in shapes)
    return (*shapes[0][:axis], size, *shapes[0][axis + 1 :])


def _import_concat(source: Source, ctx: ImportContext) -> Sequence[Node]:
    axis = axis_of(source, ctx, source.attrs["axis"], len(ctx.tensor(source.outputs[0]).shape))
    filled = [name for name in source.inputs if ctx.tensor(name).shape[axis]]
    if len(filled) == 1:
        return [make_node(source, "Identity", filled)]
    return [make_node(source, "Concat", filled, axis=axis)]


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
    out, call = graph[node.output], Call(node, graph, target)
    outer = _outer(node, graph, out.layout)
    runs = [out.layout.elements(graph[name].shape) // outer for name in node.inputs]
    starts = [0, *accumulate(runs)][:-1]
    operands: dict[str, str | Blob] = {}
    aliases: list[Alias] = []
    alias_of: list[int] = []
    for number, name in enumerate(node.inputs):
        tensor = graph[name]
        packed = (
            None if tensor.data is None else constant_blob(name, tensor.data, out.layout, out.dtype)
        )
        operands[f"in{number}"] = packed or name
        same = tensor.storage == out.storage and name not in node.inputs[:number]
        view = outer == 1 and packed is None and same
        alias_of.append(len(aliases) if view else -1)
        if view:
            offset = starts[number] * element_bytes(graph, name)
            aliases.append(Alias(name, inner=name, outer=node.output, offset=offset, exact=True))
    plain = out.dtype != FLOAT32
    return kernel_layer(
        call,
        "concat",
        "ops/concat_elements.c.j2" if plain else "ops/concat.c.j2",
        operands=operands,
        params={
            "outer": outer,
            "row": sum(runs),
            "runs": tuple(runs),
            "starts": tuple(starts),
            "alias_of": tuple(alias_of),
            **(
                {"bytes": out.element_bytes}
                if plain
                else {"formats": tuple(c_format(graph, name) for name in node.inputs)}
            ),
        },
        headers=("ec_nest.h", "ec_move_elements.h") if plain else ("ec_lanes.h", "ec_copy.h"),
        work=call.copies(),
        aliases=aliases,
        free_if_aliased=-1 not in alias_of,
        epilogue=False,
    )


OPERATOR = Operator(
    name="Concat",
    onnx={"Concat": _import_concat},
    shapes={"Concat": _shape},
    lower=lower,
    layouts=layouts,
    stored=Stored.BOTH,
)
