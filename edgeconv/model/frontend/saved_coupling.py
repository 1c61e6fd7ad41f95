"""Probabilities of classes from those of pairs, as an SVMClassifier of ai.onnx.ml."""

from __future__ import annotations

import numpy as np

from edgeconv.ir.graph import Node
from edgeconv.kernels.ops.coupling import attributes_of
from edgeconv.model.frontend.saved_nodes import Written
from edgeconv.model.frontend.saved_trees import DOMAIN


def coupling(written: Written, node: Node, inputs: tuple[str, ...], y: str) -> None:
    """One whose features are the log odds of the pairs."""
    others = written.add(y, "Sub", np.float32(1), inputs[0])
    odds = written.add(y, "Log", written.add(y, "Div", inputs[0], others))
    attrs, label = attributes_of(written.graph[node.output].shape[-1]), written.fresh(f"{y}/label")
    written.node("SVMClassifier", (odds,), label, y, domain=DOMAIN, **attrs)
