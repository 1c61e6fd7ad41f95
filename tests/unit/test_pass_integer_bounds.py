"""Clip, Min and Max of integers as the bounds of a grid."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest

from edgeconv.ir.activation import grid
from edgeconv.ir.graph import Graph
from edgeconv.model import frontend, passes
from edgeconv.model.frontend import load, reference_outputs
from edgeconv.model.passes.integer_bounds import run
from edgeconv.run.verify.exact import expected
from tests.ir_interpreter import evaluate
from tests.quantised_models import Network

LOW, HIGH, ZERO = -100, 90, 3
SCALE = float(np.float32(0.05))


def bounded(net: Network, q: str, spelling: str, low: int = LOW, high: int = HIGH) -> str:
    """``q`` within both bounds, spelt so."""
    least, most = (net.constant(f"b{b}", np.array(b, net.dtype)) for b in (low, high))
    if spelling == "clip":
        return net.node("Clip", [q, least, most], f"{q}_bounded")
    if spelling == "clips":
        return net.node(
            "Clip", [net.node("Clip", [q, least], f"{q}_low"), "", most], f"{q}_bounded"
        )
    return net.node("Min", [most, net.node("Max", [q, least], f"{q}_low")], f"{q}_bounded")


def layer(spelling: str, low: int = LOW, high: int = HIGH, *, real: bool) -> onnx.ModelProto:
    """A convolution whose result is bounded in integers; ``real``: and dequantised."""
    net = Network()
    x = net.pair("x", 0.04, 5)
    y = net.node("Conv", [x, net.filters("w", (4, 3, 3, 3))], "y")
    q = bounded(net, net.quantise(y, 0.05, ZERO), spelling, low, high)
    made = net.dequantise(q, 0.05, ZERO) if real else q
    net.node("Identity", [made], "out")
    kind = "float32" if real else "int8"
    return net.model({"x": ("float32", (1, 3, 6, 6))}, {"out": (kind, (1, 4, 4, 4))})


def saved(model: onnx.ModelProto, folder: Path) -> Path:
    path = folder / "model.onnx"
    onnx.save(model, path)
    return path


def optimised(path: Path) -> Graph:
    return passes.optimise(frontend.load(path))


@pytest.mark.parametrize("real", [False, True])
@pytest.mark.parametrize("spelling", ["clip", "clips", "min of max"])
def test_in_the_epilogue_of_the_layer(tmp_path: Path, spelling: str, real: bool) -> None:
    path = saved(layer(spelling, real=real), tmp_path)
    graph = optimised(path)
    expected_ops = ["Unary", "Conv"] if real else ["Unary", "Conv", "Quantise"]
    assert [node.op for node in graph.nodes] == expected_ops
    assert graph.nodes[1].epilogue.before == grid(SCALE, LOW - ZERO, HIGH - ZERO)
    assert run(graph) is graph


def compared(model: onnx.ModelProto, folder: Path) -> float:
    """The lowest number of the reference, which the optimised graph computes too."""
    path = saved(model, folder)
    inputs = {"x": np.random.default_rng(4).normal(0, 4, (1, 3, 6, 6)).astype(np.float32)}
    reference = reference_outputs(path, inputs).values["out"]
    graph = optimised(path)
    np.testing.assert_allclose(evaluate(graph, inputs)["out"], reference, atol=1e-5)
    return float(reference.min())


def test_the_same_numbers(tmp_path: Path) -> None:
    lowest = compared(layer("clip", real=True), tmp_path)
    assert lowest == pytest.approx((LOW - ZERO) * SCALE)


@pytest.mark.parametrize(("low", "high"), [(20, 90), (90, ZERO)])
def test_bounds_without_zero_stay_a_clip(tmp_path: Path, low: int, high: int) -> None:
    """What memory keeps as integers has a zero."""
    graph = optimised(saved(layer("clip", low, high, real=True), tmp_path))
    assert "Elementwise" in [node.op for node in graph.nodes]


def test_exact_arithmetic_knows_them(tmp_path: Path) -> None:
    path = saved(layer("min of max", real=False), tmp_path)
    graph = load(path)
    inputs = {"x": np.random.default_rng(4).normal(0, 4, (1, 3, 6, 6)).astype(np.float32)}
    reference = reference_outputs(path, inputs).values["out"]
    rounded = expected(graph, {**inputs, "out": reference})["out"]
    np.testing.assert_array_equal(rounded.near(), reference)
