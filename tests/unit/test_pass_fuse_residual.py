"""Additions in epilogues."""

from __future__ import annotations

import pytest

from edgeconv.ir.activation import Activation
from edgeconv.ir.graph import Epilogue
from edgeconv.kernels.ops.base import Operator
from edgeconv.model.passes.fuse_residual import run
from tests.ir_builder import GraphBuilder, assert_same_results, ops

RELU, TANH = Activation("relu"), Activation("tanh")


@pytest.fixture(autouse=True)
def _fusing_operators(monkeypatch: pytest.MonkeyPatch) -> None:
    table = {name: Operator(name, fuses=True) for name in ("Conv", "Dense", "Binary", "Pool")}
    monkeypatch.setattr("edgeconv.kernels.ops.operators", lambda: table)


@pytest.mark.parametrize("residual_first", [True, False])
@pytest.mark.parametrize("before_add", [Activation(), TANH])
@pytest.mark.parametrize("after_add", [Activation(), RELU])
def test_a_shortcut(residual_first: bool, before_add: Activation, after_add: Activation) -> None:
    b = GraphBuilder()
    x = b.unary(b.input(1, 2, 4, 4), "neg")
    y = b.conv(x, 2, 3, pad=1, epilogue=Epilogue(before_add))
    operands = (x, y) if residual_first else (y, x)
    before = b.graph(b.binary("add", *operands, Epilogue(after_add)))
    after = run(before)
    assert ops(after) == ["Unary", "Conv"]
    assert after.nodes[1].epilogue == Epilogue(before_add, x, after_add)
    assert_same_results(before, after)


def test_a_dense() -> None:
    b = GraphBuilder()
    x = b.input(3, 4)
    before = b.graph(b.binary("add", b.dense(x, 4), x))
    after = run(before)
    assert ops(after) == ["Dense"]
    assert_same_results(before, after)


@pytest.mark.parametrize("swapped", [True, False])
def test_of_two_convolutions_the_later_one_adds(swapped: bool) -> None:
    b = GraphBuilder()
    x = b.input(1, 2, 4, 4)
    first, second = b.conv(x, 3, out="first"), b.conv(x, 3, out="second")
    operands = (second, first) if swapped else (first, second)
    before = b.graph(b.binary("add", *operands))
    after = run(before)
    assert [node.epilogue.residual for node in after.nodes] == ["", "first"]
    assert_same_results(before, after)


def test_a_residual_that_is_computed_later_moves_the_convolution_down() -> None:
    b = GraphBuilder()
    x = b.input(1, 2, 4, 4)
    y = b.conv(x, 2)
    other = b.pool(b.unary(x, "exp"), "max", 3, pad=1)
    before = b.graph(b.binary("add", y, other))
    after = run(before)
    assert ops(after) == ["Unary", "Pool", "Conv"]
    assert_same_results(before, after)


def test_a_chain_of_additions_uses_one_convolution_each() -> None:
    b = GraphBuilder()
    x = b.input(1, 2, 4, 4)
    y = b.binary("add", b.binary("add", b.conv(x, 2), b.conv(x, 2)), b.conv(x, 2))
    before = b.graph(b.binary("add", y, x))
    after = run(before)
    assert ops(after) == ["Conv"] * 3 + ["Binary"]
    assert_same_results(before, after)


def test_what_must_stay() -> None:
    b = GraphBuilder()
    x = b.input(1, 2, 4, 4)
    shared, output, twice = b.conv(x, 2), b.conv(x, 2), b.conv(x, 2)
    full = b.conv(x, 2, epilogue=Epilogue(residual=x))
    before = b.graph(
        b.binary("add", shared, x),
        b.unary(shared, "relu"),  # two readers
        output,
        b.binary("add", output, x),  # an output in between
        b.binary("add", twice, twice),
        b.binary("add", full, x),  # has a residual
        b.binary("add", b.conv(x, 2, epilogue=Epilogue(after=RELU)), x),
        b.binary("mul", b.conv(x, 2), x),
        b.binary("sub", b.conv(x, 2), x),
        b.binary("add", b.conv(x, 2), b.normal(1, 2, 4, 4)),  # a constant
        b.binary("add", b.conv(x, 2), b.pool(x, "average", 4)),  # broadcasts
        b.binary("add", b.conv(b.pool(x, "max", 4), 2), x),
        b.binary("add", b.pool(x, "max", 1), x),  # no convolution
        b.binary("add", b.conv(x, 2), x, Epilogue(residual=x)),
    )
    assert run(before) is before
