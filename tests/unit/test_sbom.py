"""The bill of materials beside report.json."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

from edgeconv.app.pipeline import CompileOptions, compile_model
from edgeconv.codegen.sbom import Bill
from tests import onnx_models
from tests.command import BOARD, Command


@pytest.mark.parametrize("board", [BOARD, "stm32h743"])
@pytest.mark.parametrize("as_c", [False, True])
def test_it_is_valid_and_names_what_is_shipped(tmp_path: Path, board: str, as_c: bool) -> None:
    path = onnx_models.save(onnx_models.residual(), tmp_path / "net.onnx")
    project, _ = compile_model(CompileOptions(path, board, weights_as_c=as_c), tmp_path / "net")
    text = (project.directory / "net.cdx.json").read_text()
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(text) is None
    bill = json.loads(text)
    assert "timestamp" not in bill["metadata"]
    model, runtime, *files = bill["components"]
    assert model["hashes"][0]["content"] == project.report["model"]["sha256"]
    assert runtime["licenses"] == [{"license": {"id": "Apache-2.0"}}]
    weights = ["net_weights.c"] if as_c else ["net_weights.S", "net_weights.bin"]
    module = [] if project.is_firmware else ["net.py"]
    named = ["net.c", "net.h", *module, "net_runtime.h", *weights]
    assert [file["name"] for file in files] == named
    for file in files:
        data = (project.directory / file["name"]).read_bytes()
        assert file["hashes"][0]["content"] == hashlib.sha256(data).hexdigest()


def test_names_that_json_must_escape() -> None:
    text = Bill("net", 'a "b"\n\x01\\', "0" * 64).render({"net.c": "1" * 64})
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(text) is None
    assert json.loads(text)["components"][0]["name"] == 'a "b"\n\x01\\'


def test_the_same_project_has_the_same_bill(tmp_path: Path, edgeconv: Command) -> None:
    path = onnx_models.save(onnx_models.residual(), tmp_path / "net.onnx")
    other = onnx_models.save(onnx_models.residual(channels=16), tmp_path / "other.onnx")
    bills = []
    for number, model in enumerate((path, path, other)):
        directory = tmp_path / str(number)
        edgeconv.ok("compile", model, "--board", BOARD, "--name", "net", "-o", directory)
        bills.append((directory / "net.cdx.json").read_text())
    assert bills[0] == bills[1]
    serials = {json.loads(bill)["serialNumber"] for bill in bills}
    assert len(serials) == 2
