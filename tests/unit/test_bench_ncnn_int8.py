"""Quantised models for ncnn: floats in place of roundings, and the bytes of filters in int8."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from counting.ncnn_int8 import quantise, without_rounding
from onnx import helper
from onnx.reference import ReferenceEvaluator

from edgeconv.base.errors import EdgeconvError
from tests import onnx_models

PARAM = """7767517
5 6
Input in0 0 1 in0
Convolution conv_0 1 1 in0 1 0=2 1=1 5=1 6=6
Split split_0 1 2 1 2 3
Convolution conv_1 1 1 2 4 0=1 1=1 6=2
ConvolutionDepthWise conv_2 1 1 3 out0 0=2 1=1 6=2 7=2
"""


def test_roundings_are_left_out_and_constants_are_floats(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    whole = rng.integers(-100, 100, (3, 2, 1, 1)).astype(np.int8)
    scales = np.array([0.5, 0.25, 2.0], np.float32)
    constants: dict[str, Any] = {
        "scale": np.array(0.05, np.float32),
        "zero": np.array(3, np.int8),
        "whole": whole,
        "scales": scales,
    }
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "scale", "zero"], ["q"]),
        helper.make_node("DequantizeLinear", ["q", "scale", "zero"], ["d"]),
        helper.make_node("DequantizeLinear", ["whole", "scales"], ["w"], axis=0),
        helper.make_node("Conv", ["d", "w"], ["c"]),
        helper.make_node("QuantizeLinear", ["c", "scale", "zero"], ["r"]),
        helper.make_node("DequantizeLinear", ["r", "scale", "zero"], ["y"]),
    ]
    path = tmp_path / "rounded.onnx"
    onnx.save(onnx_models.model(nodes, {"x": (1, 2, 2, 2)}, {"y": None}, constants), path)
    real = without_rounding(path)
    assert [node.op_type for node in real.graph.node] == ["Conv"]
    x = rng.standard_normal((1, 2, 2, 2)).astype(np.float32)
    weights = whole[:, :, 0, 0] * scales[:, None]
    expected = np.einsum("fc,nchw->nfhw", weights, x)
    (y,) = ReferenceEvaluator(real).run(None, {"x": x})
    np.testing.assert_allclose(np.asarray(y), expected, rtol=1e-5)


def test_filters_become_int8_with_their_scales(tmp_path: Path) -> None:
    filters, biases = np.array([[1, -2, 0.5], [8, 4, -8]], "<f2"), np.array([7, 9], "<f4")
    halves, floats = np.uint32(0x01306B47).tobytes(), np.uint32(0).tobytes()
    second, third = np.array([3, -1], "<f4"), np.array([2, -4], "<f4")
    (tmp_path / "net.ncnn.param").write_text(PARAM)
    (tmp_path / "net.ncnn.bin").write_bytes(
        b"".join(
            (halves, filters.tobytes(), biases.tobytes())
            + (floats, second.tobytes(), floats, third.tobytes())
        )
    )
    quantise(tmp_path / "net", tmp_path / "small")
    lines = (tmp_path / "small.ncnn.param").read_text().splitlines()
    ends = [line.split()[-1] for line in lines]
    # Both readers take int8, so that results of the first are; behind the others stands nothing.
    assert [ends[3], ends[5], ends[6]] == ["8=102", "8=2", "8=1"]
    data = (tmp_path / "small.ncnn.bin").read_bytes()
    assert np.frombuffer(data, np.int8, 6, 4).tolist() == [64, -127, 32, 127, 64, -127]
    assert np.frombuffer(data, "<f4", 2, 12).tolist() == [7, 9]
    assert np.frombuffer(data, "<f4", 2, 20).tolist() == pytest.approx([63.5, 127 / 8])
    # Tag, filters and biases, scales of filters, of what is read and of the result, ...
    assert len(data) == (4 + 8 + 8 + 8 + 4 + 4) + (4 + 4 + 4 + 4) + (4 + 4 + 8 + 4)
    assert np.frombuffer(data, np.int8, 2, 36 + 16 + 4).tolist() == [127, -127]


def test_layers_with_other_weights_are_refused(tmp_path: Path) -> None:
    lines = PARAM.replace("Split", "LSTM")
    (tmp_path / "net.ncnn.param").write_text(lines)
    with pytest.raises(EdgeconvError, match=r"not known.*LSTM"):
        quantise(tmp_path / "net", tmp_path / "small")
