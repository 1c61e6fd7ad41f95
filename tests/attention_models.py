"""Networks with attention as exporters leave it."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import helper

from tests.onnx_models import Values, model

TIMM, APART, ONE_WAY = "timm", "apart", "one way"
STYLES = (TIMM, APART, ONE_WAY)


class Layers:
    """Nodes and constants of a network that grows by its last tensor."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.nodes: list[onnx.NodeProto] = []
        self.constants: dict[str, Values] = {}

    def constant(self, value: npt.ArrayLike, kind: type = np.float32) -> str:
        name = f"c{len(self.constants)}"
        self.constants[name] = np.asarray(value, kind)
        return name

    def op(self, op_type: str, *inputs: str, outputs: int = 1, **attrs: Any) -> str:
        """The first result; others are called after it."""
        name = f"t{len(self.nodes)}"
        names = [name, *(f"{name}_{i}" for i in range(1, outputs))]
        self.nodes.append(helper.make_node(op_type, [*inputs], names, f"{op_type}_{name}", **attrs))
        return name

    def reshaped(self, x: str, *shape: int) -> str:
        return self.op("Reshape", x, self.constant(shape, np.int64))

    def dense(self, x: str, width: int, out: int) -> str:
        weights = self.rng.normal(size=(width, out)) / width**0.5
        product = self.op("MatMul", x, self.constant(weights))
        return self.op("Add", product, self.constant(self.rng.normal(size=out)))


def transformer(
    style: str, *, tokens: int, heads: int, d: int, blocks: int = 1, batch: int = 1
) -> onnx.ModelProto:
    """Self-attention with residuals, ``x`` -> ``y``, (batch, tokens, heads * d).

    TIMM: queries, keys and values from one product, split behind a Transpose of five dimensions,
    queries scaled.  APART: three products, scores divided.  ONE_WAY: the same with a mask that no
    later token gets past.
    """
    net, width, x = Layers(len(style)), heads * d, "x"
    for _ in range(blocks):
        if style == TIMM:
            joined = net.reshaped(net.dense(x, width, 3 * width), batch, tokens, 3, heads, d)
            turned = net.op("Transpose", joined, perm=[2, 0, 3, 1, 4])
            first = net.op("Split", turned, outputs=3, axis=0, num_outputs=3)
            q, k, v = (
                net.op("Squeeze", name, net.constant([0], np.int64))
                for name in (first, f"{first}_1", f"{first}_2")
            )
            q = net.op("Mul", q, net.constant(d**-0.5))
            scores = net.op("MatMul", q, net.op("Transpose", k, perm=[0, 1, 3, 2]))
        else:
            rows = [
                net.reshaped(net.dense(x, width, width), batch, tokens, heads, d) for _ in "qkv"
            ]
            perms = ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3])
            q, k, v = (net.op("Transpose", r, perm=p) for r, p in zip(rows, perms, strict=True))
            scores = net.op("Div", net.op("MatMul", q, k), net.constant(d**0.5))
        if style == ONE_WAY:
            later = np.triu(np.full((tokens, tokens), np.finfo(np.float32).min), 1)
            scores = net.op("Add", scores, net.constant(later))
        mixed = net.op("MatMul", net.op("Softmax", scores, axis=-1), v)
        beside = net.op("Transpose", mixed, perm=[0, 2, 1, 3])
        mixed = net.reshaped(beside, batch, tokens, width)
        x = net.op("Add", x, net.dense(mixed, width, width))
    net.nodes.append(helper.make_node("Identity", [x], ["y"], "last"))
    inputs = {"x": [batch, tokens, width]}
    return model(net.nodes, inputs, {"y": None}, net.constants, opset=18)
