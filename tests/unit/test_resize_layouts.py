"""Resize is offered in layouts that its kernel can walk."""

from __future__ import annotations

import numpy as np
import pytest

from edgeconv.ir.graph import Graph, Node, Tensor
from edgeconv.search import choose
from edgeconv.target.backends import TARGETS


@pytest.mark.parametrize("name", ["portable", "avx512"])
def test_batch_and_channels(name: str) -> None:
    """Neighbours in NCHW, which channels-last memory puts at both ends."""
    attrs = {
        "mode": "nearest",
        "coordinate_transformation_mode": "asymmetric",
        "nearest_mode": "floor",
        "cubic_coeff_a": -0.75,
        "exclude_outside": False,
        "scales": (2.0, 3.0, 1.0, 1.0),
    }
    tensors = {"x": Tensor("x", (1, 5, 4, 4)), "y": Tensor("y", (2, 15, 4, 4))}
    node = Node("resize", "Resize", ("x",), ("y",), attrs)
    choice = choose.select(Graph("g", (node,), tensors, ("x",), ("y",)), TARGETS[name])
    assert [layer.node.op for layer in choice.layers] == ["Resize"]
    assert np.prod(choice.graph["y"].shape) == 2 * 15 * 4 * 4
