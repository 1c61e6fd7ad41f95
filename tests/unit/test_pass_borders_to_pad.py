"""Constant borders that a Concat joins to a tensor, as a Pad."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from edgeconv.ir.activation import grid
from edgeconv.ir.graph import Epilogue, Graph
from edgeconv.model.passes import optimise
from edgeconv.model.passes.borders_to_pad import run
from tests.ir_builder import GraphBuilder, assert_same_results, ops


def single(b: GraphBuilder, *outputs: str) -> Graph:
    """The graph in float32, as models are."""
    graph = b.graph(*outputs)
    made = {
        name: replace(
            tensor,
            dtype="float32",
            data=None if tensor.data is None else tensor.data.astype(np.float32),
        )
        for name, tensor in graph.tensors.items()
    }
    return replace(graph, tensors=made)


def border(b: GraphBuilder, *shape: int, value: float = 0.0) -> str:
    return b.constant(np.full(shape, value, np.float32))


def rounded(b: GraphBuilder, x: str) -> str:
    return b.node("Unary", (x,), b.shape(x), epilogue=Epilogue(before=grid(0.5, -4, 5)))


@pytest.mark.parametrize("value", [0.0, -1.5])
def test_borders_on_both_sides(value: float) -> None:
    b = GraphBuilder()
    x = b.input(1, 2, 5, 4)
    ends = (border(b, 1, 2, 1, 4, value=value), border(b, 1, 2, 2, 4, value=value))
    before = single(b, b.concat(2, ends[0], x, ends[1]))
    after = run(before)
    (node,) = after.nodes
    assert (node.op, node.attrs["pads"]) == ("Pad", (0, 0, 1, 0, 0, 0, 2, 0))
    assert node.attrs["value"] == value
    assert_same_results(before, after)


def test_causal_padding_goes_into_the_convolution() -> None:
    """Joined in front, dimension by dimension."""
    b = GraphBuilder()
    x = rounded(b, b.input(1, 2, 5, 4))
    wide = b.concat(3, border(b, 1, 2, 5, 1), x)
    high = b.concat(2, border(b, 1, 2, 2, 5), wide, border(b, 1, 2, 1, 5))
    before = single(b, b.conv(high, 3, 3))
    after = optimise(before)
    assert ops(after) == ["Unary", "Conv"]
    assert after.nodes[1].attrs["pads"] == (2, 1, 1, 0)
    assert_same_results(before, after)


def test_channels_only_where_they_were_rounded() -> None:
    """Elsewhere what a Concat joins may lie in its result."""
    b = GraphBuilder()
    x = b.input(1, 2, 3, 3)
    plain = b.concat(1, x, border(b, 1, 1, 3, 3))
    whole = b.concat(1, rounded(b, x), border(b, 1, 1, 3, 3))
    before = single(b, plain, whole)
    after = run(before)
    assert sorted(ops(after)) == ["Concat", "Pad", "Unary"]
    assert_same_results(before, after)


def test_what_is_no_border() -> None:
    """Two numbers, two tensors, and zeros of both signs."""
    b = GraphBuilder()
    x, y = b.input(1, 2, 3, 3), b.input(1, 2, 3, 3)
    two = b.concat(2, border(b, 1, 2, 1, 3), x, border(b, 1, 2, 1, 3, value=1.0))
    both = b.concat(2, border(b, 1, 2, 1, 3), x, y)
    signs = b.concat(2, border(b, 1, 2, 1, 3), x, border(b, 1, 2, 1, 3, value=-0.0))
    before = single(b, two, both, signs)
    assert run(before) is before
