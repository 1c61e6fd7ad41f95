"""Which axes a reduction is over: those that the model states, or computes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations

import numpy as np

from edgeconv.ir.array_types import array_type
from edgeconv.ir.element_types import BOOL
from edgeconv.ir.graph import Node
from edgeconv.ir.layout import Shape
from edgeconv.kernels.ops.base import ImportContext, Source
from edgeconv.kernels.ops.elementwise import CHOICE, elementwise
from edgeconv.kernels.ops.formula import Formula, Term
from edgeconv.kernels.ops.importing import axis_of, flag, ints, optional_input

# The result of reducing a term over axes, their dimensions kept or not.
Reduction = Callable[[Term, Shape, bool], Term]


def reduced(
    source: Source,
    ctx: ImportContext,
    reduction: Reduction,
    of_nothing: float,
) -> Sequence[Node]:
    """``reduction`` over the axes of ``source``, of ``of_nothing`` where there are no elements.

    Axes of run time: all sets of so many axes that lead to the shape that the model states are
    computed, and the numbers of the axes choose one.
    """
    formula, out = Formula(source, ctx), ctx.tensor(source.outputs[0])
    x, keep = Term(formula, source.inputs[0]), flag(source, ctx, "keepdims", 1)
    if not ctx.tensor(x.name).size:
        kind = array_type(out.dtype)
        if kind.kind in "iu":  # the least and the largest, where that is infinite
            of_nothing = min(max(of_nothing, np.iinfo(kind).min), np.iinfo(kind).max)
        filled = np.full(out.shape, of_nothing, kind)
        constant = formula.typed_constant(filled, "of_nothing")
        return formula.finish(formula.add("Identity", (constant,), out.shape))
    axes = _known(source, ctx, len(x.shape))
    if axes is not None:
        return formula.finish(reduction(x, axes, keep))
    given = Term(formula, source.inputs[1])
    possible = [
        axes
        for axes in combinations(range(len(x.shape)), ctx.tensor(given.name).size)
        if _shape(x.shape, axes, keep=keep) == out.shape
    ]
    if not possible:
        got = f"{ctx.tensor(given.name).size} axes of {list(x.shape)} to {list(out.shape)}"
        raise ctx.reject(source, got, "no axes lead to the shape that the model states")
    result = reduction(x, possible[0], keep)
    for axes in possible[1:]:
        other = reduction(x, axes, keep)
        result = elementwise(
            formula, CHOICE, (_are(given, axes, len(x.shape)), other, result), out.dtype
        )
    return formula.finish(result)


def _known(source: Source, ctx: ImportContext, rank: int) -> Shape | None:
    """The reduced axes, sorted, none only where the model asks for that; None of run time."""
    if "axes" in source.attrs:
        given = np.asarray(source.attrs["axes"])
    elif name := optional_input(source, 1):
        value = ctx.constant(name)
        if value is None:
            return None
        given = value
    else:
        given = np.zeros(0, np.int64)
    if given.size == 0:
        return () if flag(source, ctx, "noop_with_empty_axes") else tuple(range(rank))
    return tuple(sorted({axis_of(source, ctx, axis, rank) for axis in ints(given)}))


def _shape(shape: Shape, axes: Shape, *, keep: bool) -> Shape:
    sizes = enumerate(shape)
    if keep:
        return tuple(1 if axis in axes else size for axis, size in sizes)
    return tuple(size for axis, size in sizes if axis not in axes)


def _are(given: Term, axes: Shape, rank: int) -> Term:
    """Whether each of ``axes`` is among the ``given`` ones, which may count from the end."""
    formula = given.formula
    found: Term | None = None
    for axis in axes:
        places = np.array([[axis], [axis - rank]], np.int32)
        equal = elementwise(
            formula, "equal", (given, formula.typed_constant(places, f"axis{axis}")), BOOL
        )
        flat = equal.reshape(2 * len(axes))
        among = formula.add("Fold", (flat,), (), f"has{axis}", axis=0, function="max")
        found = elementwise(formula, "bitwise_and", (found, among), BOOL) if found else among
    assert found is not None
    return found
