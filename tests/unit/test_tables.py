"""Tables of quantised functions against rationals, and against float64 where there are none."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from edgeconv.ir.activation import Activation, grid
from edgeconv.ir.encoding import int8
from edgeconv.ir.pointwise import Applied, Combined, Pointwise
from edgeconv.kernels.lowering.tables import multiples, of_activations, table_of

SIGMOID = Activation("sigmoid")
STORED = np.arange(256).astype(np.uint8).view(np.int8)


def rounded(value: Fraction, scale: float, zero: int) -> int:
    return min(max(round(value / Fraction(scale)) + zero, -128), 127)


def test_ties_go_to_the_even_step() -> None:
    """Halves of a step, which the definition in rationals has and float32 may miss."""
    x, y = int8(0.25, 3), int8(0.5, -7)
    found = table_of(of_activations(Activation("leaky_relu", 0.5)), x, y)
    assert found is not None
    for q, made in zip(STORED, found, strict=True):
        value = (int(q) - 3) * Fraction(1, 4)
        assert made == rounded(value if value >= 0 else value / 2, 0.5, -7)


def test_a_rounding_in_between() -> None:
    """x * Q(sigmoid(x)) is another function than x * sigmoid(x)."""
    x, y, inner = int8(0.0417, -20), int8(0.02, -110), 0.0039123
    gate = grid(float(np.float32(inner)), 0, 255)
    steps = Applied(SIGMOID, 0), Applied(gate, 1), Combined("mul", 0, 2)
    found = table_of(Pointwise(steps), x, y)
    smooth = table_of(of_activations(Activation("silu")), x, y)
    assert found is not None
    assert smooth is not None
    assert (found != smooth).any()
    for q, made in zip(STORED, found, strict=True):
        value = (int(q) + 20) * x.scale[0]
        step = min(max(round(1 / (1 + math.exp(-value)) / gate.alpha), 0), 255)
        wanted = rounded(Fraction(value) * step * Fraction(gate.alpha), y.scale[0], -110)
        assert made == wanted


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("tanh", math.tanh),
        ("elu", lambda v: v if v > 0 else 0.5 * math.expm1(v)),
        ("abs", abs),
        ("gelu", lambda v: v / 2 * (1 + math.erf(v / math.sqrt(2)))),
    ],
)
def test_functions(kind: str, value: object) -> None:
    assert callable(value)
    x, y = int8(0.031, 11), int8(0.0173, 2)
    found = table_of(of_activations(Activation(kind, 0.5)), x, y)
    wanted = [rounded(Fraction(value((int(q) - 11) * x.scale[0])), y.scale[0], 2) for q in STORED]
    assert found is not None
    assert found.tolist() == wanted


def test_what_is_not_finite_is_no_table() -> None:
    x, y = int8(0.5, 0), int8(1.0, 0)
    assert table_of(of_activations(Activation("log")), x, y) is None
    assert table_of(Pointwise((Combined("div", 1.0, 0),)), x, y) is None
    assert table_of(Pointwise((Combined("div", 1.0, 0),)), int8(0.5, -128), y) is None
    assert table_of(of_activations(Activation("clip", math.inf, math.inf)), x, y) is None
    for scalar in (math.inf, math.nan):
        assert table_of(Pointwise((Combined("add", 0, scalar),)), x, y) is None


def test_bounds_on_one_side() -> None:
    x, y = int8(0.5, 0), int8(1.0, 0)
    for low, high in ((-math.inf, 3.0), (3.0, math.inf)):
        found = table_of(of_activations(Activation("clip", low, high)), x, y)
        wanted = [rounded(Fraction(min(max(int(q) / 2, low), high)), 1.0, 0) for q in STORED]
        assert found is not None
        assert found.tolist() == wanted


def test_multiples_are_those_of_rationals_at_halves_and_beside_them() -> None:
    for spacing in (
        0.5,
        float(np.float32(0.0123)),
        float(np.float32(3e-41)),
        float(np.float32(3e38)),
    ):
        step = Fraction(spacing)
        near = Fraction(1, 1 << 60)
        halves = [Fraction(2 * q + 1, 2) for q in (-200, -3, -1, 0, 1, 7, 127, 10**6, 1 << 40)]
        values = [(half + nudge) * step for half in halves for nudge in (-near, Fraction(0), near)]
        assert multiples(values, spacing) == [round(value / step) for value in values]


def test_multiples_of_values_beyond_float64() -> None:
    assert multiples([Fraction(10) ** 400], 1.0) == [10**400]
