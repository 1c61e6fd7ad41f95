"""The record of deviations from MISRA C:2012, against what cppcheck's addon finds."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from collections import Counter
from pathlib import Path

import pytest

from edgeconv.app import pipeline
from edgeconv.app.pipeline import CompileOptions
from edgeconv.report.certification import evidence_of, misra_text, record_of, unexplained
from edgeconv.report.misra_deviations import DEVIATIONS, Deviation
from edgeconv.run.misra import Finding
from tests import onnx_models, quantised_models
from tests.command import Command
from tests.misra import broken_rules

ELSEWHERE = {"16.6", "17.7", "20.1"}  # of stored formats and of Helium, which these have not
RECORD = Path(__file__).parents[2] / "docs/misra.md"


def recorded() -> set[str]:
    """The rules in the record's table."""
    rows = re.findall(r"^\| ([0-9., ]+) \| (?:required|advisory) \|", RECORD.read_text(), re.M)
    return {rule for row in rows for rule in row.split(", ")}


def test_the_record_is_that_which_kits_have() -> None:
    rows = re.findall(
        r"^\| ([0-9., ]+) \| (required|advisory) \| (.*?) \| (.*) \|$", RECORD.read_text(), re.M
    )
    written = [
        Deviation(tuple(rules.split(", ")), category, where, why)
        for rules, category, where, why in rows
    ]
    assert written == list(DEVIATIONS)


def test_a_rule_without_a_reason_is_said_to_have_none() -> None:
    findings = [Finding("1.1", "net.c", 3), Finding("2.2", "net.c", 4), Finding("2.2", "net.c", 9)]
    record = record_of(findings)
    assert unexplained(record) == ["1.1"]
    text = misra_text("net", "cppcheck 2.10", record)
    assert "**Without a reason: 1.1.**" in text
    assert "* `net.c`: lines 4, 9" in text


@pytest.mark.parametrize(
    ("command", "has"),
    [
        ("edgeconv compile net.onnx --board host --selftest", True),
        ("edgeconv compile --selftest --board host --model-version 1--selftest", False),
        ("edgeconv compile net.onnx --board host --model-version --selftest", False),
        ("", False),
    ],
)
def test_a_self_test_is_an_option_of_the_command(command: str, has: bool) -> None:
    report = {
        "program": {"name": "net", "command": command},
        "accuracy": None,
        "flash": {"code": None},
    }
    found = {each.what: each.result for each in evidence_of(report)}
    said = found["self-test of weights, RAM and arithmetic on the device"]
    assert said == ("in the library: net_selftest" if has else "not in the library")


@pytest.mark.skipif(shutil.which("cppcheck") is None, reason="needs cppcheck")
def test_kit_of_a_project(edgeconv: Command, tmp_path: Path) -> None:
    model = onnx_models.save(onnx_models.relu(1, 4), tmp_path / "net.onnx")
    folder, out = tmp_path / "net", tmp_path / "kit"
    edgeconv.ok("compile", model, "--board", "generic-c", "-o", folder, "--model-version", "3")
    said = edgeconv.ok("kit", folder, "-o", out).stdout
    assert "each with its reason" in said
    document = json.loads((out / "confidence.json").read_text())
    assert document["version"] == "3"
    assert document["files"]["net.c"] == hashlib.sha256((folder / "net.c").read_bytes()).hexdigest()
    assert document["bounds"]["stack"]["most"] == "none"
    assert document["checks"][0]["result"] == "not run"
    assert {"edgeconv", "Python", "numpy"} <= {tool["name"] for tool in document["tools"]}
    rules = json.loads((out / "misra.json").read_text())["rules"]
    assert all(row["why"] for row in rules)
    before = {path.name: path.read_bytes() for path in out.iterdir() if path.is_file()}
    edgeconv.ok("kit", folder, "-o", out)  # ours is replaced, by the same bytes
    assert {path.name: path.read_bytes() for path in out.iterdir() if path.is_file()} == before
    assert edgeconv("kit", folder, "-o", folder).status == 1
    done = edgeconv("compile", model, "--board", "generic-c", "-o", out)
    assert "a certification kit of" in done.stderr


def test_kit_needs_its_checker(
    tmp_path: Path, edgeconv: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = onnx_models.save(onnx_models.relu(1, 4), tmp_path / "net.onnx")
    edgeconv.ok("compile", model, "--board", "generic-c", "-o", tmp_path / "net")
    monkeypatch.setattr("edgeconv.run.misra.shutil.which", lambda _: None)
    done = edgeconv("kit", tmp_path / "net", "-o", tmp_path / "kit")
    assert (done.status, (tmp_path / "kit").exists()) == (3, False)
    assert "apt-get install cppcheck" in done.stderr


@pytest.mark.skipif(shutil.which("cppcheck") is None, reason="needs cppcheck")
def test_the_record_of_deviations_has_every_rule_that_firmware_breaks(tmp_path: Path) -> None:
    found: Counter[str] = Counter()
    for model, board in (
        (onnx_models.save(onnx_models.residual(), tmp_path / "net.onnx"), "mps2-an500"),
        (onnx_models.save(quantised_models.deep(2), tmp_path / "int8.onnx"), "mps2-an386"),
    ):
        pipeline.compile_model(CompileOptions(model, board), tmp_path / board)
        found += broken_rules(tmp_path / board)
    assert set(found) <= recorded(), "docs/misra.md says nothing of these"
    assert recorded() - set(found) == ELSEWHERE, "docs/misra.md excuses what firmware keeps"
