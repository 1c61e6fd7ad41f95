"""update-weights: a model trained anew goes into the old program, and nothing else does."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from edgeconv.app import pipeline
from edgeconv.app.pipeline import CompileOptions, compile_model
from edgeconv.app.updating import port_differences
from edgeconv.run.build.project import Project
from tests import onnx_models
from tests.command import BOARD, Command
from tests.onnx_models import trained_anew
from tests.tools import available

pytestmark = pytest.mark.usefixtures("unoptimised")

VECTORS = "x86-64-v3"  # on which layers want other layouts than callers
DIGITS = Path(__file__).resolve().parents[2] / "examples" / "digits" / "digits-cnn.onnx"


def files_of(directory: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(directory)): path.read_bytes()
        for path in sorted(directory.rglob("*"))
        if path.is_file() and "build" not in path.relative_to(directory).parts
    }


@pytest.mark.parametrize("weights", ["image", "c"])
def test_the_project_is_that_of_the_new_model(
    tmp_path: Path, edgeconv: Command, weights: str
) -> None:
    new = trained_anew(DIGITS, tmp_path / "digits-cnn.onnx")
    same = ("--board", BOARD, "--name", "net", "--weights", weights)
    edgeconv.ok("compile", DIGITS, *same, "-o", tmp_path / "net", "--build")
    edgeconv.ok("compile", new, *same, "-o", tmp_path / "fresh")
    old = Project.open(tmp_path / "net")
    said = edgeconv.ok("update-weights", old.directory, new, "--json").json()
    updated = Project.open(tmp_path / "net")
    suffix = "c" if weights == "c" else "bin"
    for name in ("net.c", "net.h", f"net_weights.{suffix}"):
        fresh = (tmp_path / "fresh" / name).read_bytes()
        assert (updated.directory / name).read_bytes() == fresh
    assert updated.report["model"] != old.report["model"]
    assert updated.report["program"]["weights_crc32"] == said["weights_crc32"]
    assert updated.report["program"]["weights_crc32"] != old.report["program"]["weights_crc32"]
    assert updated.report["program"]["weights_layout"] == said["weights_layout"]
    assert updated.report["flash"] == old.report["flash"]
    assert updated.report["accuracy"] is None
    assert pipeline.verify_project(tmp_path / "net", model=new).passed


def test_the_image_alone_runs_in_the_old_program(tmp_path: Path, edgeconv: Command) -> None:
    new = trained_anew(DIGITS, tmp_path / "new.onnx")
    edgeconv.ok("compile", DIGITS, "--board", BOARD, "--name", "net", "-o", tmp_path / "net")
    edgeconv.ok("compile", new, "--board", BOARD, "--name", "net", "-o", tmp_path / "fresh")
    before = files_of(tmp_path / "net")
    image = tmp_path / "new_weights.bin"
    for _ in range(2):  # an image that is there is replaced
        edgeconv.ok("update-weights", tmp_path / "net", new, "-o", image)
    assert files_of(tmp_path / "net") == before
    assert image.read_bytes() == (tmp_path / "fresh" / "net_weights.bin").read_bytes()


def test_formats_that_samples_chose_stay(tmp_path: Path, edgeconv: Command) -> None:
    """The samples are gone when the new model comes; conversions of layouts are no layers of it."""
    available(VECTORS)
    random = np.random.default_rng(0)
    np.savez(tmp_path / "x.npz", image=random.standard_normal((8, 1, 8, 8)).astype(np.float32))
    new = trained_anew(DIGITS, tmp_path / "new.onnx", 0.3)
    asked = ("--calibration", tmp_path / "x.npz", "--min-sqnr", "30", "--objective", "memory")
    edgeconv.ok("compile", DIGITS, "--board", VECTORS, *asked, "-o", tmp_path / "net")
    (tmp_path / "x.npz").unlink()
    layers = Project.open(tmp_path / "net").report["layers"]
    formats = [layer["storage"] for layer in layers]
    assert any(layer["op"] == "Convert" for layer in layers)
    assert any(form["weights"] not in (None, "float32") for form in formats)
    edgeconv.ok("update-weights", tmp_path / "net", new)
    kept = [layer["storage"] for layer in Project.open(tmp_path / "net").report["layers"]]
    assert kept == formats
    assert pipeline.verify_project(tmp_path / "net", model=new).passed


def test_layers_that_stream_rows_still_do(tmp_path: Path, edgeconv: Command) -> None:
    new = trained_anew(DIGITS, tmp_path / "new.onnx", 0.3)
    asked = ("--board", BOARD, "--objective", "memory")
    edgeconv.ok("compile", DIGITS, *asked, "-o", tmp_path / "net")
    steps = Project.open(tmp_path / "net").report["steps"]
    edgeconv.ok("update-weights", tmp_path / "net", new)
    assert Project.open(tmp_path / "net").report["steps"] == steps
    assert pipeline.verify_project(tmp_path / "net", model=new).passed


@pytest.fixture
def residual(tmp_path: Path) -> Path:
    path = onnx_models.save(onnx_models.residual(), tmp_path / "net.onnx")
    compile_model(CompileOptions(path, BOARD), tmp_path / "net")
    return path


def changed(source: Path, path: Path, op: str, attribute: str, value: object) -> tuple[Path, str]:
    """The model with one attribute of its first node of ``op`` changed, and that node's name."""
    model = onnx.load(source)
    node = next(node for node in model.graph.node if node.op_type == op)
    kept = [a for a in node.attribute if a.name != attribute]
    del node.attribute[:]
    node.attribute.extend([*kept, onnx.helper.make_attribute(attribute, value)])
    onnx.save(model, path)
    return path, node.name


