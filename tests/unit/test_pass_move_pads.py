"""Pads that come together, and behind the Transpose that reads them."""

from __future__ import annotations

from edgeconv.model.passes import optimise
from edgeconv.model.passes.move_pads import run
from tests.ir_builder import GraphBuilder, assert_same_results, ops

ROWS = (0, 1, 0, 0, 0, 2, 0, 0)  # of channels last: a row above, two below
COLUMNS = (0, 0, 0, 0, 0, 0, 1, 0)


def test_behind_a_transpose_and_into_the_convolution() -> None:
    b = GraphBuilder()
    x = b.transpose(b.pad(b.pad(b.input(1, 6, 5, 2), ROWS), COLUMNS), 0, 3, 1, 2)
    before = b.graph(b.conv(x, 4, 3, stride=2))
    after = optimise(before)
    assert ops(after) == ["Transpose", "Conv"]
    assert after.nodes[1].attrs["pads"] == (1, 0, 2, 1)
    assert_same_results(before, after)


def test_into_a_pool() -> None:
    b = GraphBuilder()
    x = b.transpose(b.pad(b.input(1, 6, 5, 2), ROWS), 0, 3, 1, 2)
    before = b.graph(b.pool(x, "average", 3, 2))
    after = optimise(before)
    assert ops(after) == ["Transpose", "Pool"]
    assert_same_results(before, after)


def test_other_numbers_and_modes_stay_apart() -> None:
    b = GraphBuilder()
    x = b.input(1, 6, 5, 2)
    numbers = b.pad(b.pad(x, ROWS, 1.0), COLUMNS, 2.0)
    modes = b.pad(b.pad(x, ROWS), COLUMNS, mode="edge")
    signs = b.pad(b.pad(x, ROWS, -0.0), COLUMNS, 0.0)
    before = b.graph(numbers, modes, signs)
    assert run(before) is before


def test_a_pad_that_others_read_stays() -> None:
    b = GraphBuilder()
    x = b.pad(b.input(1, 6, 5, 2), ROWS)
    before = b.graph(b.transpose(x, 0, 3, 1, 2), b.unary(x, "relu"))
    assert run(before) is before


def test_between_two_transposes() -> None:
    """That compose: in front of both, and settled."""
    b = GraphBuilder()
    x = b.transpose(b.input(1, 4, 5, 3), 0, 2, 3, 1)
    before = b.graph(b.conv(b.transpose(b.pad(x, ROWS), 0, 2, 3, 1), 4, 3))
    after = optimise(before)
    assert "Pad" not in ops(after)
    assert_same_results(before, after)
