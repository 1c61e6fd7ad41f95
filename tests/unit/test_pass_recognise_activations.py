"""Recognising activations spelled out in nodes."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from edgeconv.ir.activation import Activation
from edgeconv.ir.graph import Epilogue
from edgeconv.model.passes.recognise_activations import run
from tests.ir_builder import GraphBuilder, assert_same_results, ops

Spelling = Callable[[GraphBuilder, str], str]
K = math.sqrt(2 / math.pi)


def _twice(b: GraphBuilder, x: str) -> str:
    return b.binary("add", x, x)


def _clip6(b: GraphBuilder, x: str) -> str:
    return b.unary(b.binary("add", x, 3), "clip", 0, 6)


def _relu6(b: GraphBuilder, x: str) -> str:
    return b.binary("min", b.binary("max", b.binary("add", 3, x), 0), 6)


def _hard_sigmoid(b: GraphBuilder, x: str) -> str:
    return b.unary(x, "hard_sigmoid", 1 / 6, 0.5)


def _erf(b: GraphBuilder, x: str) -> str:
    return b.unary(b.binary("div", x, math.sqrt(2)), "erf")


def _one_plus_erf(b: GraphBuilder, x: str) -> str:
    return b.binary("add", _erf(b, x), 1)


def _half_plus_erf(b: GraphBuilder, x: str) -> str:
    erf = b.unary(b.binary("mul", math.sqrt(0.5), x), "erf")
    return b.binary("add", 0.5, b.binary("mul", erf, 0.5))


def _cubic(b: GraphBuilder, x: str) -> str:
    cube = b.binary("mul", b.binary("pow", x, 3), 0.044715)
    return b.binary("mul", b.binary("add", x, cube), K)


def _horner(b: GraphBuilder, x: str) -> str:
    inner = b.binary("add", b.binary("mul", b.binary("mul", x, x), 0.044715 * K), K)
    return b.binary("mul", x, inner)


def _tanh_gelu(b: GraphBuilder, x: str, argument: Spelling) -> str:
    tanh = b.unary(argument(b, x), "tanh")
    return b.binary("mul", b.binary("mul", x, 0.5), b.binary("add", tanh, 1))


HARD_SWISH = Activation("hard_swish", 1 / 6, 0.5)
SPELLINGS: dict[str, tuple[Activation, Spelling]] = {
    "x * sigmoid(x)": (
        Activation("silu"),
        lambda b, x: b.binary("mul", x, b.unary(x, "sigmoid")),
    ),
    "sigmoid(x) * x": (
        Activation("silu"),
        lambda b, x: b.binary("mul", b.unary(x, "sigmoid"), x),
    ),
    "x * (s + s) / 2, s = sigmoid(x)": (
        Activation("silu"),
        lambda b, x: b.binary("div", b.binary("mul", x, _twice(b, b.unary(x, "sigmoid"))), 2),
    ),
    "clip(x + x)": (
        Activation("hard_sigmoid", 2, 0),
        lambda b, x: b.unary(_twice(b, x), "clip", 0, 1),
    ),
    "x * hard_sigmoid(x)": (HARD_SWISH, lambda b, x: b.binary("mul", x, _hard_sigmoid(b, x))),
    "(x * clip(x + 3)) / 6": (
        HARD_SWISH,
        lambda b, x: b.binary("div", b.binary("mul", x, _clip6(b, x)), 6),
    ),
    "x * (clip(x + 3) / 6)": (
        HARD_SWISH,
        lambda b, x: b.binary("mul", x, b.binary("div", _clip6(b, x), 6)),
    ),
    "(x / 6) * clip(x + 3)": (
        HARD_SWISH,
        lambda b, x: b.binary("mul", b.binary("div", x, 6), _clip6(b, x)),
    ),
    "1/6 * (relu6(3 + x) * x)": (
        HARD_SWISH,
        lambda b, x: b.binary("mul", 1 / 6, b.binary("mul", _relu6(b, x), x)),
    ),
    "clip(x + 3) / 6": (
        Activation("hard_sigmoid", 1 / 6, 0.5),
        lambda b, x: b.binary("div", _clip6(b, x), 6),
    ),
    "clip(x / 5 + 0.5)": (
        Activation("hard_sigmoid", 0.2, 0.5),
        lambda b, x: b.unary(b.binary("add", b.binary("div", x, 5), 0.5), "clip", 0, 1),
    ),
    "clip(1 - x)": (
        Activation("hard_sigmoid", -1, 1),
        lambda b, x: b.unary(b.binary("sub", 1, x), "clip", 0, 1),
    ),
    "0.5 * (x * (1 + erf))": (
        Activation("gelu"),
        lambda b, x: b.binary("mul", 0.5, b.binary("mul", x, _one_plus_erf(b, x))),
    ),
    "(0.5 * x) * (1 + erf)": (
        Activation("gelu"),
        lambda b, x: b.binary("mul", b.binary("mul", 0.5, x), _one_plus_erf(b, x)),
    ),
    "x * (0.5 * (1 + erf))": (
        Activation("gelu"),
        lambda b, x: b.binary("mul", x, b.binary("mul", _one_plus_erf(b, x), 0.5)),
    ),
    "x * (1 + erf) / 2": (
        Activation("gelu"),
        lambda b, x: b.binary("div", b.binary("mul", _one_plus_erf(b, x), x), 2),
    ),
    "x * (0.5 + 0.5 * erf)": (
        Activation("gelu"),
        lambda b, x: b.binary("mul", x, _half_plus_erf(b, x)),
    ),
    "tanh gelu with pow": (Activation("gelu_tanh"), lambda b, x: _tanh_gelu(b, x, _cubic)),
    "tanh gelu by Horner": (Activation("gelu_tanh"), lambda b, x: _tanh_gelu(b, x, _horner)),
    "max(x, 0.1 * x)": (
        Activation("leaky_relu", 0.1),
        lambda b, x: b.binary("max", x, b.binary("mul", x, 0.1)),
    ),
    "max(-x, x)": (
        Activation("leaky_relu", -1),
        lambda b, x: b.binary("max", b.binary("sub", 0, x), x),
    ),
    "min(x, 3 * x)": (
        Activation("leaky_relu", 3),
        lambda b, x: b.binary("min", x, b.binary("mul", x, 3)),
    ),
    "prelu": (Activation("leaky_relu", 0.25), lambda b, x: b.binary("prelu", x, 0.25)),
    "prelu of equal slopes": (
        Activation("leaky_relu", 0.25),
        lambda b, x: b.binary("prelu", x, b.constant(np.full((3, 1), 0.25))),
    ),
    "max(x, 0)": (Activation("relu"), lambda b, x: b.binary("max", x, 0)),
    "max(2, x)": (Activation("clip", 2, math.inf), lambda b, x: b.binary("max", 2, x)),
    "min(x, 6)": (Activation("clip", -math.inf, 6), lambda b, x: b.binary("min", x, 6)),
    "min(max(x, 0), 6)": (
        Activation("clip", 0, 6),
        lambda b, x: b.binary("min", b.unary(x, "relu"), 6),
    ),
    "clip(relu(x), -1, 4)": (
        Activation("clip", 0, 4),
        lambda b, x: b.unary(b.unary(x, "relu"), "clip", -1, 4),
    ),
    "clip(clip(x, 0, inf), -inf, inf)": (
        Activation("relu"),
        lambda b, x: b.unary(b.unary(x, "clip", 0, math.inf), "clip", -math.inf, math.inf),
    ),
    "1 / x": (Activation("reciprocal"), lambda b, x: b.binary("div", 1, x)),
}

NOT_RECOGNISED: dict[str, Spelling] = {
    "x * sigmoid(y)": lambda b, x: b.binary("mul", x, b.unary(b.unary(x, "neg"), "sigmoid")),
    "x * sigmoid(1.702 x)": lambda b, x: b.binary(
        "mul", x, b.unary(b.binary("mul", x, 1.702), "sigmoid")
    ),
    "2 * x * sigmoid(x)": lambda b, x: b.binary(
        "mul", b.binary("mul", 2, x), b.unary(x, "sigmoid")
    ),
    "x * tanh(softplus(x))": lambda b, x: b.binary(
        "mul", x, b.unary(b.unary(x, "softplus"), "tanh")
    ),
    "x * clip(x + 3) / 5": lambda b, x: b.binary("div", b.binary("mul", x, _clip6(b, x)), 5),
    "x * (1 + erf)": lambda b, x: b.binary("mul", x, _one_plus_erf(b, x)),
    "0.5 * x * (1 + erf(x))": lambda b, x: b.binary(
        "mul", b.binary("mul", x, 0.5), b.binary("add", b.unary(x, "erf"), 1)
    ),
    "x * (0.25 + 0.5 * erf)": lambda b, x: b.binary(
        "mul", x, b.binary("add", b.binary("mul", _erf(b, x), 0.5), 0.25)
    ),
    "x * (0.5 + 0.25 * erf)": lambda b, x: b.binary(
        "mul", x, b.binary("add", b.binary("mul", _erf(b, x), 0.25), 0.5)
    ),
    "gate through an epilogue": lambda b, x: b.binary(
        "mul", x, b.binary("add", x, 0, Epilogue(Activation("sigmoid")))
    ),
    "max(x, 2 * x)": lambda b, x: b.binary("max", x, b.binary("mul", x, 2)),
    "max(x, x / 2 + 1)": lambda b, x: b.binary("max", x, b.binary("add", b.binary("div", x, 2), 1)),
    "max per channel": lambda b, x: b.binary("max", x, b.normal(3, 1)),
    "max of a broadcast": lambda b, x: b.binary("max", x, b.constant(np.zeros((1, 1, 1, 1)))),
    "prelu per channel": lambda b, x: b.binary("prelu", x, b.normal(3, 1)),
    "clip(x, 1, 2)": lambda b, x: b.unary(b.binary("add", x, 3), "clip", 1, 2),
    "2 / x": lambda b, x: b.binary("div", 2, x),
    "tanh(tanh(x))": lambda b, x: b.unary(b.unary(x, "tanh"), "tanh"),
    "squeeze and excite": lambda b, x: b.binary(
        "mul", x, b.unary(b.reduce(x, "mean", 2), "hard_sigmoid", 1 / 6, 0.5)
    ),
}


@pytest.mark.parametrize(("function", "spelling"), SPELLINGS.values(), ids=SPELLINGS.keys())
def test_spellings(function: Activation, spelling: Spelling) -> None:
    b = GraphBuilder()
    x = b.unary(b.input(2, 3, 4), "neg")
    before = b.graph(spelling(b, x))
    after = run(before)
    assert ops(after) == ["Unary", "Unary"]
    node = after.nodes[1]
    assert node.inputs == (x,)
    found = node.epilogue.before
    assert found.kind == function.kind
    assert (found.alpha, found.beta) == pytest.approx((function.alpha, function.beta))
    assert set(node.origin) == {n.name for n in before.nodes[1:]}
    assert_same_results(before, after)


@pytest.mark.parametrize("spelling", NOT_RECOGNISED.values(), ids=NOT_RECOGNISED.keys())
def test_neighbours_of_spellings_stay(spelling: Spelling) -> None:
    b = GraphBuilder()
    before = b.graph(spelling(b, b.input(2, 3, 4)))
    assert run(before) is before


def test_float32_constants_are_close_enough() -> None:
    b = GraphBuilder()
    x = b.input(2, 3)
    sixth, root = (b.constant(np.float32(v).reshape(1)) for v in (1 / 6, math.sqrt(2)))
    swish = b.binary("mul", b.binary("mul", x, _clip6(b, x)), sixth)
    gate = b.binary("add", b.unary(b.binary("div", x, root), "erf"), 1)
    before = b.graph(swish, b.binary("mul", b.binary("mul", x, 0.5), gate))
    kinds = {node.epilogue.before.kind for node in run(before).nodes}
    assert kinds == {"hard_swish", "gelu"}


def test_parts_that_something_else_reads_stay_for_it() -> None:
    b = GraphBuilder()
    x = b.input(2, 3)
    gate = b.unary(x, "sigmoid")
    before = b.graph(b.binary("mul", x, gate), gate)
    after = run(before)
    assert sorted(node.epilogue.before.kind for node in after.nodes) == ["sigmoid", "silu"]
    assert_same_results(before, after)


def test_the_argument_may_itself_be_arithmetic() -> None:
    b = GraphBuilder()
    x = b.binary("mul", b.binary("add", b.input(2, 3), 1), b.input(2, 3))
    y = b.binary("add", x, 2)
    before = b.graph(b.binary("div", b.binary("mul", y, _clip6(b, y)), 6))
    after = run(before)
    assert ops(after) == ["Binary", "Binary", "Binary", "Unary"]
    assert_same_results(before, after)
