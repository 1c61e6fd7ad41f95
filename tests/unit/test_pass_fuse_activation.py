"""Activations in epilogues."""

from __future__ import annotations

import pytest

from edgeconv.ir.activation import Activation, grid
from edgeconv.ir.graph import Epilogue
from edgeconv.kernels.ops.base import Operator
from edgeconv.model.passes.fuse_activation import run
from tests.ir_builder import GraphBuilder, assert_same_results, ops

RELU, TANH = Activation("relu"), Activation("tanh")


def rounded(b: GraphBuilder, x: str, to: Activation) -> str:
    return b.node("Unary", (x,), b.shape(x), epilogue=Epilogue(before=to))


@pytest.fixture(autouse=True)
def _fusing_operators(monkeypatch: pytest.MonkeyPatch) -> None:
    fusing = {name: Operator(name, fuses=True) for name in ("Conv", "Binary", "Unary")}
    table = {**fusing, "Pool": Operator("Pool")}
    monkeypatch.setattr("edgeconv.kernels.ops.operators", lambda: table)


@pytest.mark.parametrize("kind", ["relu", "tanh", "silu", "hard_swish"])
def test_into_the_epilogue_of_its_producer(kind: str) -> None:
    b = GraphBuilder()
    y = b.unary(b.conv(b.input(1, 2, 4, 4), 3), kind, 0.2, 0.5, out="active")
    before = b.graph(b.unary(b.binary("mul", y, y), "tanh"))
    after = run(before)
    assert ops(after) == ["Conv", "Binary"]
    assert after.nodes[0].output == "active"
    assert after.nodes[0].epilogue.before.kind == kind
    assert_same_results(before, after)


def test_behind_a_residual() -> None:
    b = GraphBuilder()
    x = b.input(1, 2, 4, 4)
    before = b.graph(b.unary(b.conv(x, 2, epilogue=Epilogue(TANH, x)), "relu"))
    after = run(before)
    assert [node.epilogue for node in after.nodes] == [Epilogue(TANH, x, RELU)]
    assert_same_results(before, after)


@pytest.mark.parametrize(
    ("first", "then", "both"),
    [
        (RELU, RELU, RELU),
        (RELU, Activation("clip", -2, 1), Activation("clip", 0, 1)),
        (Activation("clip", -1, 1), RELU, Activation("clip", 0, 1)),
        (Activation("clip", 2, 1), Activation("clip", -5, 5), Activation("clip", 2, 1)),
        (Activation("abs"), Activation("abs"), Activation("abs")),
    ],
)
@pytest.mark.parametrize("residual", [True, False])
def test_two_that_make_one(
    first: Activation, then: Activation, both: Activation, residual: bool
) -> None:
    b = GraphBuilder()
    x = b.input(1, 2, 4, 4)
    epilogue = Epilogue(residual=x, after=first) if residual else Epilogue(before=first)
    y = b.unary(b.conv(x, 2, epilogue=epilogue), then.kind, then.alpha, then.beta)
    before = b.graph(y)
    after = run(before)
    assert ops(after) == ["Conv"]
    assert both in (after.nodes[0].epilogue.before, after.nodes[0].epilogue.after)
    assert_same_results(before, after)


def test_what_must_stay() -> None:
    b = GraphBuilder()
    x = b.input(1, 2, 4, 4)
    shared, output = b.conv(x, 2), b.conv(x, 2)
    before = b.graph(
        b.unary(shared, "relu"),
        b.unary(shared, "tanh"),  # two readers
        output,
        b.unary(output, "relu"),  # an output in between
        b.unary(x, "relu"),  # the caller's input
        b.unary(b.conv(x, 2, epilogue=Epilogue(TANH)), "relu"),  # no single function
        b.unary(b.conv(x, 2, epilogue=Epilogue(TANH, x, TANH)), "relu"),
        b.unary(b.unary(b.reshape(x, 2, 16), "exp"), "tanh"),
        b.unary(b.pool(x, "max", 2), "relu"),  # its kernel applies no epilogue
        b.unary(b.reshape(x, 32), "relu"),  # its operator is not known to
        b.node("Unary", (b.conv(x, 2),), (1, 2, 4, 4), {}, Epilogue(RELU, x)),
    )
    assert run(before) is before


@pytest.mark.parametrize("steps", [255, 300])
def test_a_second_rounding_to_eight_bits(steps: int) -> None:
    """Integers that a Binary rounds to are a table's index, provided that they have eight bits."""
    one, two = grid(0.5, -100, 155), grid(0.7, -80, steps - 80)
    b = GraphBuilder()
    x, y = (rounded(b, b.input(1, 2, 4, 4), one) for _ in range(2))
    sums = rounded(b, rounded(b, b.binary("add", x, y), one), two)
    products = rounded(b, rounded(b, b.conv(x, 3), one), two)
    before = b.graph(sums, products)
    after = run(before)
    added, *_ = (node for node in after.nodes if node.op == "Binary")
    assert added.epilogue == (Epilogue(one) if steps == 255 else Epilogue(one, after=two))
    (computed,) = (node for node in after.nodes if node.op == "Conv")
    assert computed.epilogue == Epilogue(one, after=two)
    assert_same_results(before, after)
