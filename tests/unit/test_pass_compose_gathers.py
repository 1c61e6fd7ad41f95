"""Composing Gathers and Slices."""

from __future__ import annotations

import numpy as np

from edgeconv.model.passes.compose_gathers import run
from tests.ir_builder import GraphBuilder, assert_same_results, ops


def test_slices_and_gathers_of_a_gather() -> None:
    b = GraphBuilder()
    y = b.gather(b.input(2, 6, 3), (5, 0, -2, 2, 1, 3))
    readers = (
        b.slice(y, 1, 0, 3),
        b.slice(y, 1, 5, 3, step=-2),
        b.gather(y, (1, 1, -1)),
        b.gather(b.gather(y, (0, 5, 2)), (0, 2)),
    )
    before = b.graph(*readers)
    after = run(before)
    assert ops(after) == ["Gather"] * 4
    assert {node.inputs[0] for node in after.nodes} == {"in0"}
    assert_same_results(before, after)


def test_neighbours_are_a_slice() -> None:
    b = GraphBuilder()
    y = b.gather(b.input(2, 6, 3), (1, 3, 5, 0, 2, 4))
    before = b.graph(b.gather(y, (3, 0, 4)), b.gather(y, (4, 0)), b.gather(y, (5,)))
    after = run(before)
    assert ops(after) == ["Slice", "Gather", "Slice"]
    assert_same_results(before, after)


def test_what_must_stay() -> None:
    b = GraphBuilder()
    x = b.input(2, 6, 3)
    order = (5, 4, 3, 2, 1, 0)
    shared, output, rows = b.gather(x, order), b.gather(x, order), b.gather(x, order)
    partly = b.gather(x, order)
    table = b.constant(np.array([[0, 1], [2, 3]], dtype=np.int64))
    before = b.graph(
        b.unary(shared, "relu"),
        b.slice(shared, 1, 0, 2),  # the Gather is needed anyway
        output,
        b.slice(output, 1, 0, 2),
        b.gather(rows, (1, 0), axis=2),  # another axis
        b.node("Slice", (partly,), (2, 2, 2), {"starts": (0, 0, 1), "steps": (1, 1, 1)}),
        b.node("Gather", (x, table), (2, 2, 2, 3), {"axis": 1}),
    )
    assert run(before) is before
