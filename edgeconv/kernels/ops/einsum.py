"""Sums of products by the names of dimensions, as transpositions, products of matrices and sums."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from edgeconv.ir.graph import Node
from edgeconv.kernels.lowering.options import Stored
from edgeconv.kernels.ops.base import ImportContext, Operator, Source
from edgeconv.kernels.ops.formula import Formula, Term

_OWN = "0123456789"  # names of the dimensions that an ellipsis stands for


def _import_einsum(source: Source, ctx: ImportContext) -> Sequence[Node]:
    """From the first operand to the last; what no later one and not the result names is summed."""
    formula = Formula(source, ctx)
    operands = formula.inputs()
    names, wanted = _named(source, ctx, [len(term.shape) for term in operands])
    sizes = _sizes(source, ctx, operands, names)
    parts = [_diagonal(term, each) for term, each in zip(operands, names, strict=True)]
    term, have = parts[0]
    for number, (other, others) in enumerate(parts[1:], start=2):
        later = {*wanted, *(name for _, each in parts[number:] for name in each)}
        term, have = _product(_summed(term, have, {*later, *others}), (other, others), later, sizes)
    term, have = _summed(term, have, set(wanted))
    return formula.finish(_arranged(term, have, wanted, sizes))


def _named(source: Source, ctx: ImportContext, ranks: Sequence[int]) -> tuple[list[str], str]:
    """Names of the dimensions of every operand, and of the result."""
    equation = source.attrs["equation"].replace(" ", "")
    left, arrow, right = equation.partition("->")
    names = left.split(",")
    rests = [
        rank - len(each.replace("...", "")) if "..." in each else 0
        for each, rank in zip(names, ranks, strict=False)
    ]
    plain = (each.replace("...", "") for each in (*names, right))
    fits = len(names) == len(ranks) and min(rests) >= 0 and max(rests) <= len(_OWN)
    if not fits or not all(not each or each.isalpha() for each in plain):
        got = f"equation {equation!r} of {len(ranks)} operands"
        raise ctx.reject(source, got, "letters name dimensions, '...' those left, '->' the result")
    most = max(rests)
    spelled = [
        each.replace("...", _OWN[most - rest : most])
        for each, rest in zip(names, rests, strict=True)
    ]
    if not arrow:
        joined = "".join(names).replace("...", "")
        once = sorted(name for name in set(joined) if joined.count(name) == 1)
        right = f"...{''.join(once)}" if most else "".join(once)
    return spelled, right.replace("...", _OWN[:most])


def _sizes(
    source: Source, ctx: ImportContext, operands: Sequence[Term], names: Sequence[str]
) -> dict[str, int]:
    found: dict[str, int] = {}
    for term, each in zip(operands, names, strict=True):
        if len(each) != len(term.shape):
            got = f"{each!r} of {list(term.shape)}"
            raise ctx.reject(source, got, "every dimension of an operand has a name")
        for name, size in zip(each, term.shape, strict=True):
            if {found.get(name, size), size} not in ({size}, {1, size}) and found[name] != 1:
                got = f"{name!r} of {found[name]} and of {size}"
                raise ctx.reject(source, got, "dimensions of one name have one size")
            found[name] = max(found.get(name, 1), size)
    return found


def _diagonal(term: Term, names: str) -> tuple[Term, str]:
    """The elements where all dimensions of one name have the same index."""
    for name in dict.fromkeys(names):
        while names.count(name) > 1:
            first, second = names.index(name), names.rindex(name)
            rank, size = len(names), term.shape[first]
            order = [*(d for d in range(rank) if d not in (first, second)), first, second]
            turned = term.transpose(*order)
            flat = turned.reshape(*turned.shape[:-2], size * size)
            places = term.formula.typed_constant(np.arange(size) * (size + 1), "diagonal")
            shape = (*flat.shape[:-1], size)
            term = term.formula.add("Gather", (flat, places), shape, axis=rank - 2)
            names = "".join(names[d] for d in order[:-1])
    return term, names


def _summed(term: Term, names: str, kept: set[str]) -> tuple[Term, str]:
    """Without the dimensions that are not ``kept``."""
    axes = tuple(d for d, name in enumerate(names) if name not in kept)
    if not axes:
        return term, names
    return term.reduce("sum", axes, keepdims=False), "".join(n for n in names if n in kept)


def _product(
    left: tuple[Term, str], right: tuple[Term, str], later: set[str], sizes: Mapping[str, int]
) -> tuple[Term, str]:
    """The product of matrices, one for each index of what both have and ``later`` names."""
    (a, of_a), (b, of_b) = left, _summed(*right, {*later, *left[1]})
    stack = [name for name in of_a if name in of_b and name in later]
    depth = [name for name in of_a if name in of_b and name not in later]
    rows = [name for name in of_a if name not in of_b]
    columns = [name for name in of_b if name not in of_a]

    def size(names: Sequence[str]) -> int:
        return math.prod(sizes[name] for name in names)

    first = _arranged(a, of_a, "".join((*stack, *rows, *depth)), sizes)
    second = _arranged(b, of_b, "".join((*stack, *depth, *columns)), sizes)
    factors = (
        first.reshape(size(stack), size(rows), size(depth)),
        second.reshape(size(stack), size(depth), size(columns)),
    )
    shape = (size(stack), size(rows), size(columns))
    product = a.formula.add("MatMul", factors, shape)
    names = "".join((*stack, *rows, *columns))
    return product.reshape(*(sizes[name] for name in names)), names


def _arranged(term: Term, have: str, want: str, sizes: Mapping[str, int]) -> Term:
    """With its dimensions in the order of ``want``, and as large as others of their names."""
    order = [have.index(name) for name in want]
    term = term.transpose(*order) if order != sorted(order) else term
    full = tuple(sizes[name] for name in want)
    return term if term.shape == full else term.formula.add("Expand", (term,), full)


OPERATOR = Operator(
    name="Einsum",
    onnx={"Einsum": _import_einsum},
    typed={"Einsum": _import_einsum},
    stored=Stored.BOTH,
)
