"""Inputs of known value, which are constants of the program; sizes that a file merely claims."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from edgeconv.base.arguments import numbers
from edgeconv.base.errors import EdgeconvError, Exit
from edgeconv.model.frontend import Cut, load, reference, reference_outputs
from tests import onnx_models
from tests.command import BOARD, Command
from tests.tflite_files import saved
from tests.tflite_models import Sketch

pytestmark = pytest.mark.usefixtures("unoptimised")

make, _info = helper.make_node, helper.make_tensor_value_info
SAMPLES = {16000: 64, 8000: 32}  # of a step, by sampling rate


def _branch(name: str, samples: int) -> onnx.GraphProto:
    """A front end for steps of ``samples``, and a state."""
    weights = np.random.default_rng(samples).standard_normal((4, 1, samples // 4), np.float32)
    constants = {f"{name}_w": weights, f"{name}_shape": np.array([1, 1, samples])}
    nodes = [
        make("Reshape", ["x", f"{name}_shape"], [f"{name}_row"], f"{name}_row"),
        make("Conv", [f"{name}_row", f"{name}_w"], [f"{name}_c"], f"{name}_conv", strides=[4]),
        make("ReduceMean", [f"{name}_c"], [f"{name}_m"], axes=[2], keepdims=0),
        make("Add", [f"{name}_m", "state"], [f"{name}_y"]),
    ]
    held = [numpy_helper.from_array(value, each) for each, value in constants.items()]
    result = _info(f"{name}_y", TensorProto.FLOAT, None)
    return helper.make_graph(nodes, name, [], [result], held)


def voice_activity() -> onnx.ModelProto:
    """As Silero VAD: one network for each sampling rate, chosen by an input that is a number."""
    rate = numpy_helper.from_array(np.array(16000), "rate")
    nodes = [
        make("Equal", ["sr", "rate"], ["wide"], "is_wide"),
        make(
            "If",
            ["wide"],
            ["y"],
            "rates",
            then_branch=_branch("wide", SAMPLES[16000]),
            else_branch=_branch("narrow", SAMPLES[8000]),
        ),
    ]
    inputs = [
        _info("x", TensorProto.FLOAT, ["batch", SAMPLES[16000]]),
        _info("state", TensorProto.FLOAT, [1, 4]),
        _info("sr", TensorProto.INT64, []),
    ]
    graph = helper.make_graph(nodes, "vad", inputs, [_info("y", TensorProto.FLOAT, None)], [rate])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 16)], ir_version=8)


def valued(**values: str) -> Cut:
    """The whole model, with inputs of these values."""
    return Cut(values=tuple(values.items()))


@pytest.fixture
def vad(tmp_path: Path) -> Path:
    return onnx_models.save(voice_activity(), tmp_path / "vad.onnx")


def test_a_value_chooses_the_branch(vad: Path) -> None:
    graph = load(vad, cut_at=valued(sr="16000"))
    assert graph.inputs == ("x", "state")
    assert "input 'sr' is 16000, a constant of the program" in graph.notes
    assert [node.name for node in graph.nodes if node.op == "Conv"] == ["rates/wide_conv"]


def test_what_is_refused_of_the_other_branch_names_the_way_out(vad: Path) -> None:
    with pytest.raises(EdgeconvError) as caught:
        load(vad)
    said = "\n".join([str(caught.value), *caught.value.details])
    assert "--input-value sr=VALUE makes it a constant" in said


@pytest.mark.parametrize("engine", ["best", "onnx"])
def test_the_reference_has_the_value(
    engine: str, vad: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if engine == "onnx":
        monkeypatch.setattr(reference, "has_runtime", lambda: False)
    rng = np.random.default_rng(1)
    feeds = {"x": rng.standard_normal((1, 64), np.float32), "state": np.ones((1, 4), np.float32)}
    given = {**feeds, "sr": np.array(16000)}
    wanted = reference_outputs(vad, given).values["y"]
    found = reference_outputs(vad, feeds, cut_at=valued(sr="16000")).values["y"]
    np.testing.assert_allclose(found, wanted, rtol=1e-6)


def test_a_program_without_the_input(vad: Path, edgeconv: Command, tmp_path: Path) -> None:
    out = tmp_path / "out"
    command = ("compile", vad, "--board", BOARD, "-o", out, "--json")
    report = edgeconv.ok(*command, "--input-value", "sr=16000", "--verify").json()
    assert [port["name"] for port in report["inputs"]] == ["x", "state"]
    assert report["model"]["cut"] == {"inputs": [], "outputs": [], "values": {"sr": "16000"}}
    assert "--input-value sr=16000" in report["program"]["command"]
    assert report["accuracy"]["passed"]
    header = (out / "vad.h").read_text()
    assert "const float *input_x" in header
    assert "input_sr" not in header
    edgeconv.ok("verify", out, "--layers")
    edgeconv.ok("update-weights", out, vad)


def two_numbers(op_type: str, kind: int, dims: Sequence[Any], operand: str) -> onnx.ModelProto:
    """``op_type`` of x and an input ``n`` that says how."""
    inputs = [_info("x", TensorProto.FLOAT, [2, 3]), _info("n", kind, dims)]
    nodes = [make(op_type, ["x", operand], ["y"], "node")]
    graph = helper.make_graph(nodes, "two", inputs, [_info("y", TensorProto.FLOAT, None)])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)


@pytest.mark.parametrize(
    ("op_type", "dims", "value", "shape"),
    [
        ("Pad", [4], "0,1,0,1", (2, 5)),
        ("Reshape", ["k"], "3,-1", (3, 2)),
        ("Reshape", [1], "-1", (6,)),
        ("Expand", [3], "4,1,1", (4, 2, 3)),
        ("Tile", [2], "2,2", (4, 6)),
    ],
)
def test_a_list_says_what_shapes_depend_on(
    op_type: str, dims: list[Any], value: str, shape: tuple[int, ...], tmp_path: Path
) -> None:
    source = two_numbers(op_type, TensorProto.INT64, dims, "n")
    path = onnx_models.save(source, tmp_path / "two.onnx")
    assert load(path, cut_at=valued(n=value))["y"].shape == shape


def test_a_shape_that_a_few_numbers_decide_names_the_way_out(tmp_path: Path) -> None:
    source = two_numbers("Reshape", TensorProto.INT64, [2], "n")
    path = onnx_models.save(source, tmp_path / "two.onnx")
    with pytest.raises(EdgeconvError) as caught:
        load(path)
    assert "--input-value n=VALUE" in "\n".join(caught.value.details)


@pytest.mark.parametrize(
    ("kind", "dims", "text", "wanted"),
    [
        (TensorProto.INT32, [], "-7", np.int32(-7)),
        (TensorProto.FLOAT, [], "16000", np.float32(16000)),
        (TensorProto.FLOAT, [2], "0.1,-inf", np.array([0.1, -np.inf], np.float32)),
        (TensorProto.DOUBLE, [1, 2], "1e-3,2", np.array([[1e-3, 2]])),
        (TensorProto.BOOL, [3], "true,false,1", np.array([True, False, True])),
        (TensorProto.UINT8, ["k", 1], "255,0", np.array([[255], [0]], np.uint8)),
    ],
)
def test_a_value_has_the_type_and_shape_that_the_model_declares(
    kind: int, dims: list[Any], text: str, wanted: Any, tmp_path: Path
) -> None:
    inputs = [_info("x", TensorProto.FLOAT, [1]), _info("n", kind, dims)]
    nodes = [make("Identity", ["n"], ["y"]), make("Relu", ["x"], ["z"])]
    outputs = [_info(name, each, None) for name, each in (("y", kind), ("z", TensorProto.FLOAT))]
    graph = helper.make_graph(nodes, "one", inputs, outputs)
    source = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    path = onnx_models.save(source, tmp_path / "one.onnx")
    cut = valued(n=text)
    found = reference_outputs(path, {"x": np.zeros(1, np.float32)}, cut_at=cut).values["y"]
    assert found.dtype == np.asarray(wanted).dtype
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize(
    ("values", "word"),
    [
        ({"sr": "16000.5"}, "the input is of int64, which 16000.5 is not"),
        ({"sr": "true"}, "the input is of int64, which True is not"),
        ({"sr": "9223372036854775808"}, "which 9223372036854775808 is not"),
        ({"sr": "1,2"}, "the input is one number, which 2 numbers do not fill"),
        ({"state": "1,2,3"}, "the input is 1x4, which 3 numbers do not fill"),
        ({"srr": "1"}, "got input 'srr'; the model has no such input; did you mean sr?"),
        ({"y": "1"}, "got input 'y'; the model has no such input"),
    ],
)
def test_a_value_that_the_input_cannot_have(values: dict[str, str], word: str, vad: Path) -> None:
    with pytest.raises(EdgeconvError) as caught:
        load(vad, cut_at=valued(**values))
    assert word in str(caught.value)
    assert caught.value.code is Exit.USAGE


def test_an_input_of_known_value_is_nothing_else(vad: Path) -> None:
    with pytest.raises(EdgeconvError, match="got 16000, and --input-shape"):
        load(vad, cut_at=valued(sr="16000"), input_shapes={"sr": ()})
    with pytest.raises(EdgeconvError, match="got 16000, and --input;"):
        load(vad, cut_at=Cut(inputs=("x", "sr"), values=(("sr", "16000"),)))


@pytest.mark.parametrize("text", ["", "1,", "abc", "0x10", "1 2", "1e999999", "--", "\u0661"])
def test_words_that_are_no_numbers(text: str) -> None:
    with pytest.raises(EdgeconvError, match="values are numbers"):
        numbers(text)


def test_a_part_of_a_network_with_an_input_of_known_value(vad: Path) -> None:
    """An output does not depend on what its branch leaves out, nor on the constant."""
    cut = Cut(inputs=("x", "state"), outputs=("y",), values=(("sr", "16000"),))
    assert load(vad, cut_at=cut).inputs == ("x", "state")
    assert Cut.of(json.loads(json.dumps(cut.to_json()))) == cut


def test_an_input_of_a_tflite_file_has_a_value(tmp_path: Path) -> None:
    sketch = Sketch()
    x, n = sketch.tensor("x", (1, 4)), sketch.tensor("n", (2,), "int32")
    y = sketch.tensor("y", (2, 2))
    sketch.operator("RESHAPE", [x, n], [y])
    path = saved(sketch.bytes([x, n], [y]), tmp_path)
    graph = load(path, cut_at=valued(n="2,2"))
    assert (graph.inputs, graph["y"].shape) == (("x",), (2, 2))


def claimed(*dims: Any) -> onnx.ModelProto:
    """Any size will do, but the file has that of one example, and shapes that followed from it."""
    constants = {"w": np.ones((4, 3, 3, 3), np.float32), "s": np.array([1, 1, 2, 2], np.float32)}
    nodes = [
        make("Conv", ["x", "w"], ["a"], "conv", strides=[2, 2], pads=[1, 1, 1, 1]),
        make("Resize", ["a", "", "s"], ["b"], "up", mode="nearest"),
        make("Sigmoid", ["b"], ["y"], "scores"),
    ]
    model = onnx_models.model(nodes, {"x": dims}, {"y": (10, 4, 32, 32)}, constants)
    model.graph.value_info.append(_info("a", TensorProto.FLOAT, [10, 4, 16, 16]))
    return model


def test_sizes_that_the_file_merely_claims_are_replaced(tmp_path: Path, edgeconv: Command) -> None:
    path = onnx_models.save(claimed(10, 3, 32, 32), tmp_path / "net.onnx")
    graph = load(path, input_shapes={"x": (1, 3, 12, 20)})
    assert graph["y"].shape == (1, 4, 12, 20)
    assert any("the model states 10x3x32x32 for 'x'" in note for note in graph.notes)
    out = tmp_path / "out"
    command = ("compile", path, "--board", BOARD, "-o", out, "--input-shape", "x=1x3x12x20")
    assert "verified" in edgeconv.ok(*command, "--verify").stdout


def test_what_does_not_follow_from_other_sizes_names_those_of_the_model(tmp_path: Path) -> None:
    path = onnx_models.save(claimed(10, 3, 32, 32), tmp_path / "net.onnx")
    with pytest.raises(EdgeconvError, match="the model states 10x3x32x32 for 'x'"):
        load(path, input_shapes={"x": (1, 5, 12, 20)})
    with pytest.raises(EdgeconvError, match="4 dimensions"):
        load(path, input_shapes={"x": (1, 3, 12)})


def test_sizes_beside_free_ones_are_meant(tmp_path: Path) -> None:
    path = onnx_models.save(claimed("n", 3, "h", 32), tmp_path / "net.onnx")
    with pytest.raises(EdgeconvError, match="the model's input is nx3xhx32 .fixed."):
        load(path, input_shapes={"x": (1, 3, 12, 20)})
