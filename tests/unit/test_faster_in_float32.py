"""A quantised model that is predicted to be faster with numbers in float32 says so."""

from __future__ import annotations

from pathlib import Path

import pytest

from edgeconv.app.pipeline import CompileOptions, decide
from edgeconv.report.stored_advice import faster_suggestions, faster_ways
from tests import onnx_models
from tests.quantised_models import deep


def test_it_is_said_with_the_numbers_of_the_other_way(tmp_path: Path) -> None:
    path = onnx_models.save(deep(layers=4, real=True), tmp_path / "net.onnx")
    found = decide(CompileOptions(path, "stm32h743"))
    now, (first, *_) = found.report["time"]["predicted_ms"], found.report["time"]["faster"]
    storage = dict(words.rsplit("=", 1) for words in first["storage"])
    other = decide(CompileOptions(path, "stm32h743", storage=storage)).report
    assert other["time"]["predicted_ms"] == first["predicted_ms"] < now
    assert other["ram"]["total"] - found.report["ram"]["total"] == first["more_ram"] > 0
    assert "faster" not in other["time"]  # whoever names formats knows what for
    words = next(faster_ways(found.report))
    assert words in found.notes
    assert f"{now:.3g} ms predicted; --storage" in words
    assert f"{first['predicted_ms']:.3g} ms, for {first['more_ram']:,} bytes more" in words
    advice = next(faster_suggestions(found.report))
    assert advice.amount == pytest.approx(now - first["predicted_ms"])
    assert "--storage" in advice.command
