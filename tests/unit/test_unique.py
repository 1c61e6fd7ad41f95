"""Unique of as many elements as the model states."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from edgeconv.model.frontend import load
from edgeconv.model.frontend.running import prepared

pytest.importorskip("onnxruntime")

_X = np.array([3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, -1], np.float32)
_OUTPUTS = ("y", "indices", "inverse", "counts")


@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.uint8])
@pytest.mark.parametrize("ordered", [0, 1])
def test_what_numpy_finds(ordered: int, dtype: type[np.generic], tmp_path: Path) -> None:
    x = np.abs(_X).astype(dtype).reshape(3, 4)
    y, first, inverse, counts = np.unique(x.reshape(-1), True, True, True)
    if not ordered:
        order = np.argsort(first)
        y, first, counts = y[order], first[order], counts[order]
        inverse = np.argsort(order)[inverse]
    kind = helper.np_dtype_to_tensor_dtype(x.dtype)
    kinds = (kind, *(TensorProto.INT64,) * 3)
    sizes = (len(y), len(y), x.size, len(y))
    node = helper.make_node("Unique", ["x"], _OUTPUTS, sorted=ordered)
    graph = helper.make_graph(
        [node],
        "unique",
        [helper.make_tensor_value_info("x", kind, x.shape)],
        [
            helper.make_tensor_value_info(name, of, [size])
            for name, of, size in zip(_OUTPUTS, kinds, sizes, strict=True)
        ],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    onnx.save(model, tmp_path / "model.onnx")
    found = prepared(load(tmp_path / "model.onnx"))({"x": x})
    for name, want in zip(_OUTPUTS, (y, first, inverse, counts), strict=True):
        np.testing.assert_array_equal(found[name], want, err_msg=name)
