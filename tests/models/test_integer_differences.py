"""Differences of a constant and a tensor in integers, whichever of them is subtracted."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest

from tests import onnx_models
from tests.command import Command
from tests.quantised_models import Network

pytestmark = pytest.mark.usefixtures("unoptimised")
FEATURES, ROWS = 20, 2
BOARD = "mps2-an386"


def constants_less() -> onnx.ModelProto:
    """(c - x) x and x - c, with a constant of the shape of ``x``, (2, 20) int8."""
    net, rng = Network(seed=3), np.random.default_rng(2)
    x = net.dequantise("x", 1 / 64, 3)
    numbers = net.constant("numbers", rng.integers(-128, 128, (ROWS, FEATURES)).astype(np.int8))
    zero = net.scaling("constant", 1 / 50, -9, "int8")
    c = net.node("DequantizeLinear", [numbers, *zero], "c")
    z = net.pair(net.node("Sub", [c, x], "behind"), 1 / 20, 5)
    net.node("Identity", [net.quantise(net.node("Mul", [z, x], "both"), 1 / 16, -2)], "y")
    net.node("Identity", [net.quantise(net.node("Sub", [x, c], "front"), 1 / 20, 1)], "u")
    port = ("int8", (ROWS, FEATURES))
    return net.model({"x": port}, {"y": port, "u": port})


def test_a_constant_less_a_tensor(edgeconv: Command, tmp_path: Path) -> None:
    path = onnx_models.save(constants_less(), tmp_path / "net.onnx")
    edgeconv.ok("compile", path, "--board", BOARD, "--verify", "-o", tmp_path / "net")
    assert (tmp_path / "net" / "net.c").read_text().count("const ec_int8_pair spec") == 3
