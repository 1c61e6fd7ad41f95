"""Folding arithmetic into a Dense."""

from __future__ import annotations

import numpy as np
import pytest

from edgeconv.ir.activation import Activation
from edgeconv.ir.graph import Epilogue
from edgeconv.model.passes.fold_dense_bias import run
from tests.ir_builder import GraphBuilder, assert_same_results, ops


@pytest.mark.parametrize("kind", ["add", "sub", "mul", "div"])
@pytest.mark.parametrize("shape", [(), (1,), (4,), (1, 4), (1, 1)])
@pytest.mark.parametrize("constant_first", [True, False])
@pytest.mark.parametrize("bias", [True, False])
def test_a_row_or_a_scalar(
    kind: str, shape: tuple[int, ...], constant_first: bool, bias: bool
) -> None:
    b = GraphBuilder()
    x, c = b.dense(b.input(3, 5), 4, bias), b.normal(*shape)
    epilogue = Epilogue(before=Activation("relu"))
    before = b.graph(b.binary(kind, *((c, x) if constant_first else (x, c)), epilogue))
    after = run(before)
    divides_by_x = kind == "div" and constant_first
    assert ops(after) == (["Dense", "Binary"] if divides_by_x else ["Dense"])
    assert after.nodes[-1].epilogue == epilogue
    assert_same_results(before, after)


def test_a_dense_over_rows() -> None:
    b = GraphBuilder()
    before = b.graph(b.binary("mul", b.binary("add", b.dense(b.input(2, 3, 5), 4), b.normal(4)), 2))
    after = run(before)
    assert ops(after) == ["Dense"]
    assert_same_results(before, after)


def test_adding_a_bias_keeps_the_weights_themselves() -> None:
    b = GraphBuilder()
    before = b.graph(b.binary("add", b.dense(b.input(3, 5), 4, bias=False), b.normal(4)))
    assert run(before).nodes[0].inputs[1] == before.nodes[0].inputs[1]


def test_what_must_stay() -> None:
    b = GraphBuilder()
    x = b.input(3, 5)
    output, shared = b.dense(x, 4), b.dense(x, 4)
    active = b.node("Dense", (x, b.normal(4, 5)), (3, 4), {}, Epilogue(Activation("relu")))
    before = b.graph(
        output,
        b.binary("add", output, 2.0),  # an output in between
        b.binary("add", shared, 1.0),
        b.unary(shared, "relu"),  # two readers
        b.binary("add", active, 1.0),  # an activation in between
        b.binary("add", b.dense(x, 4), b.normal(3, 1)),  # varies along the rows
        b.binary("add", b.dense(x, 1), b.normal(4)),  # broadcasts the result
        b.binary("max", b.dense(x, 4), 1.0),
        b.binary("div", b.dense(x, 4), b.constant(np.zeros(4))),
        b.binary("add", b.dense(x, 4), b.unary(b.dense(x, 4), "relu")),
        b.binary("add", b.dense(b.input(4, 4, 5), 4), b.normal(4, 4)),
        b.binary("add", b.unary(x, "relu"), b.normal(5)),  # no Dense
        b.binary("add", b.unary(b.input(), "relu"), 1.0),  # nor dimensions
    )
    assert run(before) is before
