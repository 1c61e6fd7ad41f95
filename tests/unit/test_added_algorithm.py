"""A convolution algorithm from files of its own, none of them in the package, is used everywhere;
and nothing outside the package of algorithms asks for a plan again."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import ROOT, onnx_models
from tests.command import Command
from tests.toy import added

# What makes plans; their makers may be asked by the algorithm that they belong to alone.
PLANNING = {"make_plan", "final_plan", "blocked_plan"}


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with added(monkeypatch):
        yield


def layer_of(report: Any) -> Any:
    (layer,) = (entry for entry in report["layers"] if entry["op"] == "Conv")
    return layer


@pytest.mark.usefixtures("toy")
def test_a_network_runs_with_an_added_algorithm(edgeconv: Command, tmp_path: Path) -> None:
    model = onnx_models.save(onnx_models.convolution(5, 6, (2, 5, 9, 7)), tmp_path / "net.onnx")
    asked = (model, "--board", "generic-c", "--algorithm", "conv=toy")
    edgeconv.ok("compile", *asked, "-o", tmp_path / "out", "--build", "--verify")
    assert "(sums 7)" in (tmp_path / "out" / "net.c").read_text()


@pytest.mark.usefixtures("toy")
def test_an_added_algorithm_is_priced_and_explained(edgeconv: Command, tmp_path: Path) -> None:
    model = onnx_models.save(onnx_models.convolution(5, 6, (2, 5, 9, 7)), tmp_path / "net.onnx")
    command = ("explain", model, "--board", "raspberry-pi-4", "--json")
    usual = layer_of(edgeconv.ok(*command).json())
    toy = layer_of(edgeconv.ok(*command, "--algorithm", "conv=toy").json())
    macs = 2 * 6 * 5 * 9 * 9 * 7
    prices = {entry["algorithm"]: entry["price_us"] for entry in usual["candidates"]}
    assert prices["toy"] > prices[usual["algorithm"]] == min(prices.values())
    assert prices["toy"] >= 1e6 * 2 * macs / 1.5e9  # two slots, of a cycle each, at 1.5 GHz
    assert (toy["algorithm"], toy["workspace_bytes"]) == ("toy", 4 * 7)
    assert toy["predicted_ms"] > usual["predicted_ms"] > 0
    moved = 4 * (2 * 5 * 9 * 7 + macs + 2 * 6 * 9 * 7)
    assert toy["traffic_bytes"]["L2"] == moved
    assert toy["movement"]["levels"][0]["moved"]["words"] == moved / 4


def test_nothing_else_makes_plans() -> None:
    """Whoever needs a plan reads that of the candidate on the layer."""
    planners = []
    for root in ("edgeconv", "codegen"):
        for path in sorted((ROOT / root).rglob("*.py")):
            if path.is_relative_to(ROOT / "edgeconv" / "kernels" / "algorithms"):
                continue
            tree = ast.walk(ast.parse(path.read_text()))
            names = {alias.name for n in tree if isinstance(n, ast.ImportFrom) for alias in n.names}
            tree = ast.walk(ast.parse(path.read_text()))
            names |= {n.attr for n in tree if isinstance(n, ast.Attribute)}
            planners += [f"{path.name}: {name}" for name in sorted(names & PLANNING)]
    assert not planners
