"""Folding a Transpose into the columns of a Dense."""

from __future__ import annotations

import itertools

import pytest

from edgeconv.model.passes.fold_flatten import run
from tests.ir_builder import GraphBuilder, assert_same_results, ops


@pytest.mark.parametrize("tail", list(itertools.permutations((1, 2, 3)))[1:])
@pytest.mark.parametrize("bias", [True, False])
def test_the_weights_are_permuted(tail: tuple[int, ...], bias: bool) -> None:
    b = GraphBuilder()
    x = b.transpose(b.input(2, 3, 4, 5), 0, *tail)
    before = b.graph(b.dense(b.reshape(x, 2, 60), 7, bias))
    after = run(before)
    assert ops(after) == ["Reshape", "Dense"]
    assert_same_results(before, after)


def test_what_must_stay() -> None:
    b = GraphBuilder()
    x = b.input(2, 2, 3, 4)
    flat = b.reshape(b.transpose(x, 0, 2, 3, 1), 2, 24)
    moved = b.transpose(x, 0, 3, 2, 1)
    before = b.graph(
        b.dense(flat, 3),
        b.unary(flat, "relu"),  # another reader
        moved,
        b.dense(b.reshape(moved, 2, 24), 3),  # the Transpose is an output
        b.dense(b.reshape(b.transpose(x, 1, 0, 2, 3), 2, 24), 3),  # moves the batch
        b.dense(b.reshape(b.transpose(x, 0, 3, 2, 1), 4, 12), 3),  # rows are not samples
        b.dense(b.reshape(x, 2, 24), 3),
    )
    assert run(before) is before
