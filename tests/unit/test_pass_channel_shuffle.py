"""Recognising the channel shuffle."""

from __future__ import annotations

import pytest

from edgeconv.model.passes.channel_shuffle import run
from tests.ir_builder import GraphBuilder, assert_same_results, ops


@pytest.mark.parametrize("groups", [2, 3, 4])
@pytest.mark.parametrize("batch", [1, 2])
def test_shuffles(groups: int, batch: int) -> None:
    b = GraphBuilder()
    before = b.graph(b.shuffle(b.input(batch, 12, 2, 3), groups))
    after = run(before)
    assert ops(after) == ["Gather"]
    assert after.nodes[0].origin == ("n0", "n1", "n2")
    assert_same_results(before, after)


@pytest.mark.parametrize(
    ("split", "perm"),
    [
        ((3, 4, 2, 5), (1, 0, 2, 3)),
        ((3, 4, 10), (1, 0, 2)),
        ((1, 3, 4, 10), (0, 2, 1, 3)),
    ],
)
def test_other_ways_to_see_the_channels(split: tuple[int, ...], perm: tuple[int, ...]) -> None:
    b = GraphBuilder()
    y = b.transpose(b.reshape(b.input(1, 12, 2, 5), *split), *perm)
    before = b.graph(b.reshape(y, 1, 12, 2, 5))
    after = run(before)
    assert ops(after) == ["Gather"]
    assert_same_results(before, after)


@pytest.mark.parametrize(
    ("split", "perm", "out"),
    [
        ((2, 3, 4, 2, 5), (0, 1, 2, 4, 3), (2, 12, 2, 5)),  # moves pixels
        ((2, 3, 4, 2, 5), (0, 2, 1, 4, 3), (2, 12, 2, 5)),
        ((2, 3, 4, 2, 5), (0, 2, 1, 3, 4), (2, 12, 5, 2)),  # another shape
        ((2, 3, 8, 5), (0, 2, 1, 3), (2, 12, 2, 5)),  # splits pixels
        ((3, 2, 4, 2, 5), (0, 2, 1, 3, 4), (2, 12, 2, 5)),  # splits the batch
        ((2, 12, 2, 5), (0, 1, 3, 2), (2, 12, 2, 5)),
        ((2, 120), (0, 1), (2, 12, 2, 5)),
    ],
)
def test_other_transposes_stay(
    split: tuple[int, ...], perm: tuple[int, ...], out: tuple[int, ...]
) -> None:
    b = GraphBuilder()
    y = b.transpose(b.reshape(b.input(2, 12, 2, 5), *split), *perm)
    before = b.graph(b.reshape(y, *out))
    assert run(before) is before
