"""Small quantised networks in the QDQ format, of every type and spelling that tests ask for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper, numpy_helper

Values = npt.NDArray[Any]
Ports = Mapping[str, tuple[str, tuple[int, ...]]]
TYPES = {
    "int8": TensorProto.INT8,
    "uint8": TensorProto.UINT8,
    "int16": TensorProto.INT16,
    "uint16": TensorProto.UINT16,
    "float32": TensorProto.FLOAT,
}


@dataclass
class Network:
    """A model under construction; ``weights`` are the integers of each layer, by node name.

    ``domain``: of QuantizeLinear and DequantizeLinear.  ``scales_as``: "powers", scales are powers
    of two; "fractions", most biases are float32 and no whole number of units."""

    dtype: str = "int8"
    opset: int = 15
    domain: str = ""
    scales_as: str = ""
    nodes: list[onnx.NodeProto] = field(default_factory=list)
    constants: dict[str, onnx.TensorProto] = field(default_factory=dict)
    weights: dict[str, Values] = field(default_factory=dict)
    scales: dict[str, Values] = field(default_factory=dict)
    seed: int = 5

    def __post_init__(self) -> None:
        self.rng = np.random.default_rng(self.seed)

    def constant(self, name: str, value: Values) -> str:
        self.constants[name] = numpy_helper.from_array(value, name)
        return name

    def node(self, op: str, inputs: list[str], output: str, **attrs: Any) -> str:
        if op in ("QuantizeLinear", "DequantizeLinear"):
            attrs["domain"] = self.domain
        self.nodes.append(helper.make_node(op, inputs, [output], f"{output}_node", **attrs))
        return output

    def scaling(
        self, name: str, scale: float | Values, zero: int | Values, dtype: str
    ) -> list[str]:
        return [
            self.constant(f"{name}_scale", self.scale(scale)),
            self.constant(f"{name}_zero", np.asarray(zero, dtype)),
        ]

    def scale(self, scale: float | Values) -> Values:
        """The scale near ``scale`` that the network has."""
        if self.scales_as == "powers":
            scale = 2.0 ** np.round(np.log2(scale))
        return np.asarray(scale, np.float32)

    def quantise(self, x: str, scale: float, zero: int, **attrs: Any) -> str:
        """QuantizeLinear of the network's activation type."""
        inputs = [x, *self.scaling(f"{x}_q", scale, zero, self.dtype)]
        return self.node("QuantizeLinear", inputs, f"{x}_q", **attrs)

    def dequantise(self, q: str, scale: float, zero: int, **attrs: Any) -> str:
        inputs = [q, *self.scaling(f"{q}_dq", scale, zero, self.dtype)]
        return self.node("DequantizeLinear", inputs, f"{q}_dq", **attrs)

    def pair(self, x: str, scale: float, zero: int) -> str:
        return self.dequantise(self.quantise(x, scale, zero), scale, zero)

    def filters(
        self,
        name: str,
        shape: tuple[int, ...],
        *,
        axis: int | None = 0,
        dtype: str = "int8",
        zero: int | Values = 0,
    ) -> str:
        """Integers of ``dtype`` behind a DequantizeLinear, the extremes among them; one scale per
        index of ``axis``, and as many zero points or one, one in all for None."""
        info = ml_dtypes.iinfo(dtype)  # numpy knows no int4
        low = info.min + 1 if np.all(zero == 0) and info.min else info.min
        values = self.rng.integers(low, info.max, shape, endpoint=True).astype(dtype)
        values.reshape(-1)[:2] = low, info.max
        count = 1 if axis is None else shape[axis]
        fan_in = np.prod(shape) / (shape[0] if axis in (0, None) else shape[-1])
        scale = (self.rng.uniform(0.5, 1.5, count) / (info.max * fan_in**0.5)).astype(np.float32)
        scale = scale[0] if axis is None else scale
        rows = [-1 if i == axis else 1 for i in range(len(shape))] if np.ndim(zero) else ()
        steps = values.astype(np.int64) - np.reshape(zero, rows)
        self.weights[name], self.scales[name] = steps, self.scale(scale)
        zeros = np.broadcast_to(zero, np.shape(scale)).astype(dtype)
        inputs = [self.constant(name, values), *self.scaling(name, scale, zeros, dtype)]
        attrs = {} if axis is None else {"axis": axis}
        return self.node("DequantizeLinear", inputs, f"{name}_dq", **attrs)

    def bias(self, name: str, channels: int, scale: float | Values, zero_point: bool = True) -> str:
        """An int32 bias of one scale per channel, or one in all."""
        scale = np.asarray(scale, np.float32)
        values = self.rng.integers(-500, 500, channels).astype(np.int32)
        if self.scales_as == "fractions" and self.rng.random() < 0.6:
            real = (values + self.rng.random(channels)) * scale
            return self.constant(name, real.astype(np.float32))
        inputs = [self.constant(name, values), self.constant(f"{name}_scale", scale)]
        if zero_point:
            inputs.append(self.constant(f"{name}_zero", np.zeros(scale.shape, np.int32)))
        attrs = {"axis": 0} if scale.ndim else {}
        return self.node("DequantizeLinear", inputs, f"{name}_dq", **attrs)

    def model(
        self,
        inputs: Ports,
        outputs: Ports,
    ) -> onnx.ModelProto:
        """``inputs`` and ``outputs``: name -> (type, shape)."""

        def ports(of: Ports) -> list[onnx.ValueInfoProto]:
            return [helper.make_tensor_value_info(n, TYPES[t], s) for n, (t, s) in of.items()]

        graph = helper.make_graph(
            self.nodes, "qdq", ports(inputs), ports(outputs), list(self.constants.values())
        )
        opsets = [helper.make_opsetid("", self.opset)]
        if self.domain:
            opsets.append(helper.make_opsetid(self.domain, 1))
        return helper.make_model(graph, opset_imports=opsets, ir_version=10)


