"""Averages in front of pointwise convolutions."""

from __future__ import annotations

import pytest

from edgeconv.ir.activation import Activation
from edgeconv.ir.graph import Epilogue
from edgeconv.model.passes import optimise
from edgeconv.model.passes.pool_before_pointwise import run
from tests.ir_builder import GraphBuilder, assert_same_results, ops

RELU = Epilogue(before=Activation("relu"))
SWAPPED = ["Pool", "Conv"]
AS_IT_WAS = ["Conv", "Pool"]


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize(("window", "stride"), [(2, 2), (3, 2), (7, 1)])
def test_a_transition(window: int, stride: int, groups: int, bias: bool) -> None:
    b = GraphBuilder()
    conv = b.conv(b.input(2, 8, 7, 7), 6, 1, groups=groups, bias=bias)
    before = b.graph(b.unary(b.pool(conv, "average", window, stride), "relu"))
    after = optimise(before)
    assert ops(after) == SWAPPED
    assert after.nodes[1].outputs == before.outputs
    assert after.nodes[1].epilogue == RELU
    assert_same_results(before, after)


@pytest.mark.parametrize("counts", [False, True])
@pytest.mark.parametrize("bias", [False, True])
def test_padding_that_is_counted_takes_from_the_bias(bias: bool, counts: bool) -> None:
    b = GraphBuilder()
    conv = b.conv(b.input(1, 8, 9, 9), 6, 1, bias=bias)
    before = b.graph(b.pool(conv, "average", 3, 2, pad=1, count_include_pad=counts))
    after = run(before)
    assert ops(after) == (AS_IT_WAS if bias and counts else SWAPPED)
    assert_same_results(before, after)


@pytest.mark.parametrize("counts", [False, True])
def test_windows_past_the_end(counts: bool) -> None:
    b = GraphBuilder()
    conv = b.conv(b.input(1, 8, 5, 5), 6, 1, bias=True)
    before = b.graph(b.pool(conv, "average", 2, 2, size=(3, 3), count_include_pad=counts))
    after = run(before)
    assert ops(after) == SWAPPED
    assert_same_results(before, after)


def test_many_channels_in_front_are_not_worth_their_windows() -> None:
    b = GraphBuilder()
    conv = b.conv(b.input(1, 64, 9, 9), 2, 1)
    before = b.graph(b.pool(conv, "average", 3, 1, pad=1, count_include_pad=False))
    assert run(before) is before


@pytest.mark.parametrize("what", ["max", "kernel", "stride", "pad", "epilogue", "read twice"])
def test_what_is_left_alone(what: str) -> None:
    b = GraphBuilder()
    x = b.input(1, 8, 12, 12)
    kernel, stride = (3 if what == "kernel" else 1), (2 if what == "stride" else 1)
    conv = b.conv(x, 8, kernel, pad=int(what == "pad"), stride=stride)
    if what == "epilogue":
        conv = b.unary(conv, "relu")
    pooled = b.pool(conv, "max" if what == "max" else "average", 2, 2)
    outputs = (pooled, conv) if what == "read twice" else (pooled,)
    before = b.graph(*outputs)
    after = optimise(before)
    assert ops(after) == AS_IT_WAS
    assert_same_results(before, after)
