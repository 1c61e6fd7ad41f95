"""QONNX compiled: the numbers of qonnx's executor, and networks of few bits in integers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from edgeconv.app.pipeline import CompileOptions, compile_model, decide, verify_project
from edgeconv.run.build import run_binary
from edgeconv.run.build.project import Project
from tests import onnx_models, qonnx_models
from tests.qonnx_models import Values
from tests.tools import available

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


def test_two_bits_take_a_quarter(tmp_path: Path) -> None:
    """Where flash is short filters lie packed, and results are the same integers."""
    available("mps2-an386")
    path = onnx_models.save(qonnx_models.networks(["w2a2"], 32), tmp_path / "net.onnx")
    options = CompileOptions(path, "mps2-an386")
    plain = {each["name"]: each for each in decide(options).report["layers"] if each["macs"]}
    bytes_of = sum(each["weight_bytes"] for each in plain.values())
    compile_model(replace(options, flash=bytes_of), tmp_path / "net")
    layers = [each for each in Project.open(tmp_path / "net").report["layers"] if each["macs"]]
    packed = [each for each in layers if each["plan"].get("packed") == "int2"]
    assert packed
    assert {each["compute"] for each in layers} == {"int8", "int8 to float32"}
    for each in packed:
        filters = plain[each["name"]]["weight_bytes"] - each["weight_bytes"]
        assert filters % 3 == 0  # three of every four bytes
        assert each["workspace_bytes"] >= filters // 3 * 4
    verified = verify_project(tmp_path / "net", model=path)
    assert verified.passed, verified.one_line()
    assert verified.per_layer
    assert all(each.wrong == 0 for each in verified.per_layer.exact.values())


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
