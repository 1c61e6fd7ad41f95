"""QONNX compiled: the numbers of qonnx's executor, and networks of few bits in integers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from edgeconv.app.pipeline import CompileOptions, compile_model, verify_project
from edgeconv.run.build import run_binary
from edgeconv.run.build.project import Project
from tests import onnx_models, qonnx_models
from tests.qonnx_models import Values

pytestmark = pytest.mark.usefixtures("unoptimised")


def _results(folder: Path, x: Values, expected: dict[str, Values]) -> dict[str, Values]:
    """What the program makes of ``x``; its outputs are those of ``expected``, in that order."""
    project = Project.open(folder)
    binary = project.build()
    given, out = folder / "x.bin", folder / "out.bin"
    given.write_bytes(x.tobytes())
    arguments = ["--input", str(given), "--output", str(out)]
    done = run_binary(binary.path, binary.board, arguments, cwd=folder)
    assert done.status == 0, done.stderr
    parts = np.cumsum([value.size for value in expected.values()])
    numbers = np.frombuffer(out.read_bytes(), np.float32)
    assert numbers.size == parts[-1]
    found = np.split(numbers, parts[:-1])
    return {n: f.reshape(w.shape) for (n, w), f in zip(expected.items(), found, strict=True)}


def test_single_operators(tmp_path: Path) -> None:
    """Every bit, halves of steps in every mode among them."""
    model = onnx_models.save(qonnx_models.operators(), tmp_path / "one.onnx")
    compile_model(CompileOptions(model, "host"), tmp_path / "one")
    expected = qonnx_models.expected("operators")
    found = _results(tmp_path / "one", qonnx_models.given("operators"), expected)
    for name, want in expected.items():
        np.testing.assert_array_equal(found[name], want, err_msg=name)


def test_networks(tmp_path: Path) -> None:
    """All layers in integers, with one output of each kind."""
    kinds = ("w2a2", "trunc")
    model = onnx_models.save(qonnx_models.networks(kinds), tmp_path / "nets.onnx")
    folder = tmp_path / "nets"
    compile_model(CompileOptions(model, "host", algorithms={"*": "int8_packed"}), folder)
    layers = [each for each in Project.open(folder).report["layers"] if each["macs"]]
    assert {each["compute"] for each in layers} <= {"int8", "int8 to float32"}
    expected = {kind: qonnx_models.expected("networks")[kind] for kind in kinds}
    found = _results(folder, qonnx_models.given("networks"), expected)
    for kind, want in expected.items():
        np.testing.assert_allclose(found[kind], want, rtol=1e-5, atol=1e-5, err_msg=kind)
    for left in ("x.bin", "out.bin"):
        (folder / left).unlink()
    verified = verify_project(folder, model=model)
    assert verified.passed, verified.one_line()
