"""ConvTranspose with constant filters is one convolution, whatever its strides and groups."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper, numpy_helper

from edgeconv.frontend import load
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
