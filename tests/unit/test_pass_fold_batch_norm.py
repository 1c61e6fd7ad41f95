"""Folding Affine into weights."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from edgeconv.ir.activation import Activation
from edgeconv.ir.graph import Epilogue, Graph
from edgeconv.model.passes.fold_batch_norm import run
from tests.ir_builder import GraphBuilder, assert_same_results, ops

RELU = Epilogue(before=Activation("relu"))


@pytest.mark.parametrize("groups", [1, 2, 6])
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("rank", [1, 2, 3])
def test_behind_a_convolution(groups: int, bias: bool, rank: int) -> None:
    b = GraphBuilder()
    x = b.conv(b.input(2, 6, *(5,) * rank), 6, 3, pad=1, groups=groups, bias=bias)
    before = b.graph(b.affine(x, RELU))
    after = run(before)
    assert ops(after) == ["Conv"]
    assert after.nodes[0].epilogue == RELU
    assert after.nodes[0].origin == ("n0", "n1")
    assert_same_results(before, after)


@pytest.mark.parametrize("groups", [1, 2, 6])
@pytest.mark.parametrize("bias", [True, False])
def test_in_front_of_an_unpadded_convolution(groups: int, bias: bool) -> None:
    b = GraphBuilder()
    y = b.conv(b.affine(b.input(2, 6, 5, 5)), 12, 3, groups=groups, bias=bias)
    before = b.graph(y)
    after = run(before)
    assert ops(after) == ["Conv"]
    assert_same_results(before, after)


@pytest.mark.parametrize("shift", [True, False])
def test_in_front_of_padding_only_a_scale_folds(shift: bool) -> None:
    b = GraphBuilder()
    before = b.graph(b.conv(b.affine(b.input(2, 6, 5, 5), shift=shift), 4, 3, pad=1))
    after = run(before)
    assert ops(after) == (["Affine", "Conv"] if shift else ["Conv"])
    assert_same_results(before, after)


@pytest.mark.parametrize("behind", [True, False])
@pytest.mark.parametrize("bias", [True, False])
def test_around_a_dense(behind: bool, bias: bool) -> None:
    b = GraphBuilder()
    x = b.input(3, 5)
    y = b.affine(b.dense(x, 4, bias)) if behind else b.dense(b.affine(x), 4, bias)
    before = b.graph(y)
    after = run(before)
    assert ops(after) == ["Dense"]
    assert_same_results(before, after)


def test_a_dense_over_rows_is_left_alone() -> None:
    b = GraphBuilder()
    before = b.graph(b.affine(b.dense(b.input(2, 4, 5), 4)), b.dense(b.affine(b.input(2, 4, 5)), 4))
    assert run(before) is before


@pytest.mark.parametrize("scales", [(4.0, 4.0), (0.5, 4.0), (4.0, 0.5), (-4.0, 0.5)])
@pytest.mark.parametrize("behind", [True, False])
def test_weights_stay_multiples_of_a_unit_per_output(
    behind: bool, scales: tuple[float, float]
) -> None:
    """A scale per input would leave none.  Units are above 0, as kernels in integers want them."""
    b = GraphBuilder()
    x = b.input(1, 2, 3, 3)
    pair = b.constant(scales), b.normal(2)
    if behind:
        x = b.conv(x, 2)
        b.in_units(0.25, 0.125)
        x = b.node("Affine", (x, *pair), b.shape(x))
    else:
        x = b.conv(b.node("Affine", (x, *pair), b.shape(x)), 2)
        b.in_units(0.25, 0.125)
    before = b.graph(x)
    after = run(before)
    if not behind and scales[0] != scales[1]:
        assert after is before
        return
    assert ops(after) == ["Conv"]
    assert after.nodes[0].attrs["storage"].scale == (0.25 * abs(scales[0]), 0.125 * scales[1])
    assert_same_results(before, after)


def test_a_chain_folds_at_once() -> None:
    b = GraphBuilder()
    y = b.affine(b.affine(b.input(2, 3, 4, 4)))
    y = b.affine(b.affine(b.conv(y, 5, 2)), RELU)
    before = b.graph(b.affine(b.affine(y)))
    after = run(before)
    assert ops(after) == ["Conv", "Affine"]
    assert_same_results(before, after)


def _another_reader(b: GraphBuilder) -> Graph:
    y = b.conv(b.input(1, 3, 4, 4), 3)
    return b.graph(b.affine(y), b.unary(y, "relu"))


def _output_in_between(b: GraphBuilder) -> Graph:
    y = b.conv(b.input(1, 3, 4, 4), 3)
    return b.graph(y, b.affine(y))


def _epilogue(b: GraphBuilder) -> Graph:
    return b.graph(b.affine(b.conv(b.input(1, 3, 4, 4), 3, epilogue=RELU)))


def _residual_of_itself(b: GraphBuilder) -> Graph:
    y = b.conv(b.input(1, 3, 4, 4), 3)
    return b.graph(b.affine(y, Epilogue(residual=y)))


def _activation_before_convolution(b: GraphBuilder) -> Graph:
    return b.graph(b.conv(b.affine(b.input(1, 3, 4, 4), RELU), 3))


def _affine_read_twice(b: GraphBuilder) -> Graph:
    y = b.affine(b.input(1, 3, 4, 4))
    return b.graph(b.conv(y, 3), b.conv(y, 3))


def _affine_is_residual(b: GraphBuilder) -> Graph:
    x = b.input(1, 3, 4, 4)
    return b.graph(b.conv(x, 3, epilogue=Epilogue(residual=b.affine(x))))


@pytest.mark.parametrize(
    "make",
    [
        _another_reader,
        _output_in_between,
        _epilogue,
        _residual_of_itself,
        _activation_before_convolution,
        _affine_read_twice,
        _affine_is_residual,
    ],
)
def test_what_must_stay(make: object) -> None:
    assert callable(make)
    before = make(GraphBuilder())
    assert run(before) is before


def _float32(graph: Graph) -> Graph:
    narrow = {
        t.name: replace(
            t, dtype="float32", data=None if t.data is None else t.data.astype(np.float32)
        )
        for t in graph.tensors.values()
    }
    return graph.with_tensors(narrow)


def test_weights_are_rounded_once() -> None:
    b = GraphBuilder()
    graph = _float32(b.graph(b.affine(b.conv(b.input(1, 4, 3, 3), 4, 3))))
    conv, affine = graph.nodes
    after = run(graph)
    weights, scale = graph[conv.inputs[1]].constant(), graph[affine.inputs[1]].constant()
    exact = weights.astype(np.float64) * scale.astype(np.float64).reshape(-1, 1, 1, 1)
    folded = after[after.nodes[0].inputs[1]].constant()
    assert folded.dtype == np.float32
    np.testing.assert_array_equal(folded, exact.astype(np.float32))


@pytest.mark.parametrize(("weight", "bias"), [(1e30, 0), (1e-30, 1e30)])
def test_a_fold_that_would_overflow_is_not_made(weight: float, bias: float) -> None:
    b = GraphBuilder()
    y = b.conv(b.input(1, 2, 3, 3), 2)
    scale, shift = b.constant(np.full(2, 1e30)), b.constant(np.zeros(2))
    y = b.node("Affine", (y, scale, shift), b.shape(y))
    w, added = b.nodes[0].inputs[1:]
    b.tensors[w] = replace(b.tensors[w], data=np.full((2, 2, 1, 1), weight))
    b.tensors[added] = replace(b.tensors[added], data=np.full(2, bias))
    graph = _float32(b.graph(y))
    assert run(graph) is graph
