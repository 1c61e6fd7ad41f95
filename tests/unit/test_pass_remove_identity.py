"""Removing nodes that copy."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from edgeconv.ir.activation import Activation
from edgeconv.ir.graph import Epilogue
from edgeconv.model.passes.remove_identity import run
from tests.ir_builder import GraphBuilder, assert_same_results, ops

Make = Callable[[GraphBuilder, str], str]
SHAPE = (1, 3, 4, 5)

COPIES: dict[str, Make] = {
    "identity": lambda b, x: b.node("Identity", (x,), SHAPE),
    "reshape": lambda b, x: b.reshape(x, *SHAPE),
    "transpose": lambda b, x: b.transpose(x, 0, 1, 2, 3),
    "unary": lambda b, x: b.unary(x, "none"),
    "pad": lambda b, x: b.pad(x, (0,) * 8),
    "slice": lambda b, x: b.slice(x, 1, 0, 3),
    "reversed slice of one": lambda b, x: b.slice(x, 0, 0, 1, step=-1),
    "expand": lambda b, x: b.node("Expand", (x,), SHAPE),
    "tile": lambda b, x: b.node("Tile", (x,), SHAPE, {"repeats": (1, 1, 1, 1)}),
    "concat": lambda b, x: b.concat(1, x),
    "max pool": lambda b, x: b.pool(x, "max", 1),
    "average pool": lambda b, x: b.pool(x, "average", 1),
    "gather": lambda b, x: b.gather(x, (0, 1, 2)),
    "affine": lambda b, x: b.node(
        "Affine", (x, b.constant(np.ones(3)), b.constant(np.zeros(3))), SHAPE
    ),
    "dense": lambda b, x: b.node(
        "Dense", (x, b.constant(np.eye(5)), b.constant(np.zeros(5))), SHAPE
    ),
    "plus 0": lambda b, x: b.binary("add", x, 0.0),
    "times 1": lambda b, x: b.binary("mul", x, 1.0),
    "over 1": lambda b, x: b.binary("div", x, 1.0),
}

OTHERS: dict[str, Make] = {
    "reshape": lambda b, x: b.reshape(x, 1, 3, 20),
    "transpose of equal dimensions": lambda b, x: b.transpose(b.slice(x, 3, 0, 4), 0, 1, 3, 2),
    "unary": lambda b, x: b.unary(x, "relu"),
    "epilogue": lambda b, x: b.binary("add", x, 0.0, Epilogue(before=Activation("relu"))),
    "reversed slice": lambda b, x: b.slice(x, 1, 2, 3, step=-1),
    "slice": lambda b, x: b.slice(x, 1, 1, 2),
    "padded pool": lambda b, x: b.pool(x, "average", 1, pad=1, count_include_pad=True),
    "pool over the edge": lambda b, x: b.pool(x, "max", 2, size=SHAPE[2:]),
    "strided pool": lambda b, x: b.pool(x, "max", 1, stride=2),
    "gather": lambda b, x: b.gather(x, (0, 2, 1)),
    "dense": lambda b, x: b.node("Dense", (x, b.constant(np.eye(5)[::-1])), SHAPE),
    "dense with a bias": lambda b, x: b.node(
        "Dense", (x, b.constant(np.eye(5)), b.constant(np.ones(5))), SHAPE
    ),
    "0 minus x": lambda b, x: b.binary("sub", 0.0, x),
    "max with 0": lambda b, x: b.binary("max", x, 0.0),
    "times 1 that broadcasts": lambda b, x: b.binary("mul", x, b.constant(np.ones((2, 1, 1, 1)))),
}


@pytest.mark.parametrize("make", COPIES.values(), ids=COPIES.keys())
def test_a_copy_disappears(make: Make) -> None:
    b = GraphBuilder()
    x = b.unary(b.input(*SHAPE), "tanh")
    before = b.graph(b.unary(make(b, x), "relu"))
    after = run(before)
    assert ops(after) == ["Unary", "Unary"]
    assert_same_results(before, after)


@pytest.mark.parametrize("make", OTHERS.values(), ids=OTHERS.keys())
def test_anything_else_stays(make: Make) -> None:
    b = GraphBuilder()
    before = b.graph(make(b, b.unary(b.input(*SHAPE), "tanh")))
    assert run(before) is before


def test_a_chain_of_copies_disappears_at_once() -> None:
    b = GraphBuilder()
    y = b.unary(b.input(*SHAPE), "tanh")
    for make in COPIES.values():
        y = make(b, y)
    before = b.graph(y)
    after = run(before)
    assert ops(after) == ["Unary"]
    assert_same_results(before, after)


def test_what_wires_an_input_or_a_constant_to_an_output_stays() -> None:
    b = GraphBuilder()
    x = b.input(2, 3)
    c = b.normal(2, 3)
    before = b.graph(*(b.node("Identity", (name,), (2, 3)) for name in (x, c)))
    assert run(before) is before
