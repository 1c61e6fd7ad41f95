"""Evaluating nodes of constants."""

from __future__ import annotations

import numpy as np
import pytest

from edgeconv.ir.activation import Activation
from edgeconv.ir.graph import Epilogue
from edgeconv.model.passes.constant_folding import run
from tests.ir_builder import GraphBuilder, assert_same_results, ops

KINDS = (
    ("relu", 0, 0), ("clip", -0.5, 0.75), ("leaky_relu", 0.1, 0), ("hard_sigmoid", 0.2, 0.5),
    ("hard_swish", 1 / 6, 0.5), ("sigmoid", 0, 0), ("silu", 0, 0), ("tanh", 0, 0), ("gelu", 0, 0),
    ("gelu_tanh", 0, 0), ("elu", 1.5, 0), ("softplus", 0, 0), ("erf", 0, 0), ("exp", 0, 0),
    ("log", 0, 0), ("sqrt", 0, 0), ("abs", 0, 0), ("neg", 0, 0), ("reciprocal", 0, 0),
    ("floor", 0, 0), ("ceil", 0, 0), ("round", 0, 0), ("none", 0, 0),
)  # fmt: skip


@pytest.mark.parametrize(("kind", "alpha", "beta"), KINDS)
def test_unary(kind: str, alpha: float, beta: float) -> None:
    b = GraphBuilder()
    y = b.unary(b.normal(3, 4), kind, alpha, beta)
    before = b.graph(b.binary("add", b.input(3, 4), y))
    after = run(before)
    assert ops(after) == ["Binary"]
    assert_same_results(before, after)


@pytest.mark.parametrize("kind", ["add", "sub", "mul", "div", "min", "max", "pow", "prelu"])
def test_binary(kind: str) -> None:
    b = GraphBuilder()
    epilogue = Epilogue(before=Activation("tanh"))
    y = b.binary(kind, b.normal(3, 1), b.normal(4), epilogue)
    before = b.graph(b.binary("add", b.input(3, 4), y))
    after = run(before)
    assert ops(after) == ["Binary"]
    assert_same_results(before, after)


def test_data_movement_and_affine_in_a_chain() -> None:
    b = GraphBuilder()
    y = b.affine(b.concat(1, b.normal(2, 3, 4), b.normal(2, 1, 4)))
    y = b.slice(b.gather(b.transpose(y, 0, 2, 1), (3, 3, -2)), 2, 3, 2, step=-2)
    y = b.node("Identity", (b.reshape(y, 4, 3),), (4, 3), out="value")
    before = b.graph(b.binary("mul", b.input(4, 3), y))
    after = run(before)
    assert ops(after) == ["Binary"]
    assert after["value"].is_constant
    assert_same_results(before, after)


def test_integers_move_but_are_not_computed_with() -> None:
    b = GraphBuilder()
    moved = b.reshape(b.constant(np.arange(4, dtype=np.int64)), 2, 2)
    b.tensors[moved] = type(b.tensors[moved])(moved, (2, 2), "int64")
    before = b.graph(b.node("Gather", (b.input(4, 3), moved), (2, 2, 3), {"axis": 0}))
    after = run(before)
    assert ops(after) == ["Gather"]
    assert after[moved].constant().dtype == np.int64
    assert_same_results(before, after)


def test_float32_is_rounded_once() -> None:
    b = GraphBuilder()
    tensor = type(b.tensors[b.input(1)])
    values = np.array([1.0, 2.0**-24], np.float32)
    names = [b.constant(value.reshape(1)) for value in (*values, -values[0])]
    total = b.binary("add", b.binary("add", names[0], names[1]), names[2])
    for name in b.tensors:
        b.tensors[name] = tensor(name, (1,), "float32", data=b.tensors[name].data)
    before = b.graph(b.binary("add", "in0", total))
    assert ops(run(before)) == ["Binary"]
    assert run(before)[total].constant().dtype == np.float32


def test_run_time_values_and_what_would_grow_stay() -> None:
    b = GraphBuilder()
    repeated = b.node("Tile", (b.normal(2, 3),), (4, 3), {"repeats": (2, 1)})
    before = b.graph(b.binary("add", b.input(4, 3), repeated))
    assert run(before) is before


@pytest.mark.parametrize("kind", ["mean", "sum", "max", "min", "prod", "l1", "l2", "sum_square"])
@pytest.mark.parametrize("keepdims", [True, False])
def test_reduction(kind: str, keepdims: bool) -> None:
    b = GraphBuilder()
    attrs = {"kind": kind, "axes": (0, 2), "keepdims": keepdims}
    shape = (1, 3, 1) if keepdims else (3,)
    y = b.node("Reduce", (b.normal(2, 3, 4),), shape, attrs)
    before = b.graph(b.binary("add", b.input(*shape), y))
    after = run(before)
    assert ops(after) == ["Binary"]
    assert_same_results(before, after)


def test_graph_output_is_a_copy_of_its_value() -> None:
    b = GraphBuilder()
    before = b.graph(b.unary(b.normal(3, 4), "tanh", 0, 0))
    after = run(before)
    assert ops(after) == ["Identity"]
    assert after.outputs == before.outputs
    assert_same_results(before, after)
    assert run(after) is after
