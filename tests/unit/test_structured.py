"""Inputs and outputs that are sequences or optionals."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from edgeconv.base import arguments
from edgeconv.base.arguments import NOTHING
from edgeconv.base.errors import EdgeconvError
from edgeconv.model import frontend
from edgeconv.model.frontend.reference import reference_outputs

_FLOAT = TensorProto.FLOAT


def _sequence(name: str) -> onnx.ValueInfoProto:
    return helper.make_tensor_sequence_value_info(name, _FLOAT, None)


def _optional(name: str) -> onnx.ValueInfoProto:
    kind = helper.make_optional_type_proto(helper.make_tensor_type_proto(_FLOAT, [2]))
    return helper.make_value_info(name, kind)


def _saved(
    folder: Path,
    nodes: Sequence[onnx.NodeProto],
    inputs: Sequence[onnx.ValueInfoProto],
    outputs: Sequence[onnx.ValueInfoProto],
) -> Path:
    graph = helper.make_graph(nodes, "structured", inputs, outputs)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    path = folder / "model.onnx"
    onnx.save(model, path)
    return path


def _inserting(folder: Path) -> Path:
    """xs and t -> xs with t behind them, and the first of xs."""
    first = helper.make_node("Constant", [], ["first"], value_int=0)
    nodes = [
        helper.make_node("SequenceInsert", ["xs", "t"], ["ys"]),
        first,
        helper.make_node("SequenceAt", ["xs", "first"], ["z"]),
    ]
    t, z = (helper.make_tensor_value_info(name, _FLOAT, shape) for name, shape in _NAMED)
    return _saved(folder, nodes, [_sequence("xs"), t], [_sequence("ys"), z])


_NAMED = (("t", [2]), ("z", None))
_SHAPES = {"xs_0": (3,), "xs_1": (1, 2)}


def test_a_sequence_is_its_tensors(tmp_path: Path) -> None:
    graph = frontend.load(_inserting(tmp_path), input_shapes=_SHAPES)
    assert graph.inputs == ("xs_0", "xs_1", "t")
    assert graph.outputs == ("ys_0", "ys_1", "ys_2", "z")
    assert [graph[name].shape for name in graph.outputs] == [(3,), (1, 2), (2,), (3,)]


def test_an_engine_is_given_the_sequence(tmp_path: Path) -> None:
    feeds = {
        "xs_0": np.arange(3, dtype=np.float32),
        "xs_1": np.ones((1, 2), np.float32),
        "t": np.zeros(2, np.float32),
    }
    found = reference_outputs(_inserting(tmp_path), feeds).values
    assert list(found) == ["ys_0", "ys_1", "ys_2", "z"]
    for name, source in zip(found, ("xs_0", "xs_1", "t", "xs_0"), strict=True):
        np.testing.assert_array_equal(found[name], feeds[source])
    only = reference_outputs(_inserting(tmp_path), feeds, ["ys_1"]).values
    np.testing.assert_array_equal(only["ys_1"], feeds["xs_1"])


def test_a_sequence_of_unknown_length_is_refused(tmp_path: Path) -> None:
    with pytest.raises(EdgeconvError, match="'xs', a sequence of unknown length") as refused:
        frontend.load(_inserting(tmp_path))
    assert "--input-shape xs_0=1x3" in str(refused.value)
    assert "--input-shape xs=none" in str(refused.value)


def test_an_empty_sequence(tmp_path: Path) -> None:
    nodes = [helper.make_node("SequenceInsert", ["xs", "t"], ["ys"])]
    t = helper.make_tensor_value_info("t", _FLOAT, [2])
    path = _saved(tmp_path, nodes, [_sequence("xs"), t], [_sequence("ys")])
    graph = frontend.load(path, input_shapes={"xs": NOTHING})
    assert graph.inputs == ("t",)
    assert graph.outputs == ("ys_0",)


def test_the_name_of_an_element_is_taken(tmp_path: Path) -> None:
    nodes = [helper.make_node("SequenceInsert", ["xs", "xs_0"], ["ys"])]
    other = helper.make_tensor_value_info("xs_0", _FLOAT, [2])
    path = _saved(tmp_path, nodes, [_sequence("xs"), other], [_sequence("ys")])
    with pytest.raises(EdgeconvError, match="'xs_0', and the sequence 'xs'"):
        frontend.load(path, input_shapes={"xs_0": (2,)})


def _asking(folder: Path) -> Path:
    """Whether an optional holds a tensor, and that."""
    nodes = [
        helper.make_node("OptionalHasElement", ["x"], ["has"]),
        helper.make_node("OptionalGetElement", ["x"], ["y"]),
    ]
    outputs = [
        helper.make_tensor_value_info("has", TensorProto.BOOL, []),
        helper.make_tensor_value_info("y", _FLOAT, [2]),
    ]
    return _saved(folder, nodes, [_optional("x")], outputs)


def test_an_optional_is_what_it_holds(tmp_path: Path) -> None:
    graph = frontend.load(_asking(tmp_path))
    assert graph.inputs == ("x",)
    assert [graph[name].shape for name in graph.outputs] == [(), (2,)]
    x = np.ones(2, np.float32)
    found = reference_outputs(_asking(tmp_path), {"x": x}).values
    assert bool(found["has"])
    np.testing.assert_array_equal(found["y"], x)


def test_what_an_optional_lacks_is_not_read(tmp_path: Path) -> None:
    with pytest.raises(EdgeconvError, match="an optional that holds nothing"):
        frontend.load(_asking(tmp_path), input_shapes={"x": NOTHING})


def test_an_optional_that_holds_nothing_is_no_output(tmp_path: Path) -> None:
    kind = helper.make_tensor_type_proto(_FLOAT, [2])
    node = helper.make_node("Optional", [], ["y"], type=kind)
    path = _saved(tmp_path, [node], [], [_optional("y")])
    with pytest.raises(EdgeconvError, match="output 'y', which holds nothing"):
        frontend.load(path)


def test_the_word_for_nothing() -> None:
    assert arguments.shape("x=none") == ("x", NOTHING)
    assert arguments.shape_word(NOTHING) == "none"
    assert arguments.shape_word((1, 3)) == "1x3"
