"""Element-wise nodes that together are a function of one int8 become a table."""

from __future__ import annotations

from edgeconv.ir.activation import Activation, grid
from edgeconv.ir.graph import Epilogue
from edgeconv.model.passes.tabulate import run
from tests.ir_builder import GraphBuilder, assert_same_results, ops

FIRST, GATE, LAST = grid(0.05, -120, 135), grid(1 / 256, 0, 255), grid(0.03, -20, 235)
SHAPE = (1, 4, 3, 5)


def of_eight_bits(b: GraphBuilder) -> str:
    x = b.conv(b.input(1, 3, 3, 5), 4, epilogue=Epilogue(before=FIRST))
    b.tensors[x] = b.tensors[x].__class__(x, SHAPE)
    return x


def unary(b: GraphBuilder, x: str, kind: str, after: Activation) -> str:
    return b.node("Unary", (x,), SHAPE, {}, Epilogue(Activation(kind), after=after))


def last(b: GraphBuilder, kind: str, one: str | float, other: str | float) -> str:
    return b.binary(kind, one, other, Epilogue(before=LAST))


def test_silu() -> None:
    """In either order of the factors."""
    for swapped in (False, True):
        b = GraphBuilder()
        x = of_eight_bits(b)
        pair = (unary(b, x, "sigmoid", GATE), x)
        before = b.graph(last(b, "mul", *(pair if swapped else pair[::-1])))
        after = run(before)
        assert ops(after) == ["Conv", "Table"]
        assert after.nodes[1].origin == ("n1", "n2")
        assert run(after) is after
        assert_same_results(before, after)


def test_a_chain_with_constants_and_a_residual() -> None:
    b = GraphBuilder()
    x = of_eight_bits(b)
    scaled = b.binary("mul", unary(b, x, "tanh", GATE), 0.7)
    y = b.node("Unary", (scaled,), SHAPE, {}, Epilogue(Activation("relu"), x, LAST))
    before = b.graph(y)
    after = run(before)
    assert ops(after) == ["Conv", "Table"]
    assert_same_results(before, after)


def test_what_stays() -> None:
    """A gate that others read, one of another tensor, a result without a grid, and one node."""
    b = GraphBuilder()
    x, other = of_eight_bits(b), of_eight_bits(b)
    shared, foreign = unary(b, x, "sigmoid", GATE), unary(b, other, "sigmoid", GATE)
    alone = unary(b, x, "tanh", LAST)
    before = b.graph(
        shared, last(b, "mul", x, shared), last(b, "mul", x, foreign), b.binary("mul", x, x), alone
    )
    assert run(before) is before
