"""Slicing past a Concat."""

from __future__ import annotations

import pytest

from edgeconv.model.passes.remove_identity import run as remove_identity
from edgeconv.model.passes.slice_of_concat import run
from tests.ir_builder import GraphBuilder, assert_same_results, ops


@pytest.mark.parametrize(
    ("start", "size", "step"), [(0, 2, 1), (3, 1, 1), (2, 2, 2), (4, 3, -1), (5, 1, -1), (5, 2, 1)]
)
@pytest.mark.parametrize("axis", [0, 1])
def test_a_slice_within_one_input(start: int, size: int, step: int, axis: int) -> None:
    b = GraphBuilder()
    parts = [b.unary(b.input(*((n, 3) if axis == 0 else (3, n))), "neg") for n in (2, 3, 2)]
    before = b.graph(b.slice(b.concat(axis, *parts), axis, start, size, step))
    after = run(before)
    assert ops(after) == ["Unary", "Slice"]
    assert_same_results(before, after)


def test_split_undoes_concat() -> None:
    b = GraphBuilder()
    one, two = b.unary(b.input(3, 2), "neg"), b.unary(b.input(3, 4), "abs")
    both = b.concat(1, one, two)
    before = b.graph(b.unary(b.slice(both, 1, 0, 2), "exp"), b.unary(b.slice(both, 1, 2, 4), "exp"))
    after = remove_identity(run(before))
    assert ops(after) == ["Unary"] * 4
    assert_same_results(before, after)


def test_a_slice_across_inputs_stays() -> None:
    b = GraphBuilder()
    both = b.concat(1, b.input(3, 2), b.input(3, 4))
    before = b.graph(b.slice(both, 1, 1, 2), b.slice(both, 1, 0, 2, 3), b.slice(both, 0, 1, 2))
    assert run(before) is before
