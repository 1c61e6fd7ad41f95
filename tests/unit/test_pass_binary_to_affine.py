"""Arithmetic per channel as Affine."""

from __future__ import annotations

import numpy as np
import pytest

from edgeconv.passes.binary_to_affine import run
from tests.ir_builder import GraphBuilder, assert_same_results, ops

SHAPES = [(), (1,), (3, 1, 1), (1, 3, 1, 1), (1, 1, 1, 1)]


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
