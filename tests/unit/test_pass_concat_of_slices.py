"""Concat of slices of one tensor."""

from __future__ import annotations

import pytest

from edgeconv.model.passes import optimise
from edgeconv.model.passes.concat_of_slices import run
from tests.ir_builder import GraphBuilder, assert_same_results, ops


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_rows_stacked_along_an_axis(axis: int) -> None:
    """In front of dimensions they lie where they were; further in, the result is transposed."""
    b = GraphBuilder()
    x, shape = b.input(6, 2, 3), [2, 3]
    shape.insert(axis, 1)
    rows = [b.reshape(b.slice(x, 0, i, 1), *shape) for i in range(1, 5)]
    before = b.graph(b.concat(axis, *rows))
    after = optimise(before)
    assert ops(after).count("Slice") == 1
    assert ("Transpose" in ops(after)) is (axis > 0)
    assert_same_results(before, after)


def test_neighbours_among_others_are_joined() -> None:
    b = GraphBuilder()
    x, y = b.input(6, 3), b.input(6, 3)
    cut = [b.slice(x, 0, i, 1) for i in (2, 3, 4, 1)]
    before = b.graph(b.concat(0, cut[0], cut[1], b.slice(y, 0, 4, 1), cut[2], cut[3]))
    after = optimise(before)
    assert ops(after) == ["Slice"] * 4 + ["Concat"]
    assert_same_results(before, after)


def test_rows_in_another_order_stay() -> None:
    b = GraphBuilder()
    x = b.input(6, 3)
    columns = [b.slice(x, 1, i, 1) for i in range(3)]  # which do not lie together
    strided = [b.slice(x, 0, i, 2, 2) for i in range(2)]
    turned = [b.slice(x, 0, i, 1) for i in (1, 0)]
    before = b.graph(b.concat(1, *columns), b.concat(0, *strided), b.concat(0, *turned))
    assert run(before) is before
