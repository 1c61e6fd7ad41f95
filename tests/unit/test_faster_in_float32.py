"""A quantised model that is predicted to be faster with numbers in float32 says so."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import onnx
import pytest

from edgeconv.app.deciding.float32_alternative import least_ms
from edgeconv.app.deciding.planning import Planner
from edgeconv.app.pipeline import CompileOptions, decide
from edgeconv.model import passes
from edgeconv.model.frontend import load
from edgeconv.report.stored_advice import faster_suggestions, faster_ways
from edgeconv.target import board as boards
from edgeconv.target.price import machine_of
from tests import onnx_models
from tests.quantised_models import Network, deep


def _products(features: int, layers: int) -> onnx.ModelProto:
    """Fully connected layers, one after the other."""
    net = Network()
    y = net.dequantise("x", 1 / 32, 0)
    for i in range(layers):
        w = net.filters(f"w{i}", (features, features), axis=None)
        y = net.pair(net.node("MatMul", [y, w], f"y{i}"), 1 / 32, 0)
    net.node("Identity", [net.quantise(y, 1 / 32, 0)], "y")
    return net.model({"x": ("int8", (1, features))}, {"y": ("int8", (1, features))})


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


@pytest.mark.parametrize("board", ["mps2-an386", "stm32h743"])
def test_no_plan_in_float32_takes_less_than_is_said(board: str, tmp_path: Path) -> None:
    path = onnx_models.save(deep(layers=4, real=True), tmp_path / "net.onnx")
    target = boards.load(board).target
    least = least_ms(passes.optimise(load(path)), machine_of(target), target)
    for storage in ({"*:output": "float32"}, {"*:output": "float32", "*": "float32"}):
        found = decide(CompileOptions(path, board, storage=storage))
        assert 0 < least <= found.report["time"]["predicted_ms"]


def test_no_such_plan_is_made_where_that_takes_longer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Any] = []
    draft = Planner.draft

    def counted(planner: Planner, *given: Any) -> Any:
        made.append(given)
        return draft(planner, *given)

    monkeypatch.setattr(Planner, "draft", counted)
    path = onnx_models.save(_products(64, 8), tmp_path / "net.onnx")
    found = decide(CompileOptions(path, "mps2-an386"))
    assert "faster" not in found.report["time"]
    assert len(made) == 1
