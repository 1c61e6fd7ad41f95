"""Random graphs with data-dependent sizes: nodes that find and move (`random_rows`), and that
compute of what was found.

python -m tests.models.random_data_dependent SEED FILE
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto

from tests.models.data_dependent_graph import DataDependentGraph, Feeds, UnfitError
from tests.models.random_rows import (
    compress,
    concat,
    expand,
    filled,
    flatten,
    gather,
    gather_elements,
    gather_nd,
    is_number,
    is_real,
    mask,
    non_zero,
    pad,
    range_,
    reshape,
    scatter_elements,
    scatter_nd,
    slice_,
    split,
    squeeze,
    suppression,
    top,
    transpose,
    unsqueeze,
    with_axes,
)

NODES = 14
Draw = Callable[[DataDependentGraph], object]


def arithmetic(g: DataDependentGraph) -> None:
    x = g.pick(is_number)
    y = g.like(x) if g.chance(0.7) else g.number(g.values[x][0])
    op = g.random.choice(("Add", "Sub", "Mul", "Max", "Min"))
    g.node(op, *((x, y) if g.chance(0.6) else (y, x)))


def quotient(g: DataDependentGraph) -> None:
    x = g.pick(is_number)
    by = g.constant(g.random.choice((2, 4, -2)), g.values[x][0].dtype)
    g.node("Div", x, by)


def comparison(g: DataDependentGraph) -> None:
    x = g.pick(is_number, exact=True)
    y = g.like(x) if g.chance(0.6) else g.number(g.values[x][0])
    if y in g.inexact:
        raise UnfitError
    g.node(g.random.choice(("Greater", "Less", "Equal")), x, y)


def logic(g: DataDependentGraph) -> None:
    x = g.pick(lambda v: v.dtype == np.bool_)
    if g.chance(0.3):
        g.node("Not", x)
    else:
        g.node(g.random.choice(("And", "Or", "Xor")), x, g.like(x))


def where(g: DataDependentGraph) -> None:
    x = g.pick(is_number)
    condition = g.pick(lambda v: v.dtype == np.bool_)
    other = g.like(x) if g.chance(0.7) else g.number(g.values[x][0])
    g.node("Where", condition, *((x, other) if g.chance(0.5) else (other, x)))


def unary(g: DataDependentGraph) -> None:
    x = g.pick(is_number)
    ops = ["Neg", "Abs", "Identity"]
    ops += ["Relu", "Floor"] if g.kind(x) == "f" and x not in g.inexact else []
    g.node(g.random.choice(ops), x)


def curve(g: DataDependentGraph) -> None:
    x = g.pick(is_real)
    g.node(g.random.choice(("Sigmoid", "Tanh", "Exp")), x, rounds=True)


def cast(g: DataDependentGraph) -> None:
    x = g.pick(exact=True)
    kinds = (TensorProto.FLOAT, TensorProto.INT64, TensorProto.INT32, TensorProto.BOOL)
    g.node("Cast", x, to=g.random.choice(kinds))


def reduce(g: DataDependentGraph) -> None:
    op = g.random.choice(("ReduceSum", "ReduceMax", "ReduceMin", "ReduceMean", "ReduceProd"))
    x = g.pick(lambda v: v.ndim > 0 and (is_real(v) if op == "ReduceMean" else is_number(v)))
    axes = sorted({g.axis(x) % g.rank(x) for _ in range(g.random.randint(1, 2))})
    rounds = op in ("ReduceMean", "ReduceProd")
    if rounds and g.kind(x) != "f":
        raise UnfitError
    if op == "ReduceMean" and not any(g.values[x][i].size for i in g.live):
        raise UnfitError  # of nothing: 0 in ONNX Runtime, NaN where onnx evaluates it
    attrs = {"keepdims": int(g.chance(0.5)), "rounds": rounds}
    with_axes(g, op, x, axes, **attrs)


def arg(g: DataDependentGraph) -> None:
    x = g.pick(lambda v: v.ndim > 0 and is_number(v), exact=True)
    attrs: dict[str, Any] = {
        "keepdims": int(g.chance(0.5)),
        "select_last_index": int(g.chance(0.2)),
    }
    g.node(g.random.choice(("ArgMax", "ArgMin")), x, axis=g.axis(x), **attrs)


def cumulative(g: DataDependentGraph) -> None:
    x = g.pick(lambda v: v.ndim > 0 and is_number(v))
    attrs: dict[str, Any] = {"exclusive": int(g.chance(0.3)), "reverse": int(g.chance(0.2))}
    g.node("CumSum", x, g.constant(g.axis(x)), **attrs)


def softmax(g: DataDependentGraph) -> None:
    x = g.pick(lambda v: is_real(v) and v.ndim > 0)
    g.node("Softmax", x, axis=g.axis(x), rounds=True)


def product(g: DataDependentGraph) -> None:
    x = g.pick(lambda v: is_real(v) and 1 < v.ndim < 4)
    (depth, *more) = set(g.sizes(x, -1))
    if more:
        raise UnfitError
    eighths = [g.random.randint(-8, 8) / 8 for _ in range(3 * depth)]
    matrix = g.constant(np.array(eighths).reshape(depth, 3), np.float32)
    if g.rank(x) == 2 and g.chance(0.3):
        g.node("Gemm", x, matrix, rounds=True)
    else:
        g.node("MatMul", x, matrix, rounds=True)


def outer(g: DataDependentGraph) -> None:
    """Of two tensors that are there."""
    x = g.pick(lambda v: is_real(v) and 0 < v.ndim < 4)
    g.node("MatMul", x, g.pick(lambda v: is_real(v) and 0 < v.ndim < 4), rounds=True)


def begin(g: DataDependentGraph) -> None:
    """Rows that are found."""
    for draw in g.random.sample((non_zero, compress, top, suppression), 2):
        draw(g)
    if not any(map(g.is_data_dependent, g.values)):
        raise UnfitError


DRAWN: tuple[Draw, ...] = (
    *(mask, mask, non_zero, compress, top, suppression),
    *(gather, gather, gather_nd, gather_elements, slice_, slice_, concat, concat, reshape, reshape),
    *(flatten, transpose, unsqueeze, squeeze, expand, filled, range_, pad, split),
    *(scatter_nd, scatter_elements),
    *(arithmetic, arithmetic, arithmetic, quotient, comparison, logic, where, where, unary, curve),
    *(cast, reduce, reduce, reduce, arg, cumulative, softmax, product, outer),
)


def random_data_dependent(seed: int, nodes: int = NODES) -> tuple[onnx.ModelProto, list[Feeds]]:
    """A graph of about so many nodes, and inputs that it can be run on."""
    graph = DataDependentGraph(seed)
    draws = itertools.chain(itertools.repeat(begin, 50), itertools.repeat(None, 6 * nodes))
    begun = False
    for draw in draws:
        if begun and draw is begin:
            continue
        if len(graph.nodes) >= nodes:
            break
        with suppress(UnfitError):
            (draw or graph.random.choice(DRAWN))(graph)
            begun = True
    return graph.finished()


if __name__ == "__main__":
    onnx.save(random_data_dependent(int(sys.argv[1]))[0], sys.argv[2])
