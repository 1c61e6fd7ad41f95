"""Bounds on RAM and flash: below what any plan takes, and told before anything long."""

from __future__ import annotations

from pathlib import Path

import pytest

from edgeconv.app.deciding import Decider, formats
from edgeconv.app.deciding.planning import Planner
from edgeconv.app.writing import TooLargeError, _require_budgets
from edgeconv.model import frontend, passes
from edgeconv.search.budget.bound import minimum_flash, minimum_ram
from edgeconv.search.options import CompileOptions
from tests import onnx_models
from tests.command import BOARD, Command
from tests.ir_builder import GraphBuilder


@pytest.mark.parametrize("io", ["caller", "arena"])
@pytest.mark.parametrize("formats", [{}, {"*": "int4", "*:output": "flyte8"}])
def test_no_plan_is_below(residual_model: Path, io: str, formats: dict[str, str]) -> None:
    graph = passes.optimise(frontend.load(residual_model))
    with Decider(CompileOptions(residual_model, BOARD, storage=formats, io=io)) as made:
        report = made.plain().report
    ram, flash = minimum_ram(graph, io), minimum_flash(graph)
    assert 0 < ram.bytes <= report["ram"]["total"]
    assert 0 < flash.bytes <= report["flash"]["weights"]
    if formats:  # and not by much
        assert ram.bytes > 0.5 * report["ram"]["total"]


def test_what_crosses_a_layer_counts_there() -> None:
    """x -> a -> b -> c -> d, and a is added to d: it is live at c in every order."""
    build = GraphBuilder()
    x = build.input(1, 8, 4, 4)
    a = build.conv(x, 8)
    c = build.conv(build.conv(a, 16), 8)
    graph = build.graph(build.binary("add", c, a))
    inner = minimum_ram(graph, "arena")
    # a (8 channels) and the 16 and 8 channels around the third convolution, a byte each.
    assert inner.bytes >= 16 * (8 + 16)
    assert {holder.name for holder in inner.holders} >= {a}


def test_patches_hold_less_than_a_row() -> None:
    """In patches of a column a ring has one pixel of a row; what a caller reads is there whole."""
    build = GraphBuilder()
    inner = build.conv(build.input(1, 2, 4, 256), 48)
    bound = minimum_ram(build.graph(build.conv(inner, 2)), "arena")
    assert all(each.bytes < 48 * 256 for each in bound.holders if each.name == inner)  # a row


def large(folder: Path) -> Path:
    """More than two million multiply-adds."""
    model = onnx_models.convolution(16, 32, dims=(1, 16, 32, 32))
    return onnx_models.save(model, folder / "net.onnx")


@pytest.mark.parametrize(("option", "word"), [("--ram", "RAM"), ("--flash", "flash")])
@pytest.mark.parametrize("build", [[], ["--build"]])
def test_the_impossible_is_refused_before_anything_is_measured(
    edgeconv: Command,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    option: str,
    word: str,
    build: list[str],
) -> None:
    def searched(*_: object, **__: object) -> None:
        raise AssertionError("nothing need be searched")

    monkeypatch.setattr(formats, "Search", searched)
    monkeypatch.setattr(Planner, "draft", searched)
    out = tmp_path / "out"
    done = edgeconv("compile", large(tmp_path), "--board", BOARD, "-o", out, option, "1K", *build)
    assert done.status == 1
    assert "no choice of storage formats fits" in done.stderr
    assert f"bytes of {word}" in done.stderr
    assert f"{word.lower()}: " in done.stderr
    assert "bytes needed" in done.stderr
    assert not out.exists()


def test_explain_shows_what_takes_the_bytes_all_the_same(edgeconv: Command, tmp_path: Path) -> None:
    edgeconv.ok("explain", large(tmp_path), "--board", BOARD, "--ram", "1K")


@pytest.mark.parametrize(("weights", "most"), [(800, "code and constants"), (2900, "weights")])
def test_what_takes_most_of_the_flash_is_named(weights: int, most: str) -> None:
    report = {
        "model": {"file": "net.onnx"},
        "board": "generic-c",
        "budget": {"ram": None, "flash": 3000},
        "ram": {"total": 100},
        "flash": {"total": 5000, "weights": weights, "code": 5000 - weights},
    }
    with pytest.raises(TooLargeError) as error:
        _require_budgets(report, known=True)
    assert f"{most} take most of it" in str(error.value)
