"""Reducing before transposing."""

from __future__ import annotations

import pytest

from edgeconv.model.passes.reduce_transposed import run
from tests.ir_builder import GraphBuilder, assert_same_results, ops


@pytest.mark.parametrize("kind", ["mean", "l2", "max"])
def test_without_keepdims_the_transpose_goes(kind: str) -> None:
    b = GraphBuilder()
    x = b.input(2, 3, 4, 5)
    before = b.graph(b.reduce(b.transpose(x, 0, 2, 3, 1), kind, 1, 2, keepdims=False))
    after = run(before)
    assert ops(after) == ["Reduce"]
    assert after.nodes[0].attrs["axes"] == (2, 3)
    assert_same_results(before, after)


def test_with_keepdims_the_smaller_tensor_is_transposed() -> None:
    b = GraphBuilder()
    x = b.input(2, 3, 4, 5)
    before = b.graph(b.reduce(b.transpose(x, 3, 0, 2, 1), "sum", 0, 2))
    after = run(before)
    assert ops(after) == ["Reduce", "Transpose"]
    assert after[after.nodes[0].output].shape == (2, 3, 1, 1)
    assert_same_results(before, after)


def test_dimensions_left_out_of_order_keep_their_transpose() -> None:
    b = GraphBuilder()
    before = b.graph(b.reduce(b.transpose(b.input(2, 3, 4), 2, 1, 0), "sum", 1, keepdims=False))
    assert run(before) is before


def test_other_readers_keep_the_transpose() -> None:
    b = GraphBuilder()
    moved = b.transpose(b.input(2, 3, 4, 5), 0, 2, 3, 1)
    before = b.graph(moved, b.reduce(moved, "mean", 1, 2, keepdims=False))
    after = run(before)
    assert sorted(ops(after)) == ["Reduce", "Transpose"]
    assert_same_results(before, after)
