"""What stands between the convolutions of a network of 16 bits is computed in integers, exactly."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx.reference import ReferenceEvaluator

from edgeconv.app import pipeline
from edgeconv.app.pipeline import CompileOptions, compile_model
from edgeconv.run.build.project import Project
from tests import onnx_models
from tests.quantised_models import Network

pytestmark = pytest.mark.usefixtures("unoptimised")
IN_INTEGERS = {"int16", "int16_function", "int16_pool"}
SPREAD = 8 / 32768


def network(channels: int = 6) -> onnx.ModelProto:
    """``sound`` (1, channels, 9, 5) int16 -> ``result`` and ``joined``: a convolution, gates, a sum
    that is broadcast, leaky and clipped branches, pools, what moves numbers; zero points of 0 and
    others."""
    net = Network("int16", 21, seed=11)
    x = net.dequantise("sound", SPREAD, 0)
    filters = net.filters("w1", (channels, channels, 3, 3))
    y = net.pair(net.node("Conv", [x, filters], "c", pads=[1, 1, 1, 1]), SPREAD, 0)
    gate = net.pair(net.node("Sigmoid", [y], "s"), 1 / 32768, 0)
    bent = net.pair(net.node("Tanh", [y], "t"), 1 / 32767, 0)
    y = net.pair(net.node("Mul", [gate, bent], "gated"), 1.1 / 32768, 300)
    swish = net.pair(net.node("HardSwish", [x], "h"), 7 / 32768, -5000)
    y = net.pair(net.node("Add", [y, swish], "sum"), 0.00021, -700)
    y = by_numbers(net, y)
    whole = net.pair(net.node("GlobalAveragePool", [y], "whole"), 0.00017, 12)
    y = net.pair(net.node("Sub", [y, whole], "centred"), 0.00023, 0)
    leaky = net.pair(net.node("LeakyRelu", [y], "leaky", alpha=0.1), 0.00019, -9000)
    window = {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}
    mean = net.pair(net.node("AveragePool", [leaky], "mean", **window), 0.00019, 0)
    most = net.pair(net.node("MaxPool", [mean], "most", **window), 0.00019, 0)
    net.node("Identity", [net.quantise(most, 0.00019, 0)], "result")
    cut = net.pair(net.node("Relu", [y], "cut"), 0.00019, 0)
    both = net.node("Concat", [cut, most], "both", axis=1)
    turned = net.node("Transpose", [both], "turned", perm=[0, 2, 3, 1])
    flat = net.node("Flatten", [turned], "flat")
    net.node("Identity", [net.quantise(flat, 0.00019, 0)], "joined")
    shape = (1, channels, 9, 5)
    return net.model(
        {"sound": ("int16", shape)},
        {"result": ("int16", shape), "joined": ("int16", (1, 2 * channels * 45))},
    )


def by_numbers(net: Network, x: str) -> str:
    """A sum, a difference, a product and a quotient of ``x`` and a number, the last one through a
    function."""
    numbers = {"Add": 0.37, "Sub": 37 * SPREAD, "Mul": 0.3, "Div": 1.7}
    for op, number in numbers.items():
        constant = net.constant(f"number {op}", np.array(number, np.float32))
        x = net.node(op, [x, constant], f"by number {op}")
        x = net.node("Erf", [x], "erf") if op == "Div" else x
        x = net.pair(x, 0.0002, {"Sub": 0}.get(op, -100))
    return x


@pytest.mark.parametrize("board", ["mps2-an386"])
def test_each_is_what_exact_arithmetic_makes_of_it(board: str, tmp_path: Path) -> None:
    """Nothing but what moves numbers is left to float32, as a convolution so small may be."""
    model = onnx_models.save(network(), tmp_path / "net.onnx")
    options = CompileOptions(model, board, algorithms={"*": "int16"})
    compile_model(options, tmp_path / "p", build=True)
    layers = Project.open(tmp_path / "p").report["layers"]
    moved = {"view", "concat", "move", "convert"}
    assert {layer["algorithm"] for layer in layers} - IN_INTEGERS <= moved
    known = {layer["name"] for layer in layers if layer["algorithm"] in IN_INTEGERS}
    assert len(known) >= 16
    result = pipeline.verify_project(tmp_path / "p", model=model)
    assert result.passed, result.first_defect
    assert result.per_layer is not None
    assert not any(each.wrong for each in result.per_layer.exact.values())


def test_the_model_is_one_that_others_run() -> None:
    """And its results are not all alike."""
    sound = np.random.default_rng(0).integers(-32768, 32768, (1, 6, 9, 5)).astype(np.int16)
    for made in ReferenceEvaluator(network()).run(None, {"sound": sound}):
        assert len(np.unique(made)) > 30
