"""Merging Reshapes and Transposes."""

from __future__ import annotations

import itertools

import pytest

from edgeconv.model.passes.compose_views import run
from tests.ir_builder import GraphBuilder, assert_same_results, ops


def test_reshapes_in_a_row() -> None:
    b = GraphBuilder()
    y = b.reshape(b.reshape(b.reshape(b.input(2, 3, 4), 6, 4), 24), 4, 6)
    before = b.graph(y)
    after = run(before)
    assert ops(after) == ["Reshape"]
    assert after.nodes[0].origin == ("n0", "n1", "n2")
    assert_same_results(before, after)


@pytest.mark.parametrize("first", list(itertools.permutations(range(3)))[1:])
@pytest.mark.parametrize("second", list(itertools.permutations(range(3))))
def test_transposes_in_a_row(first: tuple[int, ...], second: tuple[int, ...]) -> None:
    b = GraphBuilder()
    before = b.graph(b.transpose(b.transpose(b.input(2, 3, 4), *first), *second))
    after = run(before)
    both = tuple(first[axis] for axis in second)
    assert ops(after) == (["Reshape"] if both == (0, 1, 2) else ["Transpose"])
    assert_same_results(before, after)


@pytest.mark.parametrize("perm", list(itertools.permutations(range(4))))
def test_a_transpose_is_a_reshape_exactly_when_no_element_moves(perm: tuple[int, ...]) -> None:
    b = GraphBuilder()
    before = b.graph(b.transpose(b.input(1, 3, 1, 4), *perm))
    after = run(before)
    assert ops(after) == (["Reshape"] if perm.index(1) < perm.index(3) else ["Transpose"])
    assert_same_results(before, after)


def test_a_view_with_other_readers_stays_for_them() -> None:
    b = GraphBuilder()
    first = b.reshape(b.input(2, 6), 12)
    before = b.graph(b.reshape(first, 3, 4), b.unary(first, "relu"))
    after = run(before)
    assert sorted(ops(after)) == ["Reshape", "Reshape", "Unary"]
    assert_same_results(before, after)


@pytest.mark.parametrize("kind", ["mean", "sum", "max", "min", "prod", "l1", "l2", "sum_square"])
def test_reducing_dimensions_of_size_one(kind: str) -> None:
    b = GraphBuilder()
    before = b.graph(b.reduce(b.input(2, 1, 3, 1), kind, 1, 3, keepdims=False))
    after = run(before)
    takes_the_element = kind in ("mean", "sum", "max", "min", "prod")
    assert ops(after) == (["Reshape"] if takes_the_element else ["Reduce"])
    assert_same_results(before, after)
