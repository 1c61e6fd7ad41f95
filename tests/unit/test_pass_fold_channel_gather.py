"""Folding the order of channels into weights."""

from __future__ import annotations

import itertools

import pytest

from edgeconv.ir.activation import Activation
from edgeconv.ir.graph import Epilogue
from edgeconv.model.passes import optimise
from edgeconv.model.passes.fold_channel_gather import run
from edgeconv.model.passes.remove_identity import run as remove_identity
from tests.ir_builder import GraphBuilder, assert_same_results, ops

RELU = Epilogue(Activation("relu"))


@pytest.mark.parametrize("order", list(itertools.permutations(range(3)))[1:])
@pytest.mark.parametrize("bias", [True, False])
def test_between_an_input_and_convolutions(order: tuple[int, ...], bias: bool) -> None:
    b = GraphBuilder()
    y = b.gather(b.input(1, 3, 4, 4), order)
    before = b.graph(b.conv(y, 5, 3, bias=bias), b.conv(y, 2, epilogue=RELU))
    after = remove_identity(run(before))
    assert ops(after) == ["Conv", "Conv"]
    assert_same_results(before, after)


@pytest.mark.parametrize("indices", [(2, 0, 3, 1), (3, 1), (0, 0, 2), (-1,)])
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("epilogue", [Epilogue(), RELU])
def test_behind_a_convolution(indices: tuple[int, ...], bias: bool, epilogue: Epilogue) -> None:
    b = GraphBuilder()
    y = b.conv(b.input(1, 2, 4, 4), 4, 3, bias=bias, epilogue=epilogue)
    before = b.graph(b.gather(y, indices))
    after = run(before)
    assert ops(after) == ["Conv"]
    assert after.nodes[0].epilogue == epilogue
    assert_same_results(before, after)


def test_a_selection_is_taken_in_memory_order() -> None:
    b = GraphBuilder()
    before = b.graph(b.conv(b.gather(b.input(1, 6, 4, 4), (5, 0, 4, 1)), 3))
    after = run(before)
    assert ops(after) == ["Gather", "Conv"]
    assert after[after.nodes[0].inputs[1]].constant().tolist() == [0, 1, 4, 5]
    assert_same_results(before, after)
    assert run(after) is after


@pytest.mark.parametrize("stride", [1, 2])
def test_in_front_of_a_depthwise_convolution(stride: int) -> None:
    b = GraphBuilder()
    y = b.gather(b.input(1, 4, 6, 6), (2, 0, 3, 1))
    deep = b.conv(y, 4, 3, groups=4, stride=stride, epilogue=RELU, out="deep")
    before = b.graph(b.conv(deep, 3), b.conv(y, 5))
    after = remove_identity(run(before))
    assert ops(after) == ["Conv"] * 3
    assert "deep" not in after.tensors
    assert_same_results(before, after)


def test_behind_a_depthwise_convolution() -> None:
    b = GraphBuilder()
    y = b.conv(b.input(1, 3, 6, 6), 4, epilogue=RELU)
    y = b.gather(b.conv(y, 4, 3, groups=4, epilogue=RELU), (2, 0, 3, 1))
    before = b.graph(b.reduce(y, "mean", 1))
    after = run(run(before))
    assert ops(after) == ["Conv", "Conv", "Reduce"]
    assert_same_results(before, after)


