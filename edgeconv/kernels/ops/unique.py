"""Unique: what differs among the elements, of which the model states how many there are."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from edgeconv.ir.element_types import BOOL
from edgeconv.ir.graph import Array, Node
from edgeconv.ir.layout import Shape
from edgeconv.kernels.lowering.options import Stored
from edgeconv.kernels.ops.base import ImportContext, Operator, Source
from edgeconv.kernels.ops.elementwise import CHOICE, COPY, elementwise
from edgeconv.kernels.ops.formula import Formula, Term

_INDEX = "int64"


def _import(source: Source, ctx: ImportContext) -> Sequence[Node]:
    """Elements that no equal one is before, in order or as they come; each is compared with each.

    ``place`` counts them: those that are smaller, or that come before.  What is beyond the number
    that the model states is left out.
    """
    if "axis" in source.attrs:
        got = f"axis {source.attrs['axis']}"
        raise ctx.reject(source, got, "elements are compared, not slices: without an axis")
    formula = Formula(source, ctx)
    x = Term(formula, source.inputs[0])
    n = ctx.tensor(x.name).size
    x = x.reshape(n)
    known = (ctx.tensor(name).shape for i, name in enumerate(source.outputs) if name and i != 2)
    kept = next(known, (n,))
    column, row = x.reshape(n, 1), x.reshape(1, n)
    order = np.arange(n)
    before = formula.typed_constant(order[None] < order[:, None], "before")
    same = elementwise(formula, "equal", (column, row), BOOL)
    earlier = _total(elementwise(formula, "bitwise_and", (same, before), BOOL), n)
    zero = formula.typed_constant(np.asarray(0, np.int64), "zero")
    first = elementwise(formula, "equal", (earlier, zero), BOOL)
    ahead = before
    if source.attrs.get("sorted", 1):
        ahead = elementwise(formula, "greater", (column, row), BOOL)
    ahead = elementwise(formula, "bitwise_and", (ahead, first.reshape(1, n)), BOOL)
    place = _total(ahead, n)  # as many that count are ahead of each element
    beyond = formula.typed_constant(np.asarray(kept[0], np.int64), "beyond")
    place_of_first = elementwise(formula, CHOICE, (first, place, beyond), _INDEX)
    at = elementwise(formula, "min", (place_of_first, beyond), _INDEX)
    if not source.attrs.get("sorted", 1):
        named = elementwise(formula, "bitwise_and", (same, first.reshape(1, n)), BOOL)
        wide = elementwise(formula, COPY, (named,), _INDEX)
        place = _sum(elementwise(formula, "mul", (wide, place.reshape(1, n)), _INDEX), n)
    indices = _spread(formula, at, formula.typed_constant(order, "order"), kept, COPY)
    ones = formula.typed_constant(np.ones(n, np.int64), "ones")
    within = elementwise(formula, "min", (place, beyond), _INDEX)
    counts = _spread(formula, within, ones, kept, "add")
    values = formula.add("Pick", (x, indices), kept, "values", axis=0)
    for output, made in zip(source.outputs, (values, indices, place, counts), strict=False):
        if output:
            formula.nodes.append(Node(f"{output}/unique", "Identity", (made.name,), (output,)))
    return formula.nodes


def _total(tests: Term, n: int) -> Term:
    """How many of each row hold."""
    return _sum(elementwise(tests.formula, COPY, (tests,), _INDEX), n)


def _sum(rows: Term, n: int) -> Term:
    return rows.formula.add("Fold", (rows,), (n,), "sums", axis=1, function="add")


def _spread(formula: Formula, at: Term, values: Term, kept: Shape, function: str) -> Term:
    """``values`` at their places, without what is beyond the last."""
    start: Array = np.zeros(kept[0] + 1, np.int64)
    zeros = formula.typed_constant(start, "zeros")
    operands = (zeros, at, values)
    whole = formula.add("ScatterElements", operands, start.shape, axis=0, function=function)
    return formula.add("Slice", (whole,), kept, "kept", starts=(0,), steps=(1,))


OPERATOR = Operator(
    name="Unique", onnx={"Unique": _import}, typed={"Unique": _import}, stored=Stored.BOTH
)
