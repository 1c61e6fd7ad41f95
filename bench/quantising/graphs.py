"""Float32 ONNX graphs with seeded weights, written a node at a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper, numpy_helper

Array = npt.NDArray[Any]


class Writer:
    """A graph of one input and one result, whose nodes are appended in order.

    Methods take names of tensors and return that of the result.  Filters are N(0, 2 / fan-in), so
    that activations neither vanish nor grow; those of a name are the same in every run.
    """

    OPSET = 17

    def __init__(self, name: str, shape: Sequence[int], seed: int) -> None:
        self._name, self._shape = name, tuple(shape)
        self._random = np.random.default_rng(seed)
        self._nodes: list[onnx.NodeProto] = []
        self._weights: list[onnx.TensorProto] = []

    def node(self, op: str, *inputs: str, **attributes: Any) -> str:
        """Append a node of one result, which is called after it."""
        name = f"{op.lower()}_{len(self._nodes)}"
        self._nodes.append(helper.make_node(op, inputs, [name], name, **attributes))
        return name

    def constant(self, name: str, value: Array) -> str:
        """Append an initialiser."""
        self._weights.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def filters(self, name: str, *shape: int, fan_in: int) -> str:
        """Seeded weights."""
        spread = np.sqrt(2 / fan_in)
        return self.constant(name, self._random.normal(0, spread, shape).astype(np.float32))

    def bias(self, name: str, count: int) -> str:
        """A seeded bias of ``count`` numbers."""
        return self.constant(name, self._random.normal(0, 0.1, count).astype(np.float32))

    def conv(
        self, name: str, x: str, in_c: int, out_c: int, *kernel: int, group: int = 1, **rest: Any
    ) -> str:
        """A convolution with bias."""
        fan_in = in_c // group * int(np.prod(kernel))
        weight = self.filters(f"{name}.weight", out_c, in_c // group, *kernel, fan_in=fan_in)
        bias = self.bias(f"{name}.bias", out_c)
        return self.node("Conv", x, weight, bias, kernel_shape=kernel, group=group, **rest)

    def batch_norm(self, name: str, x: str, channels: int) -> str:
        """Batch normalisation of statistics and factors that training might leave."""
        rows = [
            self._random.uniform(0.5, 1.5, channels),
            self._random.normal(0, 0.3, channels),
            self._random.normal(0, 0.3, channels),
            self._random.uniform(0.5, 2, channels),
        ]
        parameters = [
            self.constant(f"{name}.{part}", row.astype(np.float32))
            for part, row in zip(("scale", "shift", "mean", "variance"), rows, strict=True)
        ]
        return self.node("BatchNormalization", x, *parameters)

    def dense(self, name: str, x: str, inputs: int, outputs: int) -> str:
        """A Gemm of transposed weights, as PyTorch's exporter writes a linear layer."""
        weight = self.filters(f"{name}.weight", outputs, inputs, fan_in=inputs)
        return self.node("Gemm", x, weight, self.bias(f"{name}.bias", outputs), transB=1)

    def linear(self, name: str, x: str, inputs: int, outputs: int) -> str:
        """A MatMul and an Add, as the exporter writes a linear layer of a longer tensor."""
        weight = self.filters(f"{name}.weight", inputs, outputs, fan_in=inputs)
        product = self.node("MatMul", x, weight)
        return self.node("Add", self.bias(f"{name}.bias", outputs), product)

    def layer_norm(self, name: str, x: str, width: int) -> str:
        """Layer normalisation over the last axis."""
        scale = self._random.uniform(0.5, 1.5, width).astype(np.float32)
        weight = self.constant(f"{name}.weight", scale)
        bias = self.bias(f"{name}.bias", width)
        return self.node("LayerNormalization", x, weight, bias, axis=-1, epsilon=1e-5)

    def gelu(self, x: str) -> str:
        """The exact Gelu, written out as the exporter does below opset 20."""
        one = self.constant(f"{x}.one", np.array(1, np.float32))
        root = self.constant(f"{x}.root", np.array(np.sqrt(2), np.float32))
        half = self.constant(f"{x}.half", np.array(0.5, np.float32))
        erf = self.node("Erf", self.node("Div", x, root))
        return self.node("Mul", self.node("Mul", x, self.node("Add", erf, one)), half)

    def reshaped(self, x: str, *shape: int) -> str:
        """A Reshape to a constant shape."""
        return self.node("Reshape", x, self.constant(f"{x}.shape", np.array(shape, np.int64)))

    def model(self, result: str) -> onnx.ModelProto:
        """The checked model, with shapes of all tensors."""
        entry = helper.make_tensor_value_info("input", TensorProto.FLOAT, self._shape)
        for node in self._nodes:
            node.output[:] = ["output" if name == result else name for name in node.output]
        exit_ = helper.make_tensor_value_info("output", TensorProto.FLOAT, None)
        graph = helper.make_graph(self._nodes, self._name, [entry], [exit_], self._weights)
        opset = [helper.make_opsetid("", self.OPSET)]
        model = helper.make_model(graph, opset_imports=opset, ir_version=8)
        model = onnx.shape_inference.infer_shapes(model, check_type=True, strict_mode=True)
        onnx.checker.check_model(model, full_check=True)
        return model