def test_what_must_stay() -> None:
    b = GraphBuilder()
    x = b.input(1, 4, 4, 4)
    order = (2, 0, 3, 1)
    shared, output, active = b.gather(x, order), b.gather(x, order), b.gather(x, order)
    conv, conv_output = b.conv(x, 4), b.conv(x, 4)
    residual = b.gather(x, order)
    before = b.graph(
        b.conv(shared, 3),
        b.unary(shared, "relu"),  # another reader needs the order
        output,
        b.conv(output, 3),
        b.conv(b.unary(active, "relu"), 3),
        b.conv(b.gather(x, order), 4, groups=2),
        b.conv(b.gather(x, order), 8, groups=4),  # two filters per channel
        b.unary(b.conv(b.gather(x, order), 4, groups=4), "relu"),  # nothing to fold into below
        b.conv(b.gather(x, (0, 1, 1)), 3),  # reads a channel twice
        b.conv(residual, 4, epilogue=Epilogue(residual=residual)),
        b.gather(conv, order),
        b.unary(conv, "relu"),
        conv_output,
        b.gather(conv_output, order),
        b.gather(b.conv(x, 4, epilogue=Epilogue(residual=x)), order),
        b.gather(b.conv(x, 4, groups=2), order),
        b.gather(b.conv(x, 4, groups=4), order),  # nothing to fold into above
        b.gather(b.conv(x, 2), (0, 0, 1)),  # more work than before
        b.conv(b.gather(x, order, axis=2), 2),  # rows
    )
    assert run(before) is before


def _unit(b: GraphBuilder, x: str) -> str:
    """A ShuffleNet v2 unit: split, convolve one half, concatenate, shuffle."""
    half = b.shape(x)[1] // 2
    left, right = b.slice(x, 1, 0, half), b.slice(x, 1, half, half)
    right = b.unary(b.affine(b.conv(right, half, bias=False)), "relu")
    right = b.affine(b.conv(right, half, 3, pad=1, groups=half, bias=False))
    right = b.unary(b.affine(b.conv(right, half, bias=False)), "relu")
    return b.shuffle(b.concat(1, left, right), 2)


def test_shufflenet_units_take_runs_of_channels_and_the_last_shuffle_vanishes() -> None:
    b = GraphBuilder()
    y = _unit(b, _unit(b, b.input(1, 8, 4, 4)))
    down = b.conv(b.affine(b.conv(y, 8, 3, stride=2, groups=8, bias=False)), 4)
    before = b.graph(b.concat(1, down, b.conv(b.conv(y, 8), 4, 3, stride=2)))
    after = optimise(before)
    assert ops(after).count("Gather") == 2
    assert "Transpose" not in ops(after)
    assert_same_results(before, after)


def test_a_gather_into_a_concat_ascends_when_what_follows_takes_any_order() -> None:
    b = GraphBuilder()
    x = b.input(1, 6, 4, 4)
    joined = b.concat(1, b.unary(x, "tanh"), b.gather(x, (5, 0, 3)), b.unary(x, "abs"))
    before = b.graph(b.conv(joined, 3))
    after = optimise(before)
    assert sorted(ops(after)) == ["Concat", "Conv", "Gather", "Unary", "Unary"]
    (gather,) = (node for node in after.nodes if node.op == "Gather")
    assert after[gather.inputs[1]].constant().tolist() == [0, 3, 5]
    assert_same_results(before, after)


def test_a_gather_into_a_concat_of_gathers_ascends() -> None:
    b = GraphBuilder()
    x = b.input(1, 6, 4, 4)
    joined = b.concat(1, b.gather(x, (5, 0, 3)), b.unary(x, "abs"))
    before = b.graph(*(b.gather(joined, indices) for indices in ((0, 4, 2), (8, 1))))
    after = optimise(before)
    assert sorted(ops(after)) == ["Concat", "Gather", "Gather", "Gather", "Unary"]
    assert_same_results(before, after)
    assert optimise(after) is after


def test_a_gather_into_a_concat_stays_for_readers_that_need_the_order() -> None:
    b = GraphBuilder()
    x = b.input(1, 6, 4, 4)
    plain, mixed, output, rows, twice = (b.gather(x, (5, 0, 3)) for _ in range(5))
    to_output = b.concat(1, output, x)
    both = b.concat(1, mixed, x)
    before = b.graph(
        b.unary(b.concat(1, plain, x), "relu"),
        b.conv(both, 3),
        b.gather(both, (2, 0)),  # neither kind of reader alone
        to_output,
        b.conv(to_output, 3),
        b.conv(b.concat(2, rows, b.slice(x, 1, 0, 3)), 3),
        b.conv(b.concat(1, twice, twice), 3),
    )
    assert run(before) is before
