"""Arithmetic per channel as Affine."""

from __future__ import annotations

import numpy as np
import pytest

from edgeconv.ir.activation import Activation
from edgeconv.ir.graph import Epilogue
from edgeconv.model.passes.binary_to_affine import run
from tests.ir_builder import GraphBuilder, assert_same_results, ops

SHAPES = [(3, 1, 1), (1, 3, 1, 1)]
SCALARS = [(), (1,), (1, 1, 1, 1)]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kind", ["add", "sub", "mul", "div"])
@pytest.mark.parametrize("constant_first", [True, False])
def test_one_constant_per_channel(shape: tuple[int, ...], kind: str, constant_first: bool) -> None:
    b = GraphBuilder()
    x, c = b.input(2, 3, 4, 5), b.normal(*shape)
    before = b.graph(b.binary(kind, *((c, x) if constant_first else (x, c))))
    after = run(before)
    divides_by_x = kind == "div" and constant_first
    assert ops(after) == (["Binary"] if divides_by_x else ["Affine"])
    assert_same_results(before, after)


@pytest.mark.parametrize("shape", SCALARS)
@pytest.mark.parametrize("kind", ["add", "mul"])
@pytest.mark.parametrize("where", ["behind Conv", "before Conv", "behind Affine", "before Affine"])
def test_a_scalar_next_to_what_it_folds_into(shape: tuple[int, ...], kind: str, where: str) -> None:
    b = GraphBuilder()
    x, c = b.input(2, 3, 4, 5), b.normal(*shape)
    relation, op = where.split()
    if relation == "behind":
        x = b.conv(x, 3) if op == "Conv" else b.affine(x)
    y = b.binary(kind, x, c)
    if relation == "before":
        y = b.conv(y, 3) if op == "Conv" else b.affine(y)
    before = b.graph(y)
    after = run(before)
    assert "Binary" not in ops(after)
    assert_same_results(before, after)


def test_a_scalar_elsewhere_stays() -> None:
    b = GraphBuilder()
    x = b.input(2, 3, 4, 5)
    shared, active = b.conv(x, 3), b.conv(x, 3, epilogue=Epilogue(Activation("relu")))
    before = b.graph(
        b.binary("add", x, 2.0),
        b.binary("add", shared, 2.0),
        b.unary(shared, "relu"),  # another reader
        b.binary("add", active, 2.0),  # an activation in between
        b.conv(b.binary("mul", x, 2.0, Epilogue(Activation("relu"))), 3),
    )
    assert run(before) is before


def test_rank_three() -> None:
    b = GraphBuilder()
    before = b.graph(b.binary("mul", b.input(2, 3, 4), b.normal(3, 1)))
    after = run(before)
    assert ops(after) == ["Affine"]
    assert_same_results(before, after)


@pytest.mark.parametrize("shape", [(5,), (4, 5), (2, 1, 1, 1), (3, 4, 1), (1, 1, 3, 1, 1)])
def test_other_broadcasts_stay(shape: tuple[int, ...]) -> None:
    b = GraphBuilder()
    before = b.graph(b.binary("add", b.input(2, 3, 4, 5), b.normal(*shape)))
    assert run(before) is before


def test_other_operands_stay() -> None:
    b = GraphBuilder()
    x = b.input(2, 3, 1, 1)
    before = b.graph(
        b.binary("add", x, b.unary(x, "relu")),
        b.binary("max", x, 2.0),
        b.binary("pow", x, 2.0),
        b.binary("div", x, b.constant(np.array([1.0, 0.0, 2.0]).reshape(3, 1, 1))),
        b.binary("mul", b.reshape(x, 2, 3), 2.0),
        b.binary("add", x, b.normal(3, 4, 5)),  # broadcasts x
        b.binary("add", x, b.constant(np.array([np.inf]))),
    )
    assert run(before) is before
