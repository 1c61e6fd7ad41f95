"""Programs of many layers in integers that differ in numbers alone, as a recurrence has them that a
converter has written out: the numbers are parameters of few functions."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest

from edgeconv.codegen import emit, functions
from tests import onnx_models
from tests.command import Command
from tests.quantised_models import Network

pytestmark = pytest.mark.usefixtures("unoptimised")
STEPS, FEATURES, ROWS = 8, 20, 2
BOARD = "mps2-an386"
KINDS = ("add", "mul", "sub")


def recurrence(steps: int = STEPS) -> onnx.ModelProto:
    """h = (h x + x) - h in each step, between grids of its own.  ``x`` and ``y`` (2, 20) int8."""
    net, rng = Network(seed=3), np.random.default_rng(11)

    def own(kind: str, a: str, b: str, name: str) -> str:
        scale, zero = float(rng.uniform(0.03, 0.04)), int(rng.integers(1, 20))
        return net.pair(net.node(kind, [a, b], name), scale, zero)

    h = x = net.dequantise("x", 1 / 30, 3)
    for i in range(steps):
        product = own("Mul", h, x, f"product{i}")
        h = own("Sub", own("Add", product, x, f"sum{i}"), h, f"h{i}")
    net.node("Identity", [net.quantise(h, 1 / 16, 0)], "y")
    port = ("int8", (ROWS, FEATURES))
    return net.model({"x": port}, {"y": port})


def test_functions_share_what_is_the_same(
    edgeconv: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With numbers as parameters the program is still the model, to the last bit."""
    path = onnx_models.save(recurrence(), tmp_path / "net.onnx")
    options = ("--board", BOARD)
    edgeconv.ok("compile", path, *options, "-o", tmp_path / "apart")
    monkeypatch.setattr(emit, "ALIKE", 3)
    edgeconv.ok("compile", path, *options, "-o", tmp_path / "gathered", "--verify")
    texts = [(tmp_path / name / "net.c").read_text() for name in ("apart", "gathered")]
    counts = [sum(text.count(f"void net_{kind}_") for kind in KINDS) for text in texts]
    assert 2 * counts[1] < counts[0]
    assert "int multiplier" in texts[1]
    assert "int by_a" in texts[1]
    assert "static const ec_int8_pair" in texts[0]


def test_a_program_whose_functions_differ_otherwise_stays_as_it_is(
    edgeconv: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = onnx_models.save(recurrence(2), tmp_path / "net.onnx")
    texts = []
    for alike in (functions.ALIKE, 1):
        monkeypatch.setattr(emit, "ALIKE", alike)
        edgeconv.ok("compile", path, "--board", BOARD, "-o", tmp_path / str(alike))
        texts.append((tmp_path / str(alike) / "net.c").read_text())
    assert texts[0].replace("/1", "") == texts[1].replace("/1", "")
