"""A small transformer through the commands: compiled, verified, and with half the arena."""

from __future__ import annotations

from pathlib import Path

import pytest

from edgeconv.app import pipeline
from edgeconv.app.pipeline import compile_model
from edgeconv.search.options import CompileOptions
from tests.attention_models import ONE_WAY, TIMM, transformer
from tests.command import BOARD
from tests.onnx_models import save

pytestmark = pytest.mark.usefixtures("unoptimised")


@pytest.mark.parametrize(("style", "threads"), [(TIMM, 1), (ONE_WAY, 2)])
def test_without_its_scores(style: str, threads: int, tmp_path: Path) -> None:
    path = save(transformer(style, tokens=70, heads=4, d=8), tmp_path / "net.onnx")
    options = CompileOptions(path, "host", objective="memory", threads=threads)
    project, _ = compile_model(options, tmp_path / "net")
    (layer,) = (each for each in project.report["layers"] if each["op"] == "Attention")
    assert layer["macs"] == 4 * 70 * 70 * (8 + 8)
    scores = 4 * 4 * 70 * 70
    assert project.report["ram"]["arena"] < scores
    assert pipeline.verify_project(tmp_path / "net", model=path).passed


def test_written_out_where_a_layer_of_it_has_a_format(tmp_path: Path) -> None:
    path = save(transformer(TIMM, tokens=9, heads=2, d=4), tmp_path / "net.onnx")
    plain, _ = compile_model(CompileOptions(path, BOARD, objective="memory"), tmp_path / "plain")
    (name,) = (each["name"] for each in plain.report["layers"] if each["op"] == "Attention")
    options = CompileOptions(path, BOARD, storage={f"{name}:output": "flyte16"})
    project, _ = compile_model(options, tmp_path / "net")
    assert "Attention" not in {each["op"] for each in project.report["layers"]}
    assert pipeline.verify_project(tmp_path / "net", model=path).passed
