"""Quantised models whose real numbers are float16 or bfloat16: scales, and what lies between."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from edgeconv.model import frontend, passes
from edgeconv.model.frontend import reference_beside
from edgeconv.run.verify.per_layer import NEAR

FLOAT16, BFLOAT16 = TensorProto.FLOAT16, TensorProto.BFLOAT16
STEPS = np.arange(-127, 128, 2).astype(np.int8).reshape(4, 4, 8, 1)
SCALES = (0.0117, 0.023, 0.31, 0.7)


def quantised(kind: int, folder: Path) -> Path:
    """An 8x1 convolution of int8 filters, a scale each, between casts from float32 and back."""
    nodes = [
        helper.make_node("Cast", ["x"], ["half"], to=kind),
        helper.make_node("QuantizeLinear", ["half", "x_scale", "x_zero"], ["x_q"]),
        helper.make_node("DequantizeLinear", ["x_q", "x_scale", "x_zero"], ["x_d"]),
        helper.make_node("DequantizeLinear", ["w_q", "w_scale"], ["w_d"], axis=0),
        helper.make_node("Conv", ["x_d", "w_d"], ["sum"]),
        helper.make_node("QuantizeLinear", ["sum", "y_scale", "x_zero"], ["y_q"]),
        helper.make_node("DequantizeLinear", ["y_q", "y_scale", "x_zero"], ["y_d"]),
        helper.make_node("Cast", ["y_d"], ["y"], to=TensorProto.FLOAT),
    ]
    constants = [
        helper.make_tensor("x_scale", kind, [], [0.0317]),
        helper.make_tensor("y_scale", kind, [], [0.9]),
        helper.make_tensor("w_scale", kind, [4], SCALES),
        numpy_helper.from_array(np.array(3, np.int8), "x_zero"),
        numpy_helper.from_array(STEPS, "w_q"),
    ]
    graph = helper.make_graph(
        nodes,
        "quantised",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, (1, 4, 8, 5))],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, (1, 4, 1, 5))],
        constants,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10)
    onnx.checker.check_model(model, full_check=True)
    onnx.save(model, folder / "model.onnx")
    return folder / "model.onnx"


@pytest.mark.parametrize("kind", [FLOAT16, BFLOAT16])
def test_filters_are_their_integers(kind: int, tmp_path: Path) -> None:
    """Not the numbers nearest to their multiples that the type has, which no scale divides."""
    graph = passes.optimise(frontend.load(quantised(kind, tmp_path)))
    (conv,) = (node for node in graph.nodes if node.op == "Conv")
    filters = graph[conv.inputs[1]].data
    assert filters is not None
    stored = numpy_helper.to_array(helper.make_tensor("s", kind, [4], SCALES)).astype(np.float32)
    np.testing.assert_array_equal(conv.attrs["storage"].scale, stored)
    np.testing.assert_array_equal(filters, STEPS * stored.reshape(-1, 1, 1, 1))
    assert conv.attrs["exact"]
    assert conv.epilogue.before.kind == "grid"


def test_roundings_of_the_type_are_told_from_defects(tmp_path: Path) -> None:
    """A step more or less where float16's roundings reach the middle between two."""
    path = quantised(FLOAT16, tmp_path)
    x = np.random.default_rng(0).normal(0, 1, (1, 4, 8, 5)).astype(np.float32)
    own = frontend.reference_outputs(path, {"x": x}, ("sum", "y_q")).values
    low, plain, high = (
        reference_beside(path, {"x": x}, {"y_q": own["y_q"]}, shift=shift)["y_q"].astype(int)
        for shift in (-NEAR, 0.0, NEAR)
    )
    np.testing.assert_array_equal(plain, own["y_q"])
    assert (low <= plain).all()
    assert (plain <= high).all()
    reach = 2.0**-9 * np.abs(own["sum"].astype(np.float64)).max() / 0.9
    assert reach > 0.05
    assert 0 < np.count_nonzero(low != high) < plain.size
