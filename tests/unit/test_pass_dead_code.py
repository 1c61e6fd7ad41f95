"""Removing what leads to no output."""

from __future__ import annotations

from edgeconv.model.passes.dead_code import run
from tests.ir_builder import GraphBuilder, assert_same_results, ops


def test_only_what_an_output_needs_stays() -> None:
    b = GraphBuilder()
    x = b.input(1, 2, 3, 3)
    y = b.unary(x, "relu")
    b.unary(b.conv(y, 4), "relu")
    before = b.graph(y)
    after = run(before)
    assert ops(after) == ["Unary"]
    assert set(after.tensors) == {x, y}
    assert_same_results(before, after)


def test_a_graph_without_dead_code_is_returned_itself() -> None:
    b = GraphBuilder()
    y = b.conv(b.input(1, 2, 3, 3), 4)
    before = b.graph(y, b.unary(y, "relu"))
    assert run(before) is before
