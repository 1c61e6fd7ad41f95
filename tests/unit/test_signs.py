"""Signs of sums as results of layers in integers: exact, and recognised as models spell them."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from edgeconv.app.pipeline import CompileOptions, decide
from edgeconv.ir.activation import sign
from edgeconv.ir.requantisation import Sums, fixed
from edgeconv.ir.requantisation.signs import signs
from edgeconv.model import frontend, passes
from tests import onnx_models
from tests.qonnx_models import Graph

ZERO = -127  # of what memory has of -1 and 1


def test_form_of_signs_is_exact() -> None:
    """Of every sum, those that stand for 0 and for numbers next to it among them."""
    rng = np.random.default_rng(1)
    filters = 8 * rng.choice([-1, 0, 1], (40, 12))
    filters[0] = 0
    unit = rng.uniform(1e-4, 1e-2, 40).astype(np.float32).astype(np.float64)
    common = rng.integers(-50, 50, 40)
    bias = np.where(rng.random(40) < 0.5, 0.0, rng.uniform(-0.4, 0.4, 40) * unit)
    bias[1], bias[2] = 1e9, -1e9  # one sign alone
    reach = np.abs(filters).sum(axis=1) * 3
    given = Sums(unit, bias, common - reach, common + reach, 1.0, ZERO, ZERO - 1, ZERO + 1)
    made = signs(given, common, filters)
    form = fixed(made)
    assert form is not None
    for channel in range(40):
        apart = 8 if reach[channel] else 1
        sums = np.arange(-reach[channel], reach[channel] + 1, apart) + common[channel]
        real = [Fraction(unit[channel]) * int(each) + Fraction(bias[channel]) for each in sums]
        wanted = [ZERO + (1 if each >= 0 else -1) for each in real]
        found = form.of(np.broadcast_to(sums, (40, sums.size)))[channel]
        np.testing.assert_array_equal(found, wanted, err_msg=str(channel))


@pytest.mark.parametrize(
    ("test", "numbers", "found"),
    [
        ("Less", (-0.5, 0.5), True),
        ("GreaterOrEqual", (0.5, -0.5), True),
        ("Less", (0.5, -0.5), False),
        ("Greater", (0.5, -0.5), False),  # of 0 it is the other one
        ("Less", (-0.5, 0.25), False),
    ],
)
def test_choice_by_sign(
    test: str, numbers: tuple[float, float], found: bool, tmp_path: Path
) -> None:
    g = Graph(opset=16)
    chosen = g.add(test, ["x", g.constant(0.0)])
    y = g.add("Where", [chosen, *map(g.constant, numbers)])
    path = onnx_models.save(g.model({"x": (1, 4)}, {y: (1, 4)}), tmp_path / "net.onnx")
    nodes = passes.optimise(frontend.load(path)).nodes
    assert ([node.op for node in nodes] == ["Unary"]) is found
    assert not found or nodes[0].epilogue.before == sign(0.5)


@pytest.mark.parametrize("bits", ["binary", "ternary"])
@pytest.mark.parametrize("board", ["mps2-an386", "host"])
def test_signs_are_made_of_sums(board: str, bits: str, tmp_path: Path) -> None:
    """BatchNorm of any factors, bias and BipolarQuant: no layer of their own, nothing in float32
    but what makes signs of the input."""
    g = Graph()
    x = g.own("BipolarQuant", "x", 1.0)
    for _ in range(2):
        w = g.constant(g.weights(16, 16, 3, 3))
        w = g.own("BipolarQuant", w, 0.25) if bits == "binary" else g.quant(w, 0.5, 2.0, narrow=1)
        y = g.add("Conv", [x, w], pads=[1] * 4)
        means = [g.constant(g.rng.uniform(low, 1.0, 16)) for low in (-1.0, -1.0, -1.0)]
        y = g.add("BatchNormalization", [y, *means, g.constant(np.full(16, 0.5))])
        x = g.own("BipolarQuant", y, 0.5)
    model = g.model({"x": (1, 16, 5, 5)}, {x: (1, 16, 5, 5)})
    choice = decide(CompileOptions(onnx_models.save(model, tmp_path / "net.onnx"), board)).choice
    convs = [layer for layer in choice.layers if layer.node.op == "Conv"]
    computed = [layer.candidate.compute for layer in convs if layer.candidate]
    assert computed[0] == "int8"
    assert computed[1:] in (["int8"], ["int8 to float32"])  # its result is the model's
    others = {layer.node.op for layer in choice.layers} - {"Conv"}
    assert others <= {"Convert", "Unary"}
