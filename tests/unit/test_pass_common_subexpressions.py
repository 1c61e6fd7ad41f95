"""Computing equal things once."""

from __future__ import annotations

from edgeconv.model.passes.common_subexpressions import run
from tests.ir_builder import GraphBuilder, assert_same_results, ops


def test_equal_chains_merge() -> None:
    b = GraphBuilder()
    x = b.input(1, 4, 3, 3)
    one, two = (b.pool(b.unary(x, "relu"), "max", 2) for _ in range(2))
    before = b.graph(b.binary("add", one, two))
    after = run(before)
    assert ops(after) == ["Unary", "Pool", "Binary"]
    assert_same_results(before, after)


def test_an_output_keeps_its_own_node_but_serves_the_others() -> None:
    b = GraphBuilder()
    x = b.input(1, 4)
    first, second, third = (b.unary(x, "relu") for _ in range(3))
    before = b.graph(first, second, b.unary(third, "tanh"))
    after = run(before)
    assert ops(after) == ["Unary"] * 3
    assert after.nodes[2].inputs == (first,)
    assert_same_results(before, after)


def test_a_residual_is_renamed_too() -> None:
    b = GraphBuilder()
    x = b.input(1, 4, 3, 3)
    one, two = b.unary(x, "relu"), b.unary(x, "relu")
    from_two = b.conv(one, 4)
    before = b.graph(b.binary("add", b.binary("mul", one, from_two), two))
    assert_same_results(before, run(before))
    assert ops(run(before)) == ["Unary", "Conv", "Binary", "Binary"]


def test_what_differs_stays() -> None:
    b = GraphBuilder()
    x = b.input(1, 4, 2, 3)
    different = (
        b.unary(x, "relu"),
        b.unary(x, "leaky_relu", 0.1),
        b.unary(x, "leaky_relu", 0.2),
        b.pool(x, "max", 1),
        b.pool(x, "average", 1),
        b.reshape(x, 1, 4, 6, 1),
        b.reshape(x, 1, 4, 3, 2),
        b.conv(x, 4),
        b.conv(x, 4),
    )
    sums = [b.reduce(name, "sum", 0, 1, 2, 3) for name in different]
    before = b.graph(b.concat(0, *sums))
    assert run(before) is before
