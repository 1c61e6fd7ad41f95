"""Padding of any dimension; negative padding crops."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from edgeconv.base.errors import EdgeconvError
from edgeconv.ir.choice import Layer
from edgeconv.ir.element_types import FLOAT32
from edgeconv.ir.graph import Graph, Node
from edgeconv.ir.layout import Layout, Order, Shape
from edgeconv.kernels.lowering.calls import kernel_layer
from edgeconv.kernels.lowering.images import layouts_of
from edgeconv.kernels.lowering.nest import require_loops
from edgeconv.kernels.lowering.options import LayoutOption, Stored
from edgeconv.kernels.lowering.work import Call
from edgeconv.kernels.ops.base import ImportContext, Operator, Source
from edgeconv.kernels.ops.formula import Formula, Term
from edgeconv.kernels.ops.importing import (
    attribute_or_input,
    axes_of,
    constant_input,
    ints,
    single_number,
)
from edgeconv.kernels.ops.run_time_bounds import any_computed, pad_by
from edgeconv.target.targets import Target


def _pads(source: Source, ctx: ImportContext) -> Shape:
    """All begins, then all ends, for every dimension."""
    rank = len(ctx.tensor(source.inputs[0]).shape)
    given = attribute_or_input(source, ctx, "pads", 1)
    assert given is not None
    chosen = constant_input(source, ctx, 3, "axes")
    axes = axes_of(source, ctx, range(rank) if chosen is None else ints(chosen), rank)
    if given.size != 2 * len(axes):
        rule = f"a begin and an end are needed for each of {len(axes)} axes"
        raise ctx.reject(source, f"pads {list(ints(given))}", rule)
    pads = [0] * (2 * rank)
    for position, axis in enumerate(axes):
        pads[axis], pads[rank + axis] = int(given[position]), int(given[len(axes) + position])
    return tuple(pads)


def _shape(source: Source, ctx: ImportContext) -> Shape | None:
    """None where pads or axes are computed at run time."""
    if source.version >= 11 and any_computed(source, ctx, 1, 3):
        return None
    shape, pads = ctx.tensor(source.inputs[0]).shape, _pads(source, ctx)
    both = zip(shape, pads[: len(shape)], pads[len(shape) :], strict=True)
    padded_shape = tuple(before + size + behind for size, before, behind in both)
    if min(padded_shape, default=0) < 0:
        got = f"pads {list(pads)} of input {list(shape)}"
        raise ctx.reject(source, got, "no more is cropped than there is")
    return padded_shape


def _import_pad(source: Source, ctx: ImportContext) -> Sequence[Node]:
    mode = source.attrs["mode"]
    if source.version >= 11 and any_computed(source, ctx, 1, 2, 3):
        return pad_by(source, ctx, mode)
    if source.version < 11:
        value = float(source.attrs["value"])
    else:
        constant = constant_input(source, ctx, 2, "constant_value")
        value = 0.0
        if constant is not None and constant.size:
            value = single_number(source, ctx, constant, "constant_value")
    formula, pads = Formula(source, ctx), _pads(source, ctx)
    x = formula.inputs()[0]
    shape = x.shape
    rank = len(shape)
    grown = tuple(max(0, pad) for pad in pads)
    if min(pads, default=0) < 0:
        starts = tuple(max(0, -pad) for pad in pads[:rank])
        ends = tuple(max(0, -pad) for pad in pads[rank:])
        shape = tuple(size - s - e for size, s, e in zip(shape, starts, ends, strict=True))
        ones = (1,) * rank
        if min(shape) < 1:
            got = f"pads {list(pads)} of input {list(x.shape)}"
            raise ctx.reject(source, got, "cropping must leave an element")
        x = formula.add("Slice", (x,), shape, starts=starts, steps=ones)
    if not any(grown):
        return formula.finish(x)
    if mode == "reflect" and any(
        pad >= size for pad, size in zip(grown, (*shape, *shape), strict=True) if pad
    ):
        got = f"pads {list(pads)} of input {list(shape)}"
        raise ctx.reject(source, got, "mode reflect cannot pad by more than the dimension")
    if mode == "wrap":
        x, grown = _wrapped(x, grown)
        if not any(grown):
            return formula.finish(x)
    return formula.finish(padded(x, grown, mode, value))


def _wrapped(x: Term, pads: Shape) -> tuple[Term, Shape]:
    """``x`` gathered along every axis that wraps more than once; what is left to pad."""
    formula, left, rank = x.formula, list(pads), len(x.shape)
    for axis, size in enumerate(x.shape):
        before, behind = pads[axis], pads[rank + axis]
        if max(before, behind) <= size:
            continue
        places = formula.typed_constant(np.arange(-before, size + behind) % size, "places")
        shape = (*x.shape[:axis], before + size + behind, *x.shape[axis + 1 :])
        x = formula.add("Gather", (x, places), shape, axis=axis)
        left[axis] = left[rank + axis] = 0
    return x, tuple(left)


def padded(x: Term, pads: Shape, mode: str, value: float) -> Term:
    """``x`` with so many elements before and behind every dimension."""
    rank = len(x.shape)
    if x.formula.ctx.tensor(x.name).dtype != FLOAT32:
        return _joined(x, pads, mode, value)
    both = zip(x.shape, pads[:rank], pads[rank:], strict=True)
    shape = tuple(before + size + behind for size, before, behind in both)
    return x.formula.add("Pad", (x,), shape, pads=pads, mode=mode, value=value)


def _joined(x: Term, pads: Shape, mode: str, value: float) -> Term:
    """The padding of elements that are no float32, dimension by dimension: borders are constants,
    or entries of what they surround."""
    formula, rank = x.formula, len(x.shape)
    dtype = formula.ctx.tensor(x.name).dtype
    for axis, (before, behind) in enumerate(zip(pads[:rank], pads[rank:], strict=True)):
        shape = (*x.shape[:axis], before + x.shape[axis] + behind, *x.shape[axis + 1 :])
        if mode == "constant":
            sizes = ((*x.shape[:axis], size, *x.shape[axis + 1 :]) for size in (before, behind))
            ends = [formula.typed_constant(np.full(size, value, dtype), "border") for size in sizes]
            parts = [part for part in (ends[0], x, ends[1]) if part.shape[axis]]
            x = formula.add("Concat", parts, shape, axis=axis) if len(parts) > 1 else x
        elif before or behind:
            taken = np.pad(np.arange(x.shape[axis]), (before, behind), mode)  # type: ignore[call-overload]
            x = formula.add("Gather", (x, formula.typed_constant(taken, "index")), shape, axis=axis)
    return x


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
    name, call = node.inputs[0], Call(node, graph, target)
    dims = _dimensions(node, graph, graph[node.output].layout)
    if node.attrs["mode"] != "constant" and math.prod(graph[name].shape) == 0:
        raise EdgeconvError(
            "cannot pad", where=node.name, got="no elements", rule="only constants fill a border"
        )
    run = dims.pop()[0] if len(dims) > 1 and dims[-1][0] == dims[-1][1] else 1
    in_row, row, begin = dims.pop()
    outer = dims or [(1, 1, 0)]
    require_loops(node, len(outer))
    return kernel_layer(
        call,
        "pad",
        "ops/pad.c.j2",
        operands={"in": name},
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
        },
        headers=("ec_lanes.h", "ec_nest.h", "ec_copy.h", "ec_pad.h"),
        work=call.streams(),
        epilogue=False,
    )


OPERATOR = Operator(
    name="Pad",
    onnx={"Pad": _import_pad},
    shapes={"Pad": _shape},
    lower=lower,
    layouts=layouts,
    stored=Stored.BOTH,
)
