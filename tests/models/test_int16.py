"""Networks with activations of 16 bits, on cores whose loops are in assembly."""

from __future__ import annotations

from pathlib import Path

import pytest

from edgeconv.build.project import Project
from edgeconv.pipeline import CompileOptions, compile_model, verify_project
from tests import onnx_models
from tests.audio_models import keywords


@pytest.mark.parametrize("board", ["mps2-an386", "mps3-an547"])
def test_keywords(board: str, tmp_path: Path) -> None:
    """SMLAD, SMLABB and VMLADAVA: every result of a convolution is that of exact arithmetic."""
    model = onnx_models.save(keywords("int16", 12, 1, (13, 9)), tmp_path / "keywords.onnx")
    compile_model(CompileOptions(model, board), tmp_path / "out", build=True)
    layers = Project.open(tmp_path / "out").report["layers"]
    found = [layer["algorithm"] for layer in layers if layer["macs"]]
    assert found == ["int16"] * 4
    verified = verify_project(tmp_path / "out", model=model)
    assert verified.passed
    assert verified.pieces is not None
    exact = verified.pieces.exact.values()
    assert len(exact) >= 4
    assert all(each.wrong == 0 for each in exact)
