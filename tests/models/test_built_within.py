"""What is built within some RAM is built with more."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from edgeconv.app.pipeline import CompileOptions, compile_model
from edgeconv.base.errors import EdgeconvError
from tests import onnx_models, quantised_models
from tests.tools import available

BOARD = "mps2-an386"
MODEL = Path(__file__).resolve().parents[2] / "examples" / "digits" / "digits-cnn.onnx"


@pytest.mark.slow
@pytest.mark.parametrize("flash", [32, 33])  # with 32 the fastest kernels' code is too large
def test_more_ram_builds_what_less_does(flash: int, tmp_path: Path) -> None:
    fits = []
    for ram in (8, 16, 32):
        options = CompileOptions(MODEL, BOARD, ram=ram << 10, flash=flash << 10)
        try:
            project, _ = compile_model(options, tmp_path / f"with{ram}", build=True)
        except EdgeconvError:
            fits.append(False)
            continue
        budget = {"ram": options.ram, "flash": options.flash, "fits": True}
        assert project.report["budget"] == budget
        assert project.report["flash"]["total"] <= flash << 10
        fits.append(True)
    assert fits[-1]
    assert fits == sorted(fits)


def test_code_for_size_where_code_for_speed_exceeds_the_flash(tmp_path: Path) -> None:
    """By its default, and said; what fits needs no other formats."""
    available(BOARD, to_run=False)
    model = onnx_models.save(quantised_models.tiny()[0], tmp_path / "net.onnx")
    fast, _ = compile_model(CompileOptions(model, BOARD), tmp_path / "fast", build=True)
    flash = fast.report["flash"]["total"] - 1
    options = CompileOptions(model, BOARD, flash=flash)
    small, notes = compile_model(options, tmp_path / "small", build=True)
    assert any("code for speed exceeds the flash" in note for note in notes)
    assert small.report["program"]["code"] == "size"
    assert small.report["flash"]["total"] <= flash
    assert small.report["flash"]["weights"] == fast.report["flash"]["weights"]
    for name, words in (("CMakeLists.txt", "-Os"), ("README.md", "-Os"), ("library.json", '"-Os"')):
        assert words in (small.directory / name).read_text()
        assert "-O3" not in (small.directory / name).read_text()


def test_code_is_for_what_is_asked() -> None:
    assert CompileOptions(MODEL, BOARD).code_on(bare_metal=True) == "speed"
    least = CompileOptions(MODEL, BOARD, objective="memory")
    assert (least.code_on(bare_metal=True), least.code_on(bare_metal=False)) == ("size", "speed")
    assert replace(least, code="speed").code_on(bare_metal=True) == "speed"
    assert "--code size" in CompileOptions(MODEL, BOARD, code="size").command()
