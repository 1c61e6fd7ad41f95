"""Probabilities of classes from those of pairs, as an SVMClassifier of ai.onnx.ml."""

from __future__ import annotations

import numpy as np

from edgeconv.ir.graph import Node
from edgeconv.kernels.ops.coupling import attributes_of
from edgeconv.model.frontend.saved_nodes import Written
from edgeconv.model.frontend.saved_trees import DOMAIN


def coupling(written: Written, node: Node, inputs: tuple[str, ...], y: str) -> None:
    """One whose features are the log odds of the pairs."""
    names = [written.fresh(f"{y}/{what}") for what in ("others", "ratio", "odds", "label")]
    others, ratio, odds, label = names
    written.node("Sub", (written.constant(f"{y}/one", np.float32(1)), inputs[0]), others)
    written.node("Div", (inputs[0], others), ratio)
    written.node("Log", (ratio,), odds)
    attrs = attributes_of(written.graph[node.output].shape[-1])
    written.node("SVMClassifier", (odds,), label, y, domain=DOMAIN, **attrs)
