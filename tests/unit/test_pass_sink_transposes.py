"""Computing between two Transposes in the original order."""

from __future__ import annotations

import itertools

import pytest

from edgeconv.ir.activation import Activation
from edgeconv.ir.graph import Epilogue
from edgeconv.model.passes.sink_transposes import run
from tests.ir_builder import GraphBuilder, assert_same_results, ops

TO_LAST, TO_FIRST = (0, 2, 3, 1), (0, 3, 1, 2)


def test_elementwise_operations_lose_both_transposes_and_keep_the_result_name() -> None:
    b = GraphBuilder()
    y = b.transpose(b.input(1, 3, 4, 5), *TO_LAST)
    y = b.binary("mul", b.normal(3), b.binary("add", b.unary(y, "relu"), 2.0))
    y = b.binary("sub", y, b.normal(4, 1, 3))
    before = b.graph(b.unary(b.transpose(y, *TO_FIRST), "tanh"))
    after = run(before)
    assert ops(after) == ["Unary", "Binary", "Binary", "Binary", "Unary"]
    assert after.nodes[-1].inputs == before.nodes[-1].inputs
    assert_same_results(before, after)


@pytest.mark.parametrize("perm", list(itertools.permutations(range(3)))[1:])
def test_every_permutation(perm: tuple[int, ...]) -> None:
    b = GraphBuilder()
    y = b.concat(1, *(b.transpose(b.input(2, 3, 4), *perm) for _ in range(2)))
    y = b.slice(b.pad(y, (1, 0, 2, 0, 1, 0)), 1, 2, 2, step=-1)
    y = b.node("Softmax", (y,), b.shape(y), {"axis": 2, "log": False})
    inverse = tuple(perm.index(axis) for axis in range(3))
    before = b.graph(b.transpose(y, *inverse))
    after = run(before)
    assert ops(after) == ["Concat", "Pad", "Slice", "Softmax"]
    assert_same_results(before, after)


@pytest.mark.parametrize(("size", "enters"), [(1, True), (4, False)])
def test_a_view_is_a_way_in_where_it_is_such_a_transpose(size: int, enters: bool) -> None:
    """Sizes of 1 change places with the channels; of others elements do."""
    b = GraphBuilder()
    x = b.transpose(b.input(1, 3, size, 5), *TO_LAST)
    factors = b.reshape(b.input(1, 3, size, 1), 1, size, 1, 3)
    before = b.graph(b.transpose(b.binary("mul", x, factors), *TO_FIRST))
    after = run(before)
    assert ("Transpose" not in ops(after)) == enters
    assert_same_results(before, after)


@pytest.mark.parametrize(
    ("axes", "keepdims", "leaves"),
    [
        ((1, 2), False, True),
        ((3,), False, True),
        ((1,), False, False),
        ((1, 2), True, False),
    ],
)
def test_a_reduce_is_a_way_out_where_it_keeps_an_order(
    axes: tuple[int, ...], keepdims: bool, leaves: bool
) -> None:
    """As the average over pixels behind the last residual of a network."""
    b = GraphBuilder()
    x, y = (b.transpose(b.input(1, 3, 4, 5), *TO_LAST) for _ in range(2))
    total = b.unary(b.binary("add", x, y), "relu")
    before = b.graph(
        b.transpose(total, *TO_FIRST), b.reduce(total, "mean", *axes, keepdims=keepdims)
    )
    after = run(before)
    assert ("Transpose" not in ops(after)) == leaves
    assert_same_results(before, after)


def test_an_affine_moves_while_the_channels_stay_in_place() -> None:
    b = GraphBuilder()
    y = b.affine(b.transpose(b.input(2, 3, 4, 5), 0, 1, 3, 2))
    before = b.graph(b.transpose(y, 0, 1, 3, 2))
    after = run(before)
    assert ops(after) == ["Affine"]
    assert_same_results(before, after)


def test_an_affine_over_moved_channels_stays() -> None:
    b = GraphBuilder()
    y = b.affine(b.transpose(b.input(2, 3, 4, 5), *TO_LAST))
    before = b.graph(b.transpose(y, *TO_FIRST))
    assert run(before) is before


def test_a_region_with_several_ways_in_and_out() -> None:
    b = GraphBuilder()
    one, two = (b.transpose(b.input(1, 3, 4, 5), *TO_LAST) for _ in range(2))
    total = b.binary("add", b.unary(one, "relu"), b.unary(two, "tanh"))
    both = b.concat(3, total, one)
    before = b.graph(
        b.transpose(total, *TO_FIRST),
        b.transpose(total, *TO_FIRST),
        b.transpose(both, 0, 3, 2, 1),
    )
    after = run(before)
    assert sorted(ops(after)).count("Transpose") == 2  # 5 without the pass
    assert_same_results(before, after)


def test_a_constant_in_a_concatenation_and_a_residual_move_along() -> None:
    b = GraphBuilder()
    x = b.transpose(b.input(1, 3, 4, 5), *TO_LAST)
    y = b.concat(2, x, b.normal(1, 4, 2, 3))
    z = b.unary(y, "neg")
    y = b.node("Binary", (y, y), b.shape(y), {"kind": "mul"}, Epilogue(Activation("relu"), z))
    before = b.graph(b.transpose(y, *TO_FIRST))
    after = run(before)
    assert "Transpose" not in ops(after)
    assert_same_results(before, after)


def test_what_must_stay() -> None:
    b = GraphBuilder()
    x = b.input(1, 3, 4, 4)
    last = [b.unary(b.transpose(x, *TO_LAST), "relu") for _ in range(5)]
    other_input = b.input(1, 4, 4, 3)
    before = b.graph(
        last[0],  # an output in between
        b.transpose(last[0], *TO_FIRST),
        b.reshape(last[1], 48),  # leaves through something else
        b.transpose(last[1], *TO_FIRST),
        b.transpose(b.binary("add", last[2], other_input), *TO_FIRST),  # an input joins
        b.transpose(b.binary("add", last[3], b.transpose(x, 0, 3, 2, 1)), *TO_FIRST),
        b.transpose(b.pool(last[4], "max", 2), *TO_FIRST),  # knows its dimensions
        b.transpose(x, *TO_LAST),
        b.transpose(b.reshape(b.transpose(x, *TO_LAST), 1, 16, 3), 0, 2, 1),
    )
    assert run(before) is before
