"""What onnx's checker rejects is read with a note, or refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper

from edgeconv.base.errors import EdgeconvError
from edgeconv.model.frontend import load
from tests.onnx_models import convolution, model, relu, residual, save

make = helper.make_node


def _unsorted() -> onnx.ModelProto:
    nodes = [make("Relu", ["a"], ["y"]), make("Exp", ["x"], ["a"])]
    return model(nodes, {"x": (2,)}, {"y": None})


def _large_constant_in_a_node() -> onnx.ModelProto:
    value = onnx.numpy_helper.from_array(np.ones(5000, np.float32))
    nodes = [make("Constant", [], ["c"], value=value), make("Add", ["x", "c"], ["y"])]
    return model(nodes, {"x": (5000,)}, {"y": None})


SOUND = {
    "plain": relu(2, 3),
    "network": residual(),
    "large weights": convolution(64, 64, (1, 64, 8, 8)),
    "large constant": _large_constant_in_a_node(),
    "unsorted": _unsorted(),
}


@pytest.mark.parametrize("name", SOUND)
def test_nothing_is_said_of_a_sound_model(name: str, tmp_path: Path) -> None:
    assert load(save(SOUND[name], tmp_path / "model.onnx")).notes == ()


def _without_a_type() -> onnx.ModelProto:
    source = relu(2, 3)
    source.graph.output[0].ClearField("type")
    return source


def _unregistered_function() -> onnx.ModelProto:
    """A call of a domain that the model does not import."""
    opsets = [helper.make_opsetid("", 17)]
    body = helper.make_function("own", "f", ["a"], ["b"], [make("Relu", ["a"], ["b"])], opsets)
    source = model([make("f", ["x"], ["y"], domain="own")], {"x": (2,)}, {"y": None})
    source.functions.append(body)
    return source


def _nameless_graph() -> onnx.ModelProto:
    source = relu(2, 3)
    source.graph.name = ""
    return source


@pytest.mark.parametrize("source", [_without_a_type(), _unregistered_function(), _nameless_graph()])
def test_what_others_refuse_is_said(source: onnx.ModelProto, tmp_path: Path) -> None:
    with pytest.raises(onnx.checker.ValidationError):
        onnx.checker.check_model(source)
    path = save(source, tmp_path / "model.onnx")
    try:
        notes = load(path).notes
    except EdgeconvError:
        return
    assert [note for note in notes if "onnx's checker says" in note]
