"""Strided slices of any rank; Split is one slice per part."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np

from edgeconv.ir.choice import Layer
from edgeconv.ir.graph import Graph, Node
from edgeconv.ir.layout import Layout, Order, Shape
from edgeconv.kernels.lowering.images import layouts_of
from edgeconv.kernels.lowering.moves import Move, move_layer, plan_move
from edgeconv.kernels.lowering.nest import dense_strides
from edgeconv.kernels.lowering.options import LayoutOption, Stored
from edgeconv.kernels.ops.base import ImportContext, Operator, Source
from edgeconv.kernels.ops.importing import (
    attribute_or_input,
    axes_of,
    axis_of,
    check_stated,
    constant_input,
    ints,
    make_node,
)
from edgeconv.kernels.ops.run_time_bounds import any_computed, slice_by
from edgeconv.target.targets import Target

# Ends that stand for none, whichever way a slice goes: numpy's x[::-1] has no number for it.
_NO_END = frozenset({np.iinfo(np.int32).max, np.iinfo(np.int64).max})


@dataclass(frozen=True, slots=True)
class _Slices:
    """For every axis the first place, how far the next one is, and the number of places."""

    starts: Shape
    strides: Shape
    counts: Shape


def _slices_of(source: Source, ctx: ImportContext) -> _Slices:
    """By constant bounds.

    A slice that goes backwards begins within the axis, and ends there or before it.  With the
    largest int32 or int64 for an end it goes up to the first element, as in ONNX Runtime; read as a
    place, as onnx's shape inference has it, that would leave nothing.
    """
    shape = ctx.tensor(source.inputs[0]).shape
    first = attribute_or_input(source, ctx, "starts", 1)
    last = attribute_or_input(source, ctx, "ends", 2)
    assert first is not None
    assert last is not None
    given = attribute_or_input(source, ctx, "axes", 3)
    axes = axes_of(source, ctx, range(first.size) if given is None else ints(given), len(shape))
    jumps = constant_input(source, ctx, 4, "steps")
    stride = (1,) * first.size if jumps is None else ints(jumps)
    if not first.size == last.size == len(axes) == len(stride):
        got = f"{first.size} starts, {last.size} ends, {len(axes)} axes, {len(stride)} steps"
        raise ctx.reject(source, got, "each axis has a start, an end and a step")
    ranges = [range(size) for size in shape]
    for begin, end, axis, step in zip(ints(first), ints(last), axes, stride, strict=True):
        if step == 0:
            raise ctx.reject(source, "step 0", "steps must not be zero")
        begin = max(begin, -shape[axis]) if step < 0 else begin
        ranges[axis] = ranges[axis][begin : None if end in _NO_END else end : step]
    columns = ((each.start, each.step, len(each)) for each in ranges)
    return _Slices(*zip(*columns, strict=True)) if shape else _Slices((), (), ())


def _shape(source: Source, ctx: ImportContext) -> Shape | None:
    """None where a bound is computed at run time."""
    return None if any_computed(source, ctx, 1, 2, 3, 4) else _slices_of(source, ctx).counts


def _import_slice(source: Source, ctx: ImportContext) -> Sequence[Node]:
    if any_computed(source, ctx, 1, 2, 3, 4):  # where they end is what the shape says
        return slice_by(source, ctx)
    of = _slices_of(source, ctx)
    return [make_node(source, "Slice", source.inputs[:1], starts=of.starts, steps=of.strides)]


def _import_split(source: Source, ctx: ImportContext) -> Sequence[Node]:
    shape = ctx.tensor(source.inputs[0]).shape
    axis = axis_of(source, ctx, source.attrs["axis"], len(shape))
    if any_computed(source, ctx, 1):
        return _slices(source, axis, _stated_sizes(source, ctx, axis), len(shape))
    given = attribute_or_input(source, ctx, "split", 1)
    if given is None:  # equal parts, the last may be smaller (opset 18)
        parts = len(source.outputs)
        size = -(-shape[axis] // parts)
        sizes: tuple[int, ...] = (size,) * parts
    else:
        sizes = ints(given)
    return _slices(source, axis, sizes, len(shape))


def _stated_sizes(source: Source, ctx: ImportContext, axis: int) -> tuple[int, ...]:
    """The sizes of the parts, by the shapes that the model states of them."""
    if not all(source.outputs):
        rule = "the size of a part that nothing reads is not known"
        raise ctx.reject(source, "sizes computed at run time", rule, "make split a constant")
    for output in source.outputs:
        check_stated(source, ctx, output, (axis,))
    size, sizes = (
        ctx.tensor(source.inputs[0]).shape[axis],
        [ctx.tensor(name).shape[axis] for name in source.outputs],
    )
    if sum(sizes) != size:
        raise ctx.reject(source, f"parts of {sizes}", f"they add up to the {size} that there are")
    return tuple(ctx.tensor(name).shape[axis] for name in source.outputs)


def _slices(source: Source, axis: int, sizes: Sequence[int], rank: int) -> list[Node]:
    """A slice for each that is read."""
    nodes = []
    for part, (output, begin) in enumerate(
        zip(source.outputs, accumulate(sizes[:-1], initial=0), strict=True)
    ):
        if output:
            starts = tuple(begin if i == axis else 0 for i in range(rank))
            attrs = {"starts": starts, "steps": (1,) * rank}
            name = f"{source.name}/{part}"
            nodes.append(Node(name, "Slice", source.inputs[:1], (output,), attrs))
    return nodes


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


OPERATOR = Operator(
    name="Slice",
    onnx={"Slice": _import_slice, "Split": _import_split},
    shapes={"Slice": _shape},
    lower=lower,
    layouts=layouts,
    stored=Stored.BOTH,
)
