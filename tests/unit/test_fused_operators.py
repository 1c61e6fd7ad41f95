"""The operators whose kernels apply an epilogue, by name: the real table through the real passes.

The other tests of fusion bring tables of their own.  An operator that ceases to fuse makes every
network slower and computes the same, which nothing else would show.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from edgeconv.ir.activation import Activation
from edgeconv.ir.graph import Epilogue
from edgeconv.ir.preprocessing import PREPROCESS
from edgeconv.kernels.ops import operators
from edgeconv.model.passes import optimise
from edgeconv.model.preprocessing import preprocessing
from tests.ir_builder import GraphBuilder, ops
from tests.preprocess_settings import settings_of

TANH = Activation("tanh")
SHAPE = (1, 4, 6, 6)


def _resize(b: GraphBuilder, x: str) -> str:
    attrs = {"mode": "linear", "coordinates": "half_pixel", "nearest": "floor"}
    return b.node("Resize", (x,), (1, 4, 12, 12), attrs)


def _lrn(b: GraphBuilder, x: str) -> str:
    return b.node("LRN", (x,), SHAPE, {"size": 3, "alpha": 0.1, "beta": 0.75, "bias": 1.0})


def _preprocess(b: GraphBuilder, x: str) -> str:
    made = preprocessing(SHAPE[2:], settings_of())
    return b.node(PREPROCESS, (x,), made.shape, {"preprocessing": made})


MAKERS: dict[str, Callable[[GraphBuilder, str], str]] = {
    "Affine": lambda b, x: b.affine(x),
    "Binary": lambda b, x: b.binary("mul", x, b.input(*SHAPE)),
    "Conv": lambda b, x: b.conv(x, 4),
    "Dense": lambda b, x: b.dense(x, 6),
    "DynamicConv": lambda b, x: b.node("DynamicConv", (x,), SHAPE),
    "DynamicDense": lambda b, x: b.node("DynamicDense", (x,), SHAPE),
    "LRN": _lrn,
    "MatMul": lambda b, x: b.node("MatMul", (x, b.input(*SHAPE)), SHAPE),
    "Pool": lambda b, x: b.pool(x, "max", 2),
    PREPROCESS: _preprocess,
    "Reduce": lambda b, x: b.reduce(x, "max", 1),
    "Resize": _resize,
    "Softmax": lambda b, x: b.node("Softmax", (x,), SHAPE, {"axis": 1, "log": False}),
    "Unary": lambda b, x: b.unary(x, "relu"),
}


def test_these_operators_fuse() -> None:
    assert {name for name, operator in operators().items() if operator.fuses} == set(MAKERS)


@pytest.mark.parametrize("op", [name for name in MAKERS if name != "Unary"])
def test_an_activation_behind_it_is_fused(op: str) -> None:
    b = GraphBuilder()
    after = optimise(b.graph(b.unary(MAKERS[op](b, b.input(*SHAPE)), "tanh")))
    assert ops(after) == [op]
    assert after.nodes[0].epilogue == Epilogue(before=TANH)


def test_a_grid_behind_an_activation_is_fused() -> None:
    """Other activations of activations become one before anything is fused."""
    b = GraphBuilder()
    after = optimise(b.graph(b.unary(b.unary(b.input(*SHAPE), "tanh"), "grid", 0.5, 3.0)))
    assert ops(after) == ["Unary"]
    assert after.nodes[0].epilogue == Epilogue(TANH, after=Activation("grid", 0.5, 3.0))


@pytest.mark.parametrize("op", ["Conv", "Dense"])
def test_an_addition_behind_it_is_fused(op: str) -> None:
    b = GraphBuilder()
    y = MAKERS[op](b, b.input(*SHAPE))
    other = b.input(*b.shape(y))
    after = optimise(b.graph(b.unary(b.binary("add", y, other), "tanh")))
    assert ops(after) == [op]
    assert after.nodes[0].epilogue == Epilogue(residual=other, after=TANH)
