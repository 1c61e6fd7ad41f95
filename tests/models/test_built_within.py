"""What is built within some RAM is built with more."""

from __future__ import annotations

from pathlib import Path

import pytest

from edgeconv.app.pipeline import CompileOptions, compile_model
from edgeconv.base.errors import EdgeconvError

MODEL = Path(__file__).resolve().parents[2] / "examples" / "digits" / "digits-cnn.onnx"


@pytest.mark.slow
@pytest.mark.parametrize("flash", [32, 33])  # with 32 the fastest kernels' code is too large
def test_more_ram_builds_what_less_does(flash: int, tmp_path: Path) -> None:
    fits = []
    for ram in (8, 16, 32):
        options = CompileOptions(MODEL, "mps2-an386", ram=ram << 10, flash=flash << 10)
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
