"""Programs that read camera frames: here, checked in every access, and as firmware."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from edgeconv.app.cli.run.updating import run as update_project
from edgeconv.app.pipeline import CompileOptions, compile_model, run_project, verify_project
from edgeconv.base.errors import EdgeconvError
from edgeconv.model.frontend import references
from edgeconv.model.preprocessing import network_inputs
from edgeconv.run.build import run_binary
from edgeconv.run.verify import compare_frames
from edgeconv.run.verify.inputs import seeded
from tests.compilers import sanitized
from tests.onnx_models import save
from tests.tools import available

pytestmark = pytest.mark.usefixtures("unoptimised")
CAMERA = """
[frame]
format = "{format}"
width = 40
height = 22
stride = 88
flip = "horizontal"

[resize]
fit = "letterbox"
fill = [9, 114, 200]

[normalise]
mean = [123, 116, 103]
std = 58
"""


def network(seed: int = 0, quantised: bool = False) -> onnx.ModelProto:
    """Two convolutions of an image of 16 x 24 pixels; quantised: of integers, from the first to
    the last."""
    random = np.random.default_rng(seed)
    weights = {
        "w1": random.normal(size=(6, 3, 3, 3)) / 4,
        "w2": random.normal(size=(4, 6, 3, 3)) / 6,
    }
    constants, nodes = list[onnx.TensorProto](), list[onnx.NodeProto]()

    def scaled(name: str, scale: float, zero: int) -> list[str]:
        values = {"scale": np.asarray(scale, np.float32), "zero": np.asarray(zero, np.int8)}
        made = {f"{name}_{what}": value for what, value in values.items()}
        for each, value in made.items():
            constants.append(numpy_helper.from_array(np.asarray(value), each))
        return [*made]

    def rounded(x: str, scale: float, zero: int) -> str:
        if not quantised:
            return x
        grid = scaled(x, scale, zero)
        nodes.append(helper.make_node("QuantizeLinear", [x, *grid], [f"{x}_whole"]))
        nodes.append(helper.make_node("DequantizeLinear", [f"{x}_whole", *grid], [f"{x}_real"]))
        return f"{x}_real"

    def filters(name: str) -> str:
        value = weights[name].astype(np.float32)
        if quantised:
            value = np.clip(np.rint(value * 64), -127, 127).astype(np.int8)
            inputs = [f"{name}_whole", *scaled(name, 1 / 64, 0)]
            nodes.append(helper.make_node("DequantizeLinear", inputs, [name]))
        constants.append(numpy_helper.from_array(value, f"{name}_whole" if quantised else name))
        return name

    x = rounded("image", 1 / 46, 5)  # no value lies in the middle of two integers
    nodes.append(helper.make_node("Conv", [x, filters("w1")], ["a"], pads=[1] * 4, strides=[2, 2]))
    nodes.append(helper.make_node("Relu", ["a"], ["b"]))
    x = rounded("b", 1 / 24, -128)
    nodes.append(helper.make_node("Conv", [x, filters("w2")], ["c"], pads=[1] * 4))
    nodes.append(helper.make_node("GlobalAveragePool", [rounded("c", 1 / 24, 0)], ["y"]))
    image = helper.make_tensor_value_info("image", 1, (1, 3, 16, 24))
    y = helper.make_tensor_value_info("y", 1, (1, 4, 1, 1))
    made = helper.make_graph(nodes, "camera", [image], [y], constants)
    return helper.make_model(made, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def options_of(tmp_path: Path, board: str, kind: str, quantised: bool = False) -> CompileOptions:
    (tmp_path / "camera.toml").write_text(CAMERA.format(format=kind))
    model = save(network(quantised=quantised), tmp_path / "camera.onnx")
    return CompileOptions(model, board, preprocess=tmp_path / "camera.toml")


@pytest.mark.parametrize("kind", ["uyvy", "rgb565"])
def test_frames_in_float32(kind: str, tmp_path: Path) -> None:
    options = options_of(tmp_path, "host", kind)
    project, notes = compile_model(replace(options, selftest=True), tmp_path / "made")
    assert [(port.name, port.shape) for port in project.inputs] == [("frame", (1, 22, 88))]
    assert any("a frame of 40 x 22 pixels" in note for note in notes)
    assert f"{kind} (" in (project.directory / "camera.h").read_text()
    assert "--preprocess camera.toml" in project.report["program"]["command"]
    found = verify_project(tmp_path / "made", model=options.model)
    assert found.passed
    assert found.frames
    assert project.report["layers"][0]["op"] == "Preprocess"
    frames = seeded(project.inputs)
    with references(options.model, ("y",)) as reference:
        want = reference(network_inputs(project.report["model"]["preprocess"], frames)).values["y"]
    (got,), _ = run_project(tmp_path / "made", [frames])
    assert np.abs(np.asarray(got["y"], float) - np.asarray(want, float)).max() < 1e-5


def test_another_model_behind_the_definition_is_seen(tmp_path: Path) -> None:
    options = options_of(tmp_path, "host", "yuyv")
    project, _ = compile_model(options, tmp_path / "made")
    other = save(network(seed=1), tmp_path / "other.onnx")
    made = project.directory / project.report["model"]["preprocess"]["file"]
    (apart,) = compare_frames(project, other, made)
    assert apart.relative > 1e-2


@pytest.mark.parametrize(("board", "quantised"), [("generic-c", True), ("host", False)])
def test_no_byte_beside_the_frame_is_read(board: str, quantised: bool, tmp_path: Path) -> None:
    """By the sanitizers, which also know sums that overflow."""
    options = options_of(tmp_path, board, "rgb565", quantised)
    project, _ = compile_model(options, tmp_path / "made")
    assert verify_project(tmp_path / "made", model=options.model).passed
    binary = sanitized(project, tmp_path / "checked")
    done = run_binary(binary.path, binary.board, [], cwd=project.directory)
    assert done.status == 0, done.stdout + done.stderr


def test_integers_by_lines(tmp_path: Path) -> None:
    """On vectors results are computed a line at a time, and are those of the definition."""
    options = options_of(tmp_path, "x86-64-v3", "rgb565", quantised=True)
    options = replace(options, storage={"image/Preprocess:output": "int8"})
    project, _ = compile_model(options, tmp_path / "made")
    assert "ec_preprocess_lines(spec" in (project.directory / "camera.c").read_text()
    assert verify_project(tmp_path / "made", model=options.model).passed


def test_frames_as_integers_on_a_microcontroller(tmp_path: Path) -> None:
    available("mps2-an500")
    options = options_of(tmp_path, "mps2-an500", "rgb565", quantised=True)
    project, _ = compile_model(options, tmp_path / "made")
    assert "int8" in project.report["layers"][0]["storage"]["output"]
    assert verify_project(tmp_path / "made", model=options.model).passed


def test_new_weights_behind_the_same_frames(tmp_path: Path) -> None:
    """Wherever the file of the camera is by then."""
    options = options_of(tmp_path, "host", "yuyv")
    compile_model(options, tmp_path / "made")
    (tmp_path / "camera.toml").unlink()
    other = save(network(seed=1), tmp_path / "other.onnx")
    update_project(directory=tmp_path / "made", model=other, output=None, as_json=False)
    assert verify_project(tmp_path / "made", model=other).passed


def test_frames_and_new_rows_are_refused(tmp_path: Path) -> None:
    options = replace(options_of(tmp_path, "host", "yuyv"), streams={"image": (2, 1)})
    with pytest.raises(EdgeconvError, match="--stream together with --preprocess"):
        compile_model(options, tmp_path / "made")
    assert not (tmp_path / "made").exists()
