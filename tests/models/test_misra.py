"""The record of deviations from MISRA C:2012, against what cppcheck's addon finds."""

from __future__ import annotations

import re
import shutil
from collections import Counter
from pathlib import Path

import pytest

from edgeconv.app import pipeline
from edgeconv.app.pipeline import CompileOptions
from tests import onnx_models, quantised_models
from tests.misra import broken_rules

ELSEWHERE = {"16.6", "17.7", "20.1"}  # of stored formats and of Helium, which these have not
RECORD = Path(__file__).parents[2] / "docs/misra.md"


def recorded() -> set[str]:
    """The rules in the record's table."""
    rows = re.findall(r"^\| ([0-9., ]+) \| (?:required|advisory) \|", RECORD.read_text(), re.M)
    return {rule for row in rows for rule in row.split(", ")}


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