def tiny(
    dtype: str = "int8", opset: int = 15, weights: str = "int8", domain: str = ""
) -> tuple[onnx.ModelProto, Network]:
    """Integers in and out: a convolution, a depthwise one, a residual, a max pool on integers, a
    reshape on integers, a dense layer.  ``image`` (1, 3, 9, 9) -> ``scores`` (1, 5)."""
    net = Network(dtype, opset, domain)
    low = np.iinfo(dtype).min
    wide = 1.0 if np.iinfo(dtype).bits == 8 else 1 / 256
    x = net.dequantise("image", 0.02 * wide, low + int(90 / wide))
    pools = opset >= 12 and np.iinfo(dtype).bits == 8
    axis = 0 if opset >= 13 else None  # as long as scales per channel exist
    w = net.filters("w1", (8, 3, 3, 3), axis=axis, dtype=weights)
    b = net.bias("b1", 8, net.scales["w1"] * np.float32(0.02))
    y = net.node("Conv", [x, w, b], "y1", pads=[1, 1, 1, 1])
    y = net.pair(net.node("Relu", [y], "r1"), 0.015 * wide, low)
    d = net.node(
        "Conv",
        [y, net.filters("w2", (8, 1, 3, 3), axis=axis), ""],
        "y2",
        pads=[1, 1, 1, 1],
        group=8,
    )
    d = net.pair(d, 0.03 * wide, low + int(128 / wide))
    s = net.quantise(net.node("Relu", [net.node("Add", [d, y], "s")], "r2"), 0.03 * wide, low)
    p = net.node("MaxPool", [s], "p", kernel_shape=[3, 3], strides=[3, 3]) if pools else s
    flat = net.node("Flatten", [p], "flat")
    f = net.dequantise(flat, 0.03 * wide, low)
    features = 72 if pools else 648
    z = net.node("MatMul", [f, net.filters("w3", (features, 5), axis=None)], "z")
    z = net.node("Add", [z, net.bias("b3", 5, 1e-3, zero_point=False)], "zb")
    net.node("Identity", [net.quantise(z, 0.02 * wide, low + int(100 / wide))], "scores")
    return net.model({"image": (dtype, (1, 3, 9, 9))}, {"scores": (dtype, (1, 5))}), net


def joined() -> onnx.ModelProto:
    """Branches of different scales joined twice, each time to a scale of its own; a dense layer
    behind.  ``image`` (1, 3, 9, 9) int8 -> ``scores`` (1, 5).

    No number of one scale lies in the middle between two of the next, or nearly so: there float32
    may go the other way than exact arithmetic."""
    net = Network()
    x = net.dequantise("image", 0.02, -3)

    def conv(name: str, channels: int, scale: float, zero: int) -> str:
        w = net.filters(f"w{name}", (channels, 3, 3, 3))
        y = net.node("Conv", [x, w, net.bias(f"b{name}", channels, 1e-3)], f"y{name}")
        return net.pair(y, scale, zero)

    one, two, three = conv("1", 4, 0.0503, 4), conv("2", 3, 0.031, -7), conv("3", 2, 0.0597, 2)
    pooled = net.node("MaxPool", [one], "p", kernel_shape=[3, 3], pads=[1, 1, 1, 1])
    inner = net.pair(net.node("Concat", [pooled, two], "inner", axis=1), 0.0503, 4)
    outer = net.pair(net.node("Concat", [inner, three], "outer", axis=1), 0.0597, 2)
    flat = net.node("Flatten", [outer], "flat")
    net.node("MatMul", [flat, net.filters("w4", (441, 5), axis=None)], "scores")
    return net.model({"image": ("int8", (1, 3, 9, 9))}, {"scores": ("float32", (1, 5))})


def deep(
    layers: int = 12, channels: int = 32, seed: int = 5, *, real: bool = False
) -> onnx.ModelProto:
    """Pointwise and depthwise convolutions in turn, per channel, and a dense layer of coarse steps:
    what one number of an early layer does reaches all of the output.  ``image`` (1, 32, 8, 8) int8
    -> ``scores`` (1, 16) int8.  ``real``: filters are float32."""
    net = Network(seed=seed)
    y = net.dequantise("image", 1 / 32, 0)
    for i in range(layers):
        depthwise = i % 2 == 1
        shape = (channels, 1 if depthwise else channels, *((3, 3) if depthwise else (1, 1)))
        attrs = {"group": channels, "pads": [1, 1, 1, 1]} if depthwise else {}
        w = net.filters(f"w{i}", shape)
        if real:
            w = net.constant(f"r{i}", net.rng.normal(0, 0.1, shape).astype(np.float32))
        bias = net.bias(f"b{i}", channels, 1e-4)
        y = net.pair(net.node("Conv", [y, w, bias], f"y{i}", **attrs), *_DEEP_GRID)
    flat = net.node("Flatten", [y], "flat")
    z = net.node("MatMul", [flat, net.filters("w", (64 * channels, 16), axis=None)], "z")
    net.node("Identity", [net.quantise(z, 1 / 96, 0)], "scores")
    return net.model({"image": ("int8", (1, channels, 8, 8))}, {"scores": ("int8", (1, 16))})


_DEEP_GRID = (1 / 48, 0)
