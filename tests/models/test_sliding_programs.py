"""Programs that take the new rows of a window: held to their network step by step, and that to the
model of the whole window."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from edgeconv.app.pipeline import CompileOptions, compile_model, verify_project
from edgeconv.base.arguments import TRUNCATE
from edgeconv.base.errors import EdgeconvError
from edgeconv.model.frontend import reference_outputs
from edgeconv.run.build.project import Project
from edgeconv.run.verify import compare_windows
from edgeconv.run.verify.program import run_sets
from edgeconv.search.options import ALL_INT8
from tests.onnx_models import save
from tests.state_models import Builder

pytestmark = pytest.mark.usefixtures("unoptimised")
TIME = 20


def network(seed: int = 0, pads: tuple[int, int] = (1, 1)) -> onnx.ModelProto:
    """A separable network of one dimension over ``TIME`` frames of 4 numbers, its result of the
    average."""
    random = np.random.default_rng(seed)
    shapes = {"w1": (6, 4, 3), "w2": (6, 1, 3), "w3": (8, 6, 1), "w4": (3, 8)}
    weights = [
        numpy_helper.from_array(random.normal(size=shape).astype(np.float32) / 2, name)
        for name, shape in shapes.items()
    ]
    nodes = [
        helper.make_node("Conv", ["x", "w1"], ["a"], pads=list(pads), strides=[2]),
        helper.make_node("Relu", ["a"], ["b"]),
        helper.make_node("Conv", ["b", "w2"], ["c"], pads=list(pads), group=6),
        helper.make_node("Add", ["b", "c"], ["d"]),
        helper.make_node("Conv", ["d", "w3"], ["e"]),
        helper.make_node("GlobalMaxPool", ["e"], ["f"]),
        helper.make_node("Flatten", ["f"], ["g"]),
        helper.make_node("Gemm", ["g", "w4"], ["y"], transB=1),
    ]
    inputs = [helper.make_tensor_value_info("x", 1, (1, 4, TIME))]
    outputs = [helper.make_tensor_value_info("y", 1, (1, 3))]
    made = helper.make_graph(nodes, "frames", inputs, outputs, weights)
    return helper.make_model(made, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


@pytest.mark.parametrize(("borders", "hop"), [("window", 2), ("stream", 1)])
def test_a_program_of_new_rows_is_that_of_the_window(
    borders: str, hop: int, tmp_path: Path
) -> None:
    model = save(network(), tmp_path / "frames.onnx")
    options = CompileOptions(model, "host", streams={"x": (2, hop)}, stream_borders=borders)
    project, notes = compile_model(options, tmp_path / "made")
    assert project.inputs[0].shape == (1, 4, hop)
    assert any(f"a run takes {hop} of " in note for note in notes)
    assert f"--stream x:2={hop}" in project.report["program"]["command"]
    found = verify_project(tmp_path / "made", model=model)
    assert found.passed
    assert found.windows
    slid = project.report["model"]["stream"]
    assert project.report["model"]["macs"] < slid["window_macs"]
    other = save(network(seed=1), tmp_path / "other.onnx")
    made = project.directory / slid["file"]
    (apart,) = compare_windows(Project.open(tmp_path / "made"), other, made, 1e-4)
    assert apart.relative > 1e-2


@pytest.mark.parametrize("cell", ["GRU", "LSTM"])
def test_a_recurrent_layer_takes_new_frames(cell: str, tmp_path: Path) -> None:
    """Two of ten frames a run; after five runs the result is that of the model on all ten."""
    b, gates = Builder(), {"GRU": 3, "LSTM": 4}[cell]
    weights = b.weight(1, gates * 8, 5), b.weight(1, gates * 8, 8), b.weight(1, 2 * gates * 8)
    reads = [b("Transpose", "x", perm=[1, 0, 2]), *weights]
    b.nodes.append(helper.make_node(cell, reads, ["", "last"], "cells", hidden_size=8))
    flat = b("Reshape", "last", b.value(np.array([1, 8])))
    b("Gemm", flat, b.weight(3, 8), to="y", transB=1)
    model = save(b.model({"x": (1, 10, 5)}, "y"), tmp_path / "cells.onnx")
    options = CompileOptions(model, "generic-c", streams={"x": (1, 2)})
    with pytest.raises(EdgeconvError, match="begins anew in each window"):
        compile_model(options, tmp_path / "made")
    options = replace(options, stream_borders="stream")
    project, notes = compile_model(options, tmp_path / "made")
    assert project.inputs[0].shape == (1, 2, 5)
    assert any("'cells' carries its state on" in note for note in notes)
    assert len(project.states) == gates - 2
    assert verify_project(tmp_path / "made", model=model, steps=20).passed
    frames = np.random.default_rng(0).normal(size=(5, 1, 2, 5)).astype(np.float32)
    project.run_file.write_bytes(frames.tobytes())
    found, _ = run_sets(project, project.build(), 5, steps=5, inputs=project.run_file)
    whole = {"x": frames.reshape(1, 10, 5)}
    want = reference_outputs(model, whole, ("y",)).values["y"]
    got = found[-1]["y"].astype(np.float32)
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("borders", ["window", "stream"])
def test_a_window_is_quantised_before_it_slides(borders: str, tmp_path: Path) -> None:
    model = save(network(), tmp_path / "frames.onnx")
    frames = np.random.default_rng(1).normal(size=(16, 4, TIME)).astype(np.float32)
    np.savez(tmp_path / "samples.npz", x=frames)
    options = CompileOptions(
        model,
        "host",
        streams={"x": (2, 2)},
        stream_borders=borders,
        calibration=tmp_path / "samples.npz",
        int8=True,
        storage=ALL_INT8,
    )
    project, notes = compile_model(options, tmp_path / "made")
    assert "quantised to int8 by samples: a whole window is in frames_int8.onnx" in notes
    assert 20 < project.report["accuracy"]["sqnr_db"] < 60
    assert "--int8 samples.npz" in project.report["program"]["command"]
    convolutions = [each for each in project.report["layers"] if each["op"] == "Conv"]
    assert {each["compute"] for each in convolutions} == {"int8"}
    result = verify_project(project.directory)
    assert result.passed
    assert [each.max_abs for each in result.windows] == [0.0]


def test_what_is_asked_of_a_layer_is_asked_of_its_borders(tmp_path: Path) -> None:
    """Or its filters would be there twice, in either format."""
    model = network()
    model.graph.node[2].name = "second"
    storage = {"second": "flyte16"}
    options = CompileOptions(
        save(model, tmp_path / "frames.onnx"), "host", streams={"x": (2, 2)}, storage=storage
    )
    project, _ = compile_model(options, tmp_path / "made")
    layers = [each for each in project.report["layers"] if each["name"].startswith("second")]
    assert len(layers) > 1
    assert {each["storage"]["weights"] for each in layers} == {"flyte16"}
    assert "--storage second=flyte16 " in f"{project.report['program']['command']} "
    assert "second." not in project.report["program"]["command"]


def test_a_window_is_not_quantised_by_truncation(tmp_path: Path) -> None:
    model = save(network(), tmp_path / "frames.onnx")
    options = CompileOptions(
        model,
        "host",
        streams={"x": (2, 2)},
        calibration=tmp_path / "samples.npz",
        int8=True,
        storage=ALL_INT8,
        rounding=TRUNCATE,
    )
    with pytest.raises(EdgeconvError, match="--int8 together with --rounding truncate"):
        compile_model(options, tmp_path / "made")


def test_a_window_that_cannot_slide_is_refused_before_it_is_quantised(tmp_path: Path) -> None:
    """No sample is read, of which there are none."""
    options = CompileOptions(
        save(network(), tmp_path / "frames.onnx"),
        "host",
        streams={"x": (2, 3)},
        calibration=tmp_path / "samples.npz",
        int8=True,
        storage=ALL_INT8,
    )
    with pytest.raises(EdgeconvError, match="none is where one was before; k times 2 would do"):
        compile_model(options, tmp_path / "made")


def test_formats_are_not_chosen_by_whole_windows(tmp_path: Path) -> None:
    model = save(network(), tmp_path / "frames.onnx")
    options = CompileOptions(
        model, "host", streams={"x": (2, 2)}, calibration=tmp_path / "samples.npz"
    )
    with pytest.raises(EdgeconvError, match="--stream together with --calibration"):
        compile_model(options, tmp_path / "made")
    assert not (tmp_path / "made").exists()


def test_windows_share_the_room_that_they_move_in(tmp_path: Path) -> None:
    """Five windows of two rows of 64 bytes; a row of room for each would take 320 more."""
    random = np.random.default_rng(3)
    weights = [
        numpy_helper.from_array(random.normal(size=(16, 16, 3)).astype(np.float32), f"w{i}")
        for i in range(5)
    ]
    names = ["x", *(f"t{i}" for i in range(4)), "y"]
    nodes = [
        helper.make_node("Conv", [names[i], f"w{i}"], [names[i + 1]], pads=[2, 0]) for i in range(5)
    ]
    inputs, outputs = (
        [helper.make_tensor_value_info(name, 1, (1, 16, TIME))] for name in ("x", "y")
    )
    made = helper.make_graph(nodes, "chain", inputs, outputs, weights)
    opsets = [helper.make_opsetid("", 17)]
    model = save(helper.make_model(made, opset_imports=opsets, ir_version=9), tmp_path / "m.onnx")
    options = CompileOptions(model, "mps2-an386", streams={"x": (2, 1)}, stream_borders="stream")
    project, _ = compile_model(options, tmp_path / "made")
    ram, states = project.report["ram"], sum(each["bytes"] for each in project.report["states"])
    assert states == 5 * 2 * 64
    assert ram["arena"] - ram["workspace"] - states < 5 * 64
