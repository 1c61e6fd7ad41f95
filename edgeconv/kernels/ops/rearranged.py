"""Elements that are chosen, reversed or written at places known at run time: formulas of Pick,
Scatter and the order of conditions."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from edgeconv.ir.array_types import array_type
from edgeconv.ir.element_types import BOOL
from edgeconv.ir.graph import Epilogue, Node
from edgeconv.ir.layout import Shape
from edgeconv.kernels.lowering.options import Stored
from edgeconv.kernels.ops.base import ImportContext, Importer, Operator, Source
from edgeconv.kernels.ops.elementwise import CHOICE, COPY, elementwise
from edgeconv.kernels.ops.formula import Formula, Term
from edgeconv.kernels.ops.importing import axis_of, check_stated, ints, optional_input
from edgeconv.kernels.ops.pad import padded
from edgeconv.kernels.ops.run_time_bounds import index_of, number

_INDEX = "int64"


def _first_true(condition: Term, count: int) -> Term:
    """Places of so many true elements of a vector, in order; behind them those of false ones."""
    attrs = {"axis": 0, "function": "greater"}
    return condition.formula.add(
        "Top", (condition,), (count,), "places", Epilogue(), _INDEX, **attrs
    )


def _import_compress(source: Source, ctx: ImportContext) -> Sequence[Node]:
    """As many as the shape says that the model states; a smaller number of true conditions leaves
    elements behind those chosen that mean nothing."""
    formula, out = Formula(source, ctx), ctx.tensor(source.outputs[0]).shape
    x, condition = formula.inputs()
    if source.attrs.get("axis") is None:
        x, axis = x.reshape(math.prod(x.shape)), 0
    else:
        axis = axis_of(source, ctx, int(source.attrs["axis"]), len(x.shape))
        check_stated(source, ctx, axes=(axis,))
    if len(out) != len(x.shape):
        raise ctx.reject(source, f"{list(x.shape)} to {list(out)}", "without an axis it is one row")
    if len(condition.shape) != 1 or not out[axis] <= condition.shape[0] <= x.shape[axis]:
        got = f"a condition {list(condition.shape)} for {out[axis]} of {x.shape[axis]}"
        raise ctx.reject(source, got, "a condition has an element for each that may be chosen")
    places = _first_true(condition, out[axis])
    return formula.finish(formula.add("Pick", (x, places), out, "chosen", axis=axis))


def _import_non_zero(source: Source, ctx: ImportContext) -> Sequence[Node]:
    """Their indices, a row for each dimension; as many as the model states."""
    formula, out = Formula(source, ctx), ctx.tensor(source.outputs[0]).shape
    x, rows = Term(formula, source.inputs[0]), []
    if len(out) != 2 or out[0] != len(x.shape):
        got = f"{list(out)} of {list(x.shape)}"
        raise ctx.reject(source, got, "each dimension has a row of indices")
    zero = formula.typed_constant(np.zeros((), array_type(ctx.tensor(x.name).dtype)), "zero")
    nothing = elementwise(formula, "equal", (x.reshape(math.prod(x.shape)), zero), BOOL)
    place = _first_true(elementwise(formula, "not", (nothing,), BOOL), out[1])
    for axis, size in enumerate(x.shape):
        behind = number(formula, math.prod(x.shape[axis + 1 :]), "behind")
        index = index_of(formula, "div", place, behind)
        index = index_of(formula, "modulo", index, number(formula, size, "size"))
        rows.append(index.reshape(1, out[1]))
    if len(rows) == 1:
        return formula.finish(rows[0])
    return formula.finish(formula.add("Concat", rows, out, axis=0))


def _import_reverse_sequence(source: Source, ctx: ImportContext) -> Sequence[Node]:
    """The first elements in time of each of the batch, as many as its length says, reversed."""
    formula = Formula(source, ctx)
    x, lengths = formula.inputs()
    batch, time = (int(source.attrs[name]) for name in ("batch_axis", "time_axis"))
    if sorted((batch, time)) != [0, 1]:
        got = f"batch_axis {batch}, time_axis {time}"
        raise ctx.reject(source, got, "they are the first two dimensions")
    rows = x.transpose(1, 0, *range(2, len(x.shape))) if time == 0 else x
    count, steps, *_ = rows.shape
    step = formula.typed_constant(np.arange(steps), "step")
    length = lengths.reshape(count, 1)
    last = index_of(formula, "sub", length, number(formula, 1, "one"))
    mirrored = index_of(formula, "sub", last, step)
    within = elementwise(formula, "less", (step, length), BOOL)
    place = index_of(formula, CHOICE, within, mirrored, step)
    start = formula.typed_constant(np.arange(count).reshape(-1, 1) * steps, "start")
    flat = index_of(formula, "add", place, start).reshape(count * steps)
    inner = math.prod(rows.shape[2:])
    shape = (count * steps, inner)
    found = formula.add("Pick", (rows.reshape(*shape), flat), shape, "reversed", axis=0)
    made = found.reshape(*rows.shape)
    return formula.finish(made.transpose(1, 0, *range(2, len(x.shape))) if time == 0 else made)


def _import_tensor_scatter(source: Source, ctx: ImportContext) -> Sequence[Node]:
    """``update`` written into a cache from a place on that each of the batch has for itself; a
    circular cache goes on at its begin."""
    formula = Formula(source, ctx)
    cache, update = (Term(formula, name) for name in source.inputs[:2])
    axis = axis_of(source, ctx, int(source.attrs.get("axis", -2)), len(cache.shape))
    places, steps = cache.shape[axis], update.shape[axis]
    if axis == 0:
        raise ctx.reject(source, "axis 0", "the first dimension is that of the batch")
    batch, outer = cache.shape[0], math.prod(cache.shape[1:axis])
    inner = math.prod(cache.shape[axis + 1 :])
    given = optional_input(source, 2)
    start = (
        Term(formula, given) if given else formula.typed_constant(np.zeros(batch, np.int64), "0")
    )
    counted = formula.typed_constant(np.arange(steps), "counted")
    place = index_of(formula, "add", start.reshape(batch, 1, 1), counted)
    if source.attrs.get("mode", "linear") == "circular":
        place = index_of(formula, "modulo", place, number(formula, places, "places"))
    rows = np.arange(batch * outer).reshape(batch, outer, 1) * places
    flat = index_of(formula, "add", place, formula.typed_constant(rows, "row"))
    operands = (
        cache.reshape(batch * outer * places, inner),
        flat.reshape(batch * outer * steps, 1),
        update.reshape(batch * outer * steps, inner),
    )
    shape = (batch * outer * places, inner)
    return formula.finish(formula.add("ScatterND", operands, shape, function=COPY))


def _import_max_unpool(source: Source, ctx: ImportContext) -> Sequence[Node]:
    """Elements at the places where MaxPool found them, in the smallest image that has all of them;
    a larger one that is asked for has zeros behind."""
    formula, out = Formula(source, ctx), ctx.tensor(source.outputs[0]).shape
    x, places = (Term(formula, name) for name in source.inputs[:2])
    kernel = ints(source.attrs["kernel_shape"])
    rank = len(kernel)
    check_stated(source, ctx, axes=range(2, rank + 2))
    strides = ints(source.attrs.get("strides") or [1] * rank)
    pads = ints(source.attrs.get("pads") or [0] * (2 * rank))
    each = zip(x.shape[2:], strides, kernel, pads[:rank], pads[rank:], strict=True)
    sizes = ((n - 1) * stride + k - b - e for n, stride, k, b, e in each)
    whole: Shape = (*x.shape[:2], *sizes)
    count, size = math.prod(x.shape), math.prod(whole)
    zeros = formula.typed_constant(np.zeros(size, ctx.tensor(x.name).dtype), "zeros")
    operands = (zeros, places.reshape(count), x.reshape(count))
    flat = formula.add("ScatterElements", operands, (size,), axis=0, function=COPY)
    ends = [want - have for have, want in zip(whole, out, strict=True)]
    image = flat.reshape(*whole)
    if min(ends) < 0:
        raise ctx.reject(source, f"{list(out)} of {list(whole)}", "the result is no smaller")
    behind = (0,) * len(out)
    return formula.finish(padded(image, (*behind, *ends), "constant", 0.0) if any(ends) else image)


_TABLE: dict[str, Importer] = {
    "Compress": _import_compress,
    "NonZero": _import_non_zero,
    "ReverseSequence": _import_reverse_sequence,
    "TensorScatter": _import_tensor_scatter,
    "MaxUnpool": _import_max_unpool,
}
OPERATOR = Operator(name="Rearranged", onnx=_TABLE, typed=_TABLE, stored=Stored.BOTH)
