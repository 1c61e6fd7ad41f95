"""Pads of integers by their zero point: part of the windows of what reads them, whoever wrote
them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from edgeconv.ir.choice import Choice
from edgeconv.kernels.algorithms.sums import form_of
from edgeconv.model import frontend, passes
from edgeconv.search import choose
from edgeconv.search.choose.storage import EVERY_RESULT
from edgeconv.target.backends import TARGETS
from tests.tflite_models import Sketch

SCALE, ZERO = 0.0235, 5
PADS = [[0, 0], [0, 1], [1, 1], [0, 0]]  # of rows and columns, channels last


def _chosen(model: Path) -> Choice:
    graph = passes.optimise(frontend.load(model))
    return choose.select(graph, TARGETS["scalar"], integers=EVERY_RESULT)


def _in_integers(model: Path) -> None:
    """No Pad is left, and both convolutions can be computed in integers."""
    chosen = _chosen(model)
    assert [node.op for node in chosen.graph.nodes if node.op in ("Pad", "Concat")] == []
    weighted = [node for node in chosen.graph.nodes if node.op == "Conv"]
    assert [node.attrs["pads"] for node in weighted] == [(0, 1, 1, 1)] * 2
    assert all(form_of(node, chosen.graph) for node in weighted)


def _tflite() -> bytes:
    """PAD, CONV_2D, PAD and DEPTHWISE_CONV_2D, as Keras' ZeroPadding2D becomes."""
    rng, sketch = np.random.default_rng(2), Sketch()
    x = sketch.tensor("input", (1, 8, 9, 3), "int8", scale=[SCALE], zero=[ZERO])
    pads = sketch.constant("pads", PADS, "int32")
    given, unit, zero = x, SCALE, ZERO
    sizes, in_c = (8, 9), 3
    for name, kind, shape in (
        ("conv", "CONV_2D", (4, 3, 3, 3)),
        ("depthwise", "DEPTHWISE_CONV_2D", (1, 3, 3, 4)),
    ):
        padded = (1, sizes[0] + 1, sizes[1] + 2, in_c)
        wide = sketch.tensor(f"{name}/pad", padded, "int8", scale=[unit], zero=[zero])
        sketch.operator("PAD", [given, pads], [wide])
        axis = 3 if kind == "DEPTHWISE_CONV_2D" else 0
        scales = rng.uniform(0.004, 0.01, 4).astype(np.float32)
        w = sketch.constant(
            f"{name}/w",
            rng.integers(-127, 128, shape),
            "int8",
            scale=scales.tolist(),
            zero=[0] * 4,
            axis=axis,
        )
        b = sketch.constant(
            f"{name}/b",
            rng.integers(-2000, 2000, 4),
            "int32",
            scale=(np.float32(unit) * scales).tolist(),
            zero=[0] * 4,
        )
        sizes = ((padded[1] - 3) // 2 + 1, (padded[2] - 3) // 2 + 1)
        unit, zero, in_c = 0.041 + 0.1 * (name == "depthwise"), -128, 4
        given = sketch.tensor(name, (1, *sizes, 4), "int8", scale=[unit], zero=[zero])
        sketch.operator(
            kind,
            [wide, w, b],
            [given],
            padding="VALID",
            stride_w=2,
            stride_h=2,
            activation="RELU",
        )
    return sketch.bytes([x], [given])


def _onnx(dtype: Any, *, qdq: bool, channels_last: bool) -> onnx.ModelProto:
    """Pad and Conv twice.  ``qdq``: each tensor is rounded, else the Pad is of integers alone."""
    rng, nodes = np.random.default_rng(3), []
    held: dict[str, onnx.TensorProto] = {}
    low = np.iinfo(dtype).min

    def constant(name: str, value: Any, kind: Any) -> str:
        held[name] = numpy_helper.from_array(np.asarray(value, kind), name)
        return name

    def node(op: str, inputs: list[str], output: str, **attrs: Any) -> str:
        nodes.append(helper.make_node(op, inputs, [output], **attrs))
        return output

    def grid(name: str, scale: float, zero: int) -> list[str]:
        return [
            constant(f"{name}/s", scale, np.float32),
            constant(f"{name}/z", zero + low + 128, dtype),
        ]

    if channels_last:
        pads = constant("pads", [0, 0, 1, 0, 0, 1, 1, 0], np.int64)
    else:
        pads = constant("pads", [0, 0, 0, 1, 0, 0, 1, 1], np.int64)
    q, own, in_c = "input", grid("input", SCALE, ZERO), 3
    for number, groups in enumerate((1, 4)):
        name = f"conv{number}"
        if channels_last:
            q = node("Transpose", [q], f"{name}/last", perm=[0, 2, 3, 1])
        if qdq:
            real = node("DequantizeLinear", [q, *own], f"{name}/real")
            padded = node("Pad", [real, pads], f"{name}/padded")
            q = node("QuantizeLinear", [padded, *own], f"{name}/q")
        else:
            q = node("Pad", [q, pads, own[1]], f"{name}/q")
        if channels_last:
            q = node("Transpose", [q], f"{name}/first", perm=[0, 3, 1, 2])
        x = node("DequantizeLinear", [q, *own], f"{name}/x")
        w = rng.integers(-127, 128, (4, in_c // groups, 3, 3))
        units = [constant(f"{name}/u", 0.006, np.float32), constant(f"{name}/uz", 0, np.int8)]
        filters = node(
            "DequantizeLinear", [constant(f"{name}/wq", w, np.int8), *units], f"{name}/w"
        )
        y = node("Conv", [x, filters], f"{name}/y", group=groups, strides=[2, 2])
        own, in_c = grid(name, 0.043 + 0.2 * number, -128), 4
        q = node("QuantizeLinear", [y, *own], f"{name}/out")
    node("Identity", [q], "output")
    kind = TensorProto.UINT8 if dtype == np.uint8 else TensorProto.INT8
    graph = helper.make_graph(
        nodes,
        "padded",
        [helper.make_tensor_value_info("input", kind, (1, 3, 8, 9))],
        [helper.make_tensor_value_info("output", kind, (1, 4, 2, 3))],
        list(held.values()),
    )
    opset = helper.make_opsetid("", 13)
    return helper.make_model(graph, opset_imports=[opset], ir_version=8)


def test_of_tensorflow_lite(tmp_path: Path) -> None:
    model = tmp_path / "padded.tflite"
    model.write_bytes(_tflite())
    _in_integers(model)


@pytest.mark.parametrize("channels_last", [False, True])
@pytest.mark.parametrize("qdq", [False, True])
@pytest.mark.parametrize("dtype", [np.int8, np.uint8])
def test_of_onnx(tmp_path: Path, dtype: Any, qdq: bool, channels_last: bool) -> None:
    model = tmp_path / "padded.onnx"
    onnx.save(_onnx(dtype, qdq=qdq, channels_last=channels_last), model)
    _in_integers(model)
