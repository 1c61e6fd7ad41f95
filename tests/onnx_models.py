"""Small ONNX models for tests that start from a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper, numpy_helper

Values = npt.NDArray[Any]
Dims = Sequence[int | str | None]
OPSET = 17


def model(
    nodes: Sequence[onnx.NodeProto],
    inputs: Mapping[str, Dims],
    outputs: Mapping[str, Dims | None],
    constants: Mapping[str, Values] | None = None,
    *,
    opset: int = OPSET,
    input_type: int = TensorProto.FLOAT,
) -> onnx.ModelProto:
    """A model of the given nodes, unchecked: tests make invalid ones too."""
    graph = helper.make_graph(
        nodes,
        "test",
        [helper.make_tensor_value_info(name, input_type, dims) for name, dims in inputs.items()],
        [
            helper.make_tensor_value_info(name, TensorProto.FLOAT, dims)
            for name, dims in outputs.items()
        ],
        [numpy_helper.from_array(value, name) for name, value in (constants or {}).items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=9)


def convolution(
    in_c: int = 3, out_c: int = 4, dims: Dims = (1, 3, 8, 8), weights: Values | None = None
) -> onnx.ModelProto:
    """One 3x3 convolution with a bias, ``x`` -> ``y``."""
    rng = np.random.default_rng(1)
    w = rng.standard_normal((out_c, in_c, 3, 3), dtype=np.float32) if weights is None else weights
    node = helper.make_node("Conv", ["x", "w", "b"], ["y"], name="conv", pads=[1, 1, 1, 1])
    bias = rng.standard_normal(out_c, dtype=np.float32)
    return model([node], {"x": dims}, {"y": None}, {"w": w, "b": bias})


def residual(channels: int = 8, size: int = 9) -> onnx.ModelProto:
    """A network of every usual shape: strided, depthwise and pointwise convolutions, a residual,
    branches that are concatenated, pooling, dense, softmax.  ``image`` -> ``features``, ``p``."""
    rng = np.random.default_rng(2)
    c = channels
    constants: dict[str, Values] = {}

    def weight(name: str, *shape: int) -> str:
        fan_in = int(np.prod(shape[1:])) or 1
        constants[name] = rng.standard_normal(shape, dtype=np.float32) / np.float32(fan_in**0.5)
        return name

    make = helper.make_node
    nodes = [
        make("Conv", ["image", weight("w0", c, 3, 3, 3), weight("b0", c)], ["c0"], name="stem",
             pads=[0, 0, 1, 1], strides=[2, 2]),
        make("Relu", ["c0"], ["r0"], name="stem_relu"),
        make("Conv", ["r0", weight("w1", c, 1, 3, 3)], ["c1"], name="depthwise", group=c,
             pads=[1, 1, 1, 1]),
        make("HardSwish", ["c1"], ["r1"], name="swish"),
        make("Conv", ["r1", weight("w2", c, c, 1, 1)], ["c2"], name="pointwise"),
        make("Add", ["c2", "r0"], ["sum"], name="add"),
        make("Relu", ["sum"], ["features"], name="sum_relu"),
        make("Conv", ["features", weight("w3", 5, c, 3, 3)], ["left"], name="left",
             pads=[1, 1, 1, 1]),
        make("MaxPool", ["features"], ["right"], name="right", kernel_shape=[3, 3],
             pads=[1, 1, 1, 1]),
        make("Concat", ["left", "right"], ["both"], name="concat", axis=1),
        make("GlobalAveragePool", ["both"], ["pooled"], name="pool"),
        make("Flatten", ["pooled"], ["flat"], name="flatten"),
        make("Sigmoid", ["flat"], ["gate"], name="gate"),
        make("Gemm", ["gate", weight("w4", 6, c + 5), weight("b4", 6)], ["logits"], name="dense",
             transB=1),
        make("Softmax", ["logits"], ["p"], name="softmax", axis=1),
    ]  # fmt: skip
    outputs: dict[str, Dims | None] = {"features": None, "p": None}
    return model(nodes, {"image": (1, 3, size, size)}, outputs, constants)


def classifier() -> onnx.ModelProto:
    """A network of few layers, for tests of what is around it: ``image`` -> ``logits``."""
    rng = np.random.default_rng(3)
    shapes = {"w0": (6, 1, 3, 3), "b0": (6,), "w1": (10, 96), "b1": (10,)}
    weights = {name: rng.standard_normal(s, dtype=np.float32) / 3 for name, s in shapes.items()}
    make = helper.make_node
    nodes = [
        make("Conv", ["image", "w0", "b0"], ["c0"], name="stem", pads=[1, 1, 1, 1]),
        make("Relu", ["c0"], ["r0"], name="stem_relu"),
        make("MaxPool", ["r0"], ["pooled"], name="pool", kernel_shape=[2, 2], strides=[2, 2]),
        make("Flatten", ["pooled"], ["flat"], name="flatten"),
        make("Gemm", ["flat", "w1", "b1"], ["logits"], name="dense", transB=1),
    ]
    return model(nodes, {"image": (1, 1, 8, 8)}, {"logits": None}, weights)


def save(model: onnx.ModelProto, path: Path) -> Path:
    """Write ``model``; returns ``path``."""
    onnx.save(model, path)
    return path


def relu(*dims: int | str | None) -> onnx.ModelProto:
    """One Relu of an input of this shape, None where nothing is said."""
    return model([helper.make_node("Relu", ["x"], ["y"], name="relu")], {"x": dims}, {"y": None})


def trained_anew(source: Path, path: Path, noise: float = 0.05) -> Path:
    """The same graph with other filters and biases."""
    model, random = onnx.load(source), np.random.default_rng(1)
    for tensor in model.graph.initializer:
        value = numpy_helper.to_array(tensor)
        if value.dtype == np.float32 and value.ndim:
            changed = value * (1 + noise * random.standard_normal(value.shape))
            tensor.CopyFrom(numpy_helper.from_array(changed.astype(np.float32), tensor.name))
    onnx.save(model, path)
    return path
