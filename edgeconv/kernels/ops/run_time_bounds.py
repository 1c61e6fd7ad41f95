"""Slice and Pad whose bounds, or axes, are computed at run time, to the shape that a model states.

Along each axis the elements of the result come from places that are counted from the bounds; what
lies outside of the data becomes a place inside, as the mode of the padding says.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from edgeconv.ir.element_types import BOOL
from edgeconv.ir.graph import Epilogue, Node
from edgeconv.ir.layout import Shape
from edgeconv.kernels.ops.base import ImportContext, Source
from edgeconv.kernels.ops.elementwise import CHOICE, COPY, elementwise
from edgeconv.kernels.ops.formula import Formula, Term
from edgeconv.kernels.ops.importing import axes_of, check_stated, ints, optional_input

_INDEX = "int64"


def any_computed(source: Source, ctx: ImportContext, *inputs: int) -> bool:
    """Whether one of ``inputs`` is present and no constant."""
    names = (optional_input(source, index) for index in inputs)
    return any(name and ctx.constant(name) is None for name in names)


def number(formula: Formula, value: int, name: str) -> Term:
    """A whole number of no dimension."""
    return formula.typed_constant(np.asarray(value, np.int64), name)


def index_of(formula: Formula, function: str, *operands: Term) -> Term:
    """``function`` of whole numbers."""
    return elementwise(formula, function, operands, _INDEX)


def slice_by(source: Source, ctx: ImportContext) -> Sequence[Node]:
    """x[start], x[start + step] ... of every axis; bounds are clamped as Python clamps them."""
    formula, out = Formula(source, ctx), ctx.tensor(source.outputs[0]).shape
    x = Term(formula, source.inputs[0])
    shape, axes = x.shape, optional_input(source, 3)
    check_stated(source, ctx)
    starts = _by_axis(formula, Term(formula, source.inputs[1]), axes, len(shape), 0)
    steps = optional_input(source, 4)
    jumps = _by_axis(formula, Term(formula, steps), axes, len(shape), 1) if steps else {}
    for axis, start in starts.items():
        size, count = shape[axis], out[axis]
        below = elementwise(formula, "less", (start, number(formula, 0, "zero")), BOOL)
        from_end = index_of(formula, "add", start, number(formula, size, "size"))
        first = index_of(formula, CHOICE, below, from_end, start)
        first = index_of(formula, "max", first, number(formula, 0, "zero"))
        first = index_of(formula, "min", first, number(formula, size - 1, "last"))
        counted = formula.typed_constant(np.arange(count), "counted")
        steps_ahead = index_of(formula, "mul", counted, jumps[axis]) if jumps else counted
        x = _picked(x, axis, index_of(formula, "add", steps_ahead, first))
    return formula.finish(x)


def pad_by(source: Source, ctx: ImportContext, mode: str) -> Sequence[Node]:
    """Place i of an axis is that of the data at i - begin, if there is one."""
    formula, out = Formula(source, ctx), ctx.tensor(source.outputs[0]).shape
    x, pads = (Term(formula, name) for name in source.inputs[:2])
    dtype, shape = ctx.tensor(x.name).dtype, x.shape
    check_stated(source, ctx)
    count, odd = divmod(math.prod(pads.shape), 2)
    if odd or len(pads.shape) != 1:
        rule = "each axis has a begin and an end, in one row"
        raise ctx.reject(source, f"pads of shape {list(pads.shape)}", rule)
    begins = formula.add(
        "Slice", (pads,), (count,), "begins", Epilogue(), _INDEX, starts=(0,), steps=(1,)
    )
    inside = None
    for axis, begin in _by_axis(formula, begins, optional_input(source, 3), len(shape), 0).items():
        counted = formula.typed_constant(np.arange(out[axis]), "counted")
        place = index_of(formula, "sub", counted, begin)
        if mode == "constant":
            inside = _inside(inside, place, shape[axis], len(shape) - 1 - axis)
        x = _picked(x, axis, _reflected(formula, place, shape[axis], mode))
    if inside is None:
        return formula.finish(x)
    given = optional_input(source, 2)
    border = Term(formula, given) if given else formula.typed_constant(np.zeros((), dtype), "zero")
    if math.prod(border.shape) != 1:
        got = f"constant_value of shape {list(border.shape)}"
        raise ctx.reject(source, got, "constant_value is one number")
    border = border.reshape() if border.shape else border
    return formula.finish(elementwise(formula, CHOICE, (inside, x, border), dtype))


def _reflected(formula: Formula, place: Term, size: int, mode: str) -> Term:
    """The place in the data that stands for ``place``."""
    if mode == "wrap":
        return index_of(formula, "modulo", place, number(formula, size, "size"))
    if mode == "reflect" and size > 1:
        period = number(formula, 2 * (size - 1), "period")
        ahead = index_of(formula, "modulo", place, period)
        return index_of(formula, "min", ahead, index_of(formula, "sub", period, ahead))
    within = index_of(formula, "max", place, number(formula, 0, "zero"))
    return index_of(formula, "min", within, number(formula, size - 1, "last"))


def _inside(before: Term | None, place: Term, size: int, behind: int) -> Term:
    """Whether ``place`` is one of the data, and what was known ``before`` holds."""
    formula = place.formula
    tests = (("greater_equal", 0), ("less", size))
    for test, bound in tests:
        limit = number(formula, bound, "bound")
        found = elementwise(formula, test, (place, limit), BOOL).reshape(
            *place.shape, *(1,) * behind
        )
        before = elementwise(formula, "bitwise_and", (before, found), BOOL) if before else found
    assert before is not None
    return before


def _picked(x: Term, axis: int, index: Term) -> Term:
    shape = (*x.shape[:axis], *index.shape, *x.shape[axis + 1 :])
    return x.formula.add("Pick", (x, index), shape, axis=axis)


def _by_axis(
    formula: Formula, values: Term, axes: str, rank: int, otherwise: int
) -> dict[int, Term]:
    """For each axis its number among ``values``, in an array of one element; ``axes`` says whose
    they are, "" that they are those of the first ones."""
    ctx, source = formula.ctx, formula.source
    count = ctx.tensor(values.name).size
    known = ctx.constant(axes) if axes else np.arange(count)
    wide = index_of(formula, COPY, values)
    named_axes = math.prod(ctx.tensor(axes).shape) if axes else min(count, rank)
    if named_axes != count or len(values.shape) != 1:
        got = f"numbers of shape {list(values.shape)} for {named_axes} axes"
        raise ctx.reject(source, got, "each axis has its own, in one row")
    if known is not None:
        named = axes_of(source, ctx, ints(known), rank)
        return {axis: _entry(wide, i) for i, axis in enumerate(named)}
    full: Shape = (rank,)
    start = formula.typed_constant(np.full(full, otherwise, np.int64), "otherwise")
    given = (start, Term(formula, axes), wide)
    spread = formula.add("ScatterElements", given, full, "by_axis", axis=0, function=COPY)
    return {axis: _entry(spread, axis) for axis in range(rank)}


def _entry(values: Term, place: int) -> Term:
    name = f"entry{place}"
    return values.formula.add("Slice", (values,), (1,), name, starts=(place,), steps=(1,))
