"""Pads to a shape that nothing states, and what is sliced out of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import pytest
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

from edgeconv.base.errors import EdgeconvError
from edgeconv.model import frontend
from edgeconv.model.frontend.running import prepared

_WHOLE = TensorProto.INT64


def _model(*nodes: onnx.NodeProto, out: list[int] | None) -> onnx.ModelProto:
    """x [5, 4], run-time pads [4] and start [2] -> y."""
    inputs = [
        helper.make_tensor_value_info("x", TensorProto.FLOAT, [5, 4]),
        helper.make_tensor_value_info("pads", _WHOLE, [4]),
        helper.make_tensor_value_info("start", _WHOLE, [2]),
        helper.make_tensor_value_info("border", TensorProto.FLOAT, []),
    ]
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, out)
    size = helper.make_node("Constant", [], ["size"], value_ints=[3, 4])
    graph = helper.make_graph([size, *nodes], "late", inputs, [y])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)


_PAD = helper.make_node("Pad", ["x", "pads", "border"], ["padded"])
_END = helper.make_node("Add", ["start", "size"], ["end"])
_CUT = helper.make_node("Slice", ["padded", "start", "end"], ["y"])


def test_a_slice_of_every_place(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    path = tmp_path / "model.onnx"
    onnx.save(_model(_PAD, _END, _CUT, out=[3, 4]), path)
    graph = frontend.load(path)
    run, expected = prepared(graph), ReferenceEvaluator(str(path))
    rng = np.random.default_rng(3)
    x, border = rng.normal(size=(5, 4)).astype(np.float32), np.float32(7)
    for pads in ((0, 0, 0, 0), (2, 1, 3, 0), (0, 9, 4, 2)):
        rows, columns = (n + pads[i] + pads[2 + i] for i, n in enumerate(x.shape))
        for start in ((0, 0), (rows - 3, columns - 4), (2, (columns - 4) // 2)):
            feeds: dict[str, npt.NDArray[Any]] = {
                "x": x,
                "pads": np.array(pads, np.int64),
                "start": np.array(start, np.int64),
                "border": np.asarray(border),
            }
            (want,) = expected.run(None, feeds)
            got = run({name: feeds[name] for name in graph.inputs})["y"]
            np.testing.assert_array_equal(got, want, err_msg=f"{pads} {start}")


@pytest.mark.parametrize(
    ("reader", "said"),
    [
        (helper.make_node("Relu", ["padded"], ["y"]), "the shape of padded depends on values"),
        (
            helper.make_node("Pad", ["x", "pads", "border"], ["y"]),
            "the shape of its output depends",
        ),
    ],
)
def test_other_readers_are_refused(reader: onnx.NodeProto, said: str, tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    onnx.save(_model(_PAD, reader, out=None), path)
    with pytest.raises(EdgeconvError) as refused:
        frontend.load(path)
    assert said in "\n".join(refused.value.details)
