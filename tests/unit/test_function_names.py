"""C functions are called after what they do, whichever algorithm does it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from edgeconv.codegen.function_names import described
from edgeconv.ir.filters import DYNAMIC
from edgeconv.ir.graph import Graph, Node, Tensor
from edgeconv.search.choose import select
from edgeconv.target import board as boards


def graph() -> Graph:
    """A 3x3 convolution, then one of 3x1 by channel with a stride."""
    plain = {"kernel": (3, 3), "strides": (1, 1), "dilations": (1, 1), "pads": (1, 1, 1, 1)}
    tall = {"kernel": (3, 1), "strides": (2, 1), "dilations": (1, 1), "pads": (1, 0, 1, 0)}
    nodes = (
        Node("a", "Conv", ("x", "w"), ("y",), {**plain, "groups": 1}),
        Node("b", "Conv", ("y", "v"), ("z",), {**tall, "groups": 16}),
    )
    tensors = (
        Tensor("x", (1, 16, 12, 12)),
        Tensor("w", (16, 16, 3, 3), data=np.ones((16, 16, 3, 3), np.float32)),
        Tensor("y", (1, 16, 12, 12)),
        Tensor("v", (16, 1, 3, 1), data=np.ones((16, 1, 3, 1), np.float32)),
        Tensor("z", (1, 16, 6, 12)),
    )
    return Graph("g", nodes, {t.name: t for t in tensors}, ("x",), ("z",))


@pytest.mark.parametrize("board", ["zen4", "mps2-an386"])
@pytest.mark.parametrize(
    ("algorithm", "name"),
    [("direct", "conv_3x3"), ("sconv", "conv_3x3"), ("winograd", "winograd_3x3")],
)
def test_convolutions_have_their_windows(board: str, algorithm: str, name: str) -> None:
    choice = select(graph(), boards.load(board).target, algorithms={"a": algorithm})
    names = {layer.node.name: described(layer) for layer in choice.layers}
    assert names["a"] == name
    assert names["b"] == "depthwise_3x1_s2x1"


def test_scales_of_run_time_change_no_name() -> None:
    choice = select(graph(), boards.load("mps2-an386").target)
    names = [
        described(replace(layer, node=replace(layer.node, op=DYNAMIC["Conv"])))
        for layer in choice.layers
        if layer.node.op == "Conv"
    ]
    assert names == [described(layer) for layer in choice.layers if layer.node.op == "Conv"]
    assert "depthwise_3x1_s2x1" in names