def test_another_plan_is_refused_by_the_name_of_the_node(
    residual: Path, tmp_path: Path, edgeconv: Command
) -> None:
    other = onnx_models.save(onnx_models.residual(channels=16), tmp_path / "other.onnx")
    before = files_of(tmp_path / "net")
    for more in ((), ("-o", tmp_path / "image.bin")):
        done = edgeconv("update-weights", tmp_path / "net", other, *more)
        assert done.status == 1
        first = Project.open(tmp_path / "net").report["layers"][0]["name"]
        assert f"node {first!r}" in done.stderr
    assert files_of(tmp_path / "net") == before
    assert not (tmp_path / "image.bin").exists()


def test_numbers_in_the_code_are_part_of_the_program(tmp_path: Path, edgeconv: Command) -> None:
    """A slope is in the code, not in the image: the message says of which layer."""
    nodes = [onnx.helper.make_node("LeakyRelu", ["x"], ["y"], "leak", alpha=0.125)]
    path = onnx_models.save(
        onnx_models.model(nodes, {"x": (1, 4)}, {"y": None}), tmp_path / "a.onnx"
    )
    other, _ = changed(path, tmp_path / "b.onnx", "LeakyRelu", "alpha", 0.25)
    edgeconv.ok("compile", path, "--board", BOARD, "-o", tmp_path / "net")
    done = edgeconv("update-weights", tmp_path / "net", other)
    assert done.status == 1
    assert '"leak"' in done.stderr
    assert "0.25f" in done.stderr
    assert "0.125f" in done.stderr


def test_files_that_are_no_images_stay(residual: Path, tmp_path: Path, edgeconv: Command) -> None:
    precious = tmp_path / "notes.txt"
    precious.write_text("mine")
    done = edgeconv("update-weights", tmp_path / "net", residual, "-o", precious)
    assert done.status == 1
    assert "not a weight image" in done.stderr
    assert precious.read_text() == "mine"


def test_a_project_that_does_not_say_its_command(
    residual: Path, tmp_path: Path, edgeconv: Command
) -> None:
    path = tmp_path / "net" / "report.json"
    report = json.loads(path.read_text())
    for command in (None, "edgeconv compile", "edgeconv compile m.onnx --board nonsense --frob"):
        report["program"]["command"] = command
        if command is None:
            del report["program"]["command"]
        path.write_text(json.dumps(report))
        done = edgeconv("update-weights", tmp_path / "net", residual)
        assert done.status != 0
        assert "how the project was compiled" in done.stderr


def test_what_differs_of_inputs_and_outputs_is_named() -> None:
    ports: dict[str, Any] = {
        "inputs": [{"name": "x", "shape": [4]}],
        "outputs": [{"name": "y", "text": "cat dog"}],
    }
    others = {**ports, "outputs": [{"name": "y", "text": "cat cow"}]}
    assert list(port_differences(ports, ports)) == []
    assert list(port_differences(ports, others)) == ["output 'y': text is cat cow, was cat dog"]
    less = {**ports, "outputs": []}
    assert list(port_differences(ports, less)) == ["output 'y': name is nothing, was y"]
