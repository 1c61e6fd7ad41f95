"""Global reductions as pools."""

from __future__ import annotations

import pytest

from edgeconv.model.passes.reduce_to_pool import run
from tests.ir_builder import GraphBuilder, assert_same_results, ops


@pytest.mark.parametrize("kind", ["mean", "max"])
@pytest.mark.parametrize("keepdims", [True, False])
def test_mean_and_max_over_height_and_width(kind: str, keepdims: bool) -> None:
    b = GraphBuilder()
    before = b.graph(b.unary(b.reduce(b.input(2, 3, 4, 5), kind, 2, 3, keepdims=keepdims), "relu"))
    after = run(before)
    assert ops(after) == ["Pool", "Unary"] if keepdims else ["Pool", "Reshape", "Unary"]
    assert after.nodes[0].attrs["kernel"] == (4, 5)
    assert_same_results(before, after)


def test_other_reductions_stay() -> None:
    b = GraphBuilder()
    x = b.input(2, 3, 4, 5)
    before = b.graph(
        b.reduce(x, "sum", 2, 3),
        b.reduce(x, "mean", 1, 2),
        b.reduce(x, "mean", 2),
        b.reduce(x, "mean", 1, 2, 3),
        b.reduce(b.reshape(x, 2, 3, 20), "mean", 2),
        b.reduce(b.reshape(x, 2, 3, 2, 2, 5), "mean", 2, 3),
    )
    assert run(before) is before
