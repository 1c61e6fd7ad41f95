"""ConvTranspose with constant filters is one convolution, whatever its strides and groups."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper, numpy_helper

from edgeconv.model import passes
from edgeconv.model.frontend import load
from tests.ir_interpreter import evaluate

CASES: list[dict[str, Any]] = [
    {"x": (1, 3, 4, 5), "w": (3, 2, 3, 3)},
    {"x": (2, 4, 3, 3), "w": (4, 3, 2, 2), "strides": [2, 2], "group": 2},
    {"x": (1, 2, 4, 3), "w": (2, 3, 3, 4), "strides": [2, 3], "pads": [1, 0, 0, 1]},
    {"x": (1, 2, 3, 4), "w": (2, 1, 3, 2), "strides": [3, 2], "dilations": [2, 3]},
    {"x": (1, 2, 4), "w": (2, 3, 3), "strides": [2], "output_padding": [1], "pads": [1, 1]},
    {"x": (1, 2, 4), "w": (2, 3, 1), "strides": [3], "output_padding": [2]},
    {"x": (1, 2, 2, 3, 2), "w": (2, 1, 2, 3, 2), "strides": [2, 1, 2]},
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['w']}{case.get('strides', '')}")
def test_phases(case: dict[str, Any], tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    attrs = {name: value for name, value in case.items() if name not in ("x", "w")}
    x, w = (rng.standard_normal(case[name]).astype(np.float32) for name in "xw")
    bias = rng.standard_normal(w.shape[1] * attrs.get("group", 1)).astype(np.float32)
    node = helper.make_node("ConvTranspose", ["x", "w", "b"], ["y"], **attrs)
    graph = helper.make_graph(
        [node],
        "transposed",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, x.shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(w, "w"), numpy_helper.from_array(bias, "b")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    onnx.save(model, tmp_path / "m.onnx")
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    (want,) = session.run(None, {"x": x})
    loaded = load(tmp_path / "m.onnx")
    assert [node.op for node in loaded.nodes].count("Conv") == 1
    np.testing.assert_allclose(evaluate(loaded, {"x": x})["y"], want, 1e-5, 1e-5)


@pytest.mark.parametrize("group", [1, 2])
@pytest.mark.parametrize("per_channel", [False, True])
def test_integers_remain_integers(per_channel: bool, group: int, tmp_path: Path) -> None:
    """Filters of DequantizeLinear are multiples of the same scales in every phase; bias and
    rounding are the convolution's, in front of what is cropped."""
    rng = np.random.default_rng(0)
    count = 4 if per_channel else 1
    scale = np.ldexp(np.float32(1), -np.arange(count) - 5)  # sums are exact in float32
    constants = {
        "w": rng.integers(-127, 128, (6, 4, 4, 4)).astype(np.int8),
        "ws": scale if per_channel else scale[0],
        "wz": np.zeros(scale.shape if per_channel else (), np.int8),
        "b": np.ldexp(rng.integers(-999, 999, 4 * group).astype(np.float32), -8),
        "one": np.float32(1),
        "grid": np.float32(0.125),
        "zero": np.int8(3),
    }
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "one", "zero"], ["xq"]),
        helper.make_node("DequantizeLinear", ["xq", "one", "zero"], ["xd"]),
        helper.make_node("DequantizeLinear", ["w", "ws", "wz"], ["wd"], axis=1),
        helper.make_node(
            "ConvTranspose",
            ["xd", "wd", "b"],
            ["t"],
            strides=[2, 2],
            pads=[1, 1, 1, 1],
            group=group,
        ),
        helper.make_node("QuantizeLinear", ["t", "grid", "zero"], ["tq"]),
        helper.make_node("DequantizeLinear", ["tq", "grid", "zero"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes,
        "quantised",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, (1, 6, 5, 3))],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(np.asarray(v), name) for name, v in constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=9)
    onnx.save(model, tmp_path / "m.onnx")
    optimised = passes.optimise(load(tmp_path / "m.onnx"))
    (conv,) = (node for node in optimised.nodes if node.op == "Conv")
    units = np.asarray(conv.attrs["storage"].scale, np.float32)
    assert conv.attrs["exact"]
    np.testing.assert_array_equal(units, np.tile(scale, 4 * group * (4 // count)))
    filters = optimised[conv.inputs[1]].data
    assert filters is not None
    steps = np.asarray(filters, np.float32) / units.reshape(-1, 1, 1, 1)
    np.testing.assert_array_equal(steps, np.rint(steps))
    assert conv.inputs[2]
    assert conv.epilogue.before.kind == "grid"
    assert [node.op for node in optimised.nodes if node.op in ("Affine", "Binary")] == []
    x = {"x": rng.normal(0, 40, (1, 6, 5, 3)).astype(np.float32)}
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    written, providers = model.SerializeToString(), ["CPUExecutionProvider"]
    session = ort.InferenceSession(written, options, providers=providers)
    np.testing.assert_array_equal(evaluate(optimised, x)["y"], session.run(None, x)[0])
