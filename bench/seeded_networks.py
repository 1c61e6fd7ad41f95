"""Networks of the common kinds with seeded weights, for measurements that need no download.

Filters are drawn with a variance of 2 / fan-in (He et al., "Delving Deep into Rectifiers", 2015),
which keeps results of the order of one, and differ in size by output channel, as trained ones do.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

_SPREAD = 0.5  # of the logarithm of an output channel's size
_CLASSES = 10


class _Builder:
    """Adds nodes; every method returns the name of the tensor that it made."""

    def __init__(self, *shape: int) -> None:
        self._random = np.random.default_rng(11)
        self._nodes: list[onnx.NodeProto] = []
        self._constants: list[onnx.TensorProto] = []
        self._channels = {"input": shape[1]}
        self._input = helper.make_tensor_value_info("input", TensorProto.FLOAT, shape)

    def constant(self, values: Any) -> str:
        name = f"c{len(self._constants)}"
        self._constants.append(numpy_helper.from_array(np.asarray(values), name))
        return name

    def node(self, op: str, inputs: list[str], channels: int, **attributes: Any) -> str:
        name = f"t{len(self._nodes)}"
        self._nodes.append(helper.make_node(op, inputs, [name], name, **attributes))
        self._channels[name] = channels
        return name

    def conv(
        self, x: str, out_c: int, *kernel: int, groups: int = 1, act: str = "Relu", **given: Any
    ) -> str:
        """A convolution that keeps the size of what it reads, but for ``strides``."""
        in_c = self._channels[x] // groups
        fan_in = in_c * math.prod(kernel)
        shape = (out_c, in_c, *kernel)
        size = np.exp(_SPREAD * self._random.standard_normal((out_c, *(1 for _ in shape[1:]))))
        weights = self._random.standard_normal(shape) * size * math.sqrt(2 / fan_in)
        bias = 0.1 * self._random.standard_normal(out_c)
        names = [self.constant(each.astype(np.float32)) for each in (weights, bias)]
        steps = given.get("dilations", [1] * len(kernel))
        pads = [(k - 1) * step // 2 for k, step in zip(kernel, steps, strict=True)]
        named = {"group": groups, "kernel_shape": kernel, "pads": pads * 2, **given}
        y = self.node("Conv", [x, *names], out_c, **named)
        return self.node(act, [y], out_c) if act else y

    def sum(self, x: str, y: str) -> str:
        return self.node("Add", [x, y], self._channels[x])

    def concat(self, *names: str) -> str:
        return self.node("Concat", list(names), sum(self._channels[n] for n in names), axis=1)

    def average(self, x: str) -> str:
        return self.node("GlobalAveragePool", [x], self._channels[x])

    def classes(self, x: str) -> str:
        """Scores by averages over pixels."""
        channels = self._channels[x]
        flat = self.node("Flatten", [self.average(x)], channels)
        weights = self._random.standard_normal((_CLASSES, channels)) / math.sqrt(channels)
        name = self.constant(weights.astype(np.float32))
        return self.node("Gemm", [flat, name], _CLASSES, transB=1)

    def model(self, output: str) -> onnx.ModelProto:
        value = helper.make_tensor_value_info(output, TensorProto.FLOAT, None)
        graph = helper.make_graph(self._nodes, "seeded", [self._input], [value], self._constants)
        made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
        made.ir_version = helper.find_min_ir_version_for(made.opset_import)
        return onnx.shape_inference.infer_shapes(made)


def _inverted() -> onnx.ModelProto:
    """Inverted residuals with squeeze and excitation, as MobileNetV3's."""
    b = _Builder(1, 3, 64, 64)
    x = b.conv("input", 16, 3, 3, strides=[2, 2], act="HardSwish")
    for channels, stride in ((16, 1), (24, 2), (24, 1), (40, 2), (40, 1)):
        wide = 4 * channels
        y = b.conv(x, wide, 1, 1, act="HardSwish")
        y = b.conv(y, wide, 3, 3, groups=wide, strides=[stride, stride], act="HardSwish")
        squeezed = b.conv(b.average(y), channels, 1, 1)
        y = b.node("Mul", [y, b.conv(squeezed, wide, 1, 1, act="HardSigmoid")], wide)
        y = b.conv(y, channels, 1, 1, act="")
        x = b.sum(x, y) if stride == 1 else y
    return b.model(b.classes(x))


def _temporal() -> onnx.ModelProto:
    """Dilated convolutions along time, with residuals."""
    b = _Builder(1, 40, 100)
    x = b.conv("input", 32, 3)
    for dilation in (1, 2, 4, 8):
        y = b.conv(x, 32, 3, dilations=[dilation])
        x = b.sum(x, b.conv(y, 32, 1, act=""))
    return b.model(b.classes(x))


def _u_net() -> onnx.ModelProto:
    """Down and up again, with what was there on the way down joined."""
    b = _Builder(1, 1, 64, 64)
    levels = [b.conv("input", 8, 3, 3)]
    for channels in (16, 32):
        pooled = b.node("MaxPool", [levels[-1]], channels // 2, kernel_shape=[2, 2], strides=[2, 2])
        levels.append(b.conv(pooled, channels, 3, 3))
    x = levels.pop()
    twice = b.constant(np.array([1, 1, 2, 2], np.float32))
    for beside, channels in ((levels.pop(), 16), (levels.pop(), 8)):
        larger = b.node("Resize", [x, "", twice], 2 * channels, mode="nearest")
        x = b.conv(b.concat(beside, larger), channels, 3, 3)
    return b.model(b.conv(x, 1, 1, 1, act="Sigmoid"))


def _dense_net() -> onnx.ModelProto:
    """Layers that read all before them, as DenseNet's."""
    b = _Builder(1, 3, 32, 32)
    x = b.conv("input", 16, 3, 3)
    for _ in range(2):
        for _ in range(4):
            x = b.concat(x, b.conv(b.conv(x, 32, 1, 1), 12, 3, 3))
        x = b.conv(x, 32, 1, 1)
        x = b.node("AveragePool", [x], 32, kernel_shape=[2, 2], strides=[2, 2])
    return b.model(b.classes(x))


NETWORKS: Mapping[str, Callable[[], onnx.ModelProto]] = {
    "inverted": _inverted,
    "temporal": _temporal,
    "u_net": _u_net,
    "dense_net": _dense_net,
}
