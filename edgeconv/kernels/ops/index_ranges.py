"""Operators that compare or offset indices 0, 1, 2 ...: Trilu, OneHot, Range."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from edgeconv.ir.element_types import BOOL
from edgeconv.ir.graph import Array, Epilogue, Node
from edgeconv.kernels.lowering.options import Stored
from edgeconv.kernels.ops.base import ImportContext, Importer, Operator, Source
from edgeconv.kernels.ops.elementwise import CHOICE, COPY, elementwise
from edgeconv.kernels.ops.formula import Formula, Term
from edgeconv.kernels.ops.importing import axis_of, flag, optional_input
from edgeconv.kernels.ops.spectra import stated

_COUNT = "int32"


def _indices(formula: Formula, size: int, behind: int = 0, dtype: str = _COUNT) -> Term:
    """0, 1 ... along a dimension that so many others follow."""
    values: Array = np.arange(size).astype(dtype).reshape(-1, *(1,) * behind)
    return formula.typed_constant(values, "indices")


def _import_trilu(source: Source, ctx: ImportContext) -> Sequence[Node]:
    """Column - row is at least k of the upper triangle, at most of the lower; 0 elsewhere."""
    formula, test = Formula(source, ctx), "greater_equal"
    x = Term(formula, source.inputs[0])
    dtype = ctx.tensor(x.name).dtype
    if not flag(source, ctx, "upper", 1):
        test = "less_equal"
    rows, columns = x.shape[-2:]
    places = (_indices(formula, columns), _indices(formula, rows, 1))
    ahead = elementwise(formula, "sub", places, _COUNT)
    k = optional_input(source, 1)
    limit = Term(formula, k) if k else formula.typed_constant(np.zeros((), _COUNT), "k")
    if math.prod(limit.shape) != 1:
        rule = "k, the diagonal, is one number"
        raise ctx.reject(source, f"k of shape {list(limit.shape)}", rule)
    kept = elementwise(formula, test, (ahead, limit.reshape() if limit.shape else limit), BOOL)
    zero = formula.typed_constant(np.zeros((), dtype), "zero")
    return formula.finish(elementwise(formula, CHOICE, (kept, x, zero), dtype))


def _import_one_hot(source: Source, ctx: ImportContext) -> Sequence[Node]:
    """The second of ``values`` where an index is its place along the axis, the first elsewhere; an
    index below zero counts from the end."""
    formula = Formula(source, ctx)
    out = ctx.tensor(source.outputs[0])
    index, values = Term(formula, source.inputs[0]), Term(formula, source.inputs[2])
    axis = axis_of(source, ctx, int(source.attrs["axis"]), len(out.shape))
    depth, kind = out.shape[axis], ctx.tensor(index.name).dtype
    if kind == "float32":
        index = elementwise(formula, COPY, (index,), _COUNT)
    index = index.reshape(*index.shape[:axis], 1, *index.shape[axis:])
    places = _indices(formula, depth, len(out.shape) - 1 - axis)
    from_end = formula.typed_constant(
        (np.arange(depth) - depth).astype(_COUNT).reshape(places.shape), "from_end"
    )
    tests = [elementwise(formula, "equal", (index, each), BOOL) for each in (places, from_end)]
    hot = elementwise(formula, "bitwise_or", tests, BOOL)
    off, on = (
        formula.add(
            "Slice", (values,), (1,), "value", Epilogue(), out.dtype, starts=(i,), steps=(1,)
        )
        for i in (0, 1)
    )
    return formula.finish(elementwise(formula, CHOICE, (hot, on, off), out.dtype))


def _import_range(source: Source, ctx: ImportContext) -> Sequence[Node]:
    """start + i delta, as many as the model states."""
    formula, out = Formula(source, ctx), ctx.tensor(source.outputs[0])
    start, delta = (Term(formula, source.inputs[i]) for i in (0, 2))
    indices = _indices(formula, out.size, dtype=out.dtype)
    offset = elementwise(formula, "mul", (indices, delta), out.dtype)
    return formula.finish(elementwise(formula, "add", (offset, start), out.dtype))


def _import_constant_of_shape(source: Source, ctx: ImportContext) -> Sequence[Node]:
    """A constant of the shape that the model states."""
    out, value = ctx.tensor(source.outputs[0]), source.attrs.get("value")
    given = np.zeros((), np.float32) if value is None else np.asarray(value)
    if given.size != 1:
        got = f"a value of shape {list(given.shape)}"
        raise ctx.reject(source, got, "the value is one number")
    number = given.reshape(-1)[0]
    return stated(source, ctx, np.full(out.shape, number))


_TABLE: dict[str, Importer] = {
    "Trilu": _import_trilu,
    "OneHot": _import_one_hot,
    "Range": _import_range,
    "ConstantOfShape": _import_constant_of_shape,
}

OPERATOR = Operator(name="IndexRange", onnx=_TABLE, typed=_TABLE, stored=Stored.BOTH)
