"""Folding Pad into the operators that pad."""

from __future__ import annotations

import numpy as np
import pytest

from edgeconv.ir.activation import Activation, grid
from edgeconv.ir.graph import Epilogue, Graph
from edgeconv.model.passes.fold_pad import run
from tests.ir_builder import GraphBuilder, assert_same_results, ops

UNEVEN = (0, 0, 1, 0, 0, 0, 0, 1)  # one row above, one column on the right
LOWEST = float(np.finfo(np.float32).min)


@pytest.mark.parametrize("own", [0, 2])
@pytest.mark.parametrize("stride", [1, 2])
def test_convolution(own: int, stride: int) -> None:
    b = GraphBuilder()
    y = b.conv(b.pad(b.input(1, 2, 6, 6), UNEVEN), 3, 3, pad=own, stride=stride)
    before = b.graph(y)
    after = run(before)
    assert ops(after) == ["Conv"]
    assert after.nodes[0].attrs["pads"] == (own + 1, own, own, own + 1)
    assert_same_results(before, after)


@pytest.mark.parametrize(("own", "counts"), [(0, False), (0, True), (1, True)])
def test_average_pool_that_counts_the_padding(own: int, counts: bool) -> None:
    b = GraphBuilder()
    x = b.pad(b.input(1, 2, 6, 6), UNEVEN)
    before = b.graph(b.pool(x, "average", 3, 2, pad=own, count_include_pad=counts))
    after = run(before)
    assert ops(after) == ["Pool"]
    assert after.nodes[0].attrs["count_include_pad"] is True
    assert_same_results(before, after)


def test_average_pool_past_the_end_of_its_input() -> None:
    b = GraphBuilder()
    x = b.pad(b.input(1, 2, 5, 5), UNEVEN)  # 6 x 6: a third window of 3 starts at 4
    before = b.graph(b.pool(x, "average", 3, 2, size=(3, 3)))
    after = run(before)
    assert ops(after) == ["Pool"]
    assert_same_results(before, after)


@pytest.mark.parametrize("value", [-np.inf, LOWEST])
@pytest.mark.parametrize("own", [0, 1])
def test_max_pool_over_the_lowest_number(value: float, own: int) -> None:
    b = GraphBuilder()
    before = b.graph(b.pool(b.pad(b.input(1, 2, 6, 6), UNEVEN, value), "max", 3, 2, pad=own))
    after = run(before)
    assert ops(after) == ["Pool"]
    assert_same_results(before, after)


def test_max_pool_whose_outermost_windows_have_one_element() -> None:
    b = GraphBuilder()
    x = b.pad(b.input(1, 2, 6, 6), (0, 0, 2, 2, 0, 0, 2, 2), -np.inf)
    before = b.graph(b.pool(x, "max", 3))
    after = run(before)
    assert ops(after) == ["Pool"]
    assert_same_results(before, after)


@pytest.mark.parametrize("steps", [7, 8])
def test_how_far_back_signs_are_looked_for(steps: int) -> None:
    b = GraphBuilder()
    x = b.unary(b.input(1, 2, 6, 6), "relu")
    for _ in range(steps):
        x = b.transpose(x, 0, 1, 3, 2)
    before = b.graph(b.pool(b.pad(x, UNEVEN), "max", 3))
    after = run(before)
    assert ("Pad" in ops(after)) == (steps == 8)
    assert_same_results(before, after)


def _relu(b: GraphBuilder, x: str) -> str:
    return b.conv(x, 2, epilogue=Epilogue(before=Activation("relu")))


def _clip(b: GraphBuilder, x: str) -> str:
    return b.unary(x, "clip", 0, 6)


def _residual(b: GraphBuilder, x: str) -> str:
    before, after = Activation("sigmoid"), Activation("none")
    return b.conv(x, 2, epilogue=Epilogue(before, b.unary(x, "abs"), after))


def _after(b: GraphBuilder, x: str) -> str:
    return b.conv(x, 2, epilogue=Epilogue(residual=x, after=Activation("relu")))


def _moved(b: GraphBuilder, x: str) -> str:
    parts = b.unary(b.slice(x, 1, 0, 1), "softplus"), b.pool(b.unary(x, "exp"), "max", 1)
    return b.gather(b.slice(b.concat(1, *parts), 1, 0, 3), (2, 0))


@pytest.mark.parametrize("make", [_relu, _clip, _residual, _after, _moved])
def test_max_pool_over_zeros_where_nothing_is_negative(make: object) -> None:
    assert callable(make)
    b = GraphBuilder()
    before = b.graph(b.pool(b.pad(make(b, b.input(1, 2, 6, 6)), UNEVEN), "max", 3, 2))
    after = run(before)
    assert "Pad" not in ops(after)
    assert_same_results(before, after)


def test_all_readers_take_it_or_none() -> None:
    b = GraphBuilder()
    y = b.pad(b.input(1, 2, 6, 6), UNEVEN)
    both = b.graph(b.conv(y, 3, 3), b.pool(y, "average", 2))
    assert ops(run(both)) == ["Conv", "Pool"]
    assert_same_results(both, run(both))
    one = b.graph(*both.outputs, b.unary(y, "relu"))
    assert run(one) is one


def _pools(b: GraphBuilder, x: str) -> list[str]:
    signed = b.conv(x, 2, epilogue=Epilogue(Activation("relu"), x))
    return [
        b.pool(b.pad(x, UNEVEN), "max", 3),  # zeros among negative numbers
        b.pool(b.pad(signed, UNEVEN), "max", 3),  # the residual may be negative
        b.pool(b.pad(b.unary(x, "clip", -1, 6), UNEVEN), "max", 3),
        b.pool(b.pad(b.unary(x, "relu"), UNEVEN, 1.0), "max", 3),
        b.pool(b.pad(x, UNEVEN, 1.0), "average", 3),
        b.pool(b.pad(x, UNEVEN), "average", 3, pad=1),  # counts one padding, not the other
        b.pool(b.pad(x, (0, 0, 3, 3, 0, 0, 3, 3), -np.inf), "max", 3),  # windows without data
        b.pool(b.pad(x, (0, 0, 0, 3, 0, 0, 0, 0), -np.inf), "max", 3),  # one in front
        b.pool(b.pad(x, (0, 0, 0, 0, 0, 0, 3, 0), -np.inf), "max", 3),  # one behind
        b.pool(b.pad(x, (0, 0, 0, 0, 0, 0, 4, 4)), "average", 3, count_include_pad=True),
        b.pool(b.pad(x, (0, 0, 2, 0, 0, 0, 0, 0), -np.inf), "max", 3, pad=1),  # one in front
        b.pool(b.pad(b.slice(x, 2, 0, 1), (0, 0, 1, 0, 0, 0, 1, 0), -np.inf), "max", 2,
               dilation=2),  # every window steps over the only row
    ]  # fmt: skip


def test_what_must_stay() -> None:
    b = GraphBuilder()
    x = b.input(1, 2, 6, 6)
    y = b.pad(x, UNEVEN)
    before: Graph = b.graph(
        y,
        b.conv(y, 3, 3),  # the padded tensor is an output
        b.conv(b.pad(x, UNEVEN, 1.0), 3, 3),
        b.conv(b.pad(x, UNEVEN, mode="reflect"), 3, 3),
        b.conv(b.pad(x, (0, 1, 0, 0, 0, 0, 0, 0)), 3, 3),  # pads channels
        b.conv(b.unary(y, "tanh"), 2, epilogue=Epilogue(residual=b.slice(y, 1, 0, 2))),
        *_pools(b, x),
    )
    assert run(before) is before


@pytest.mark.parametrize("above", [0, 1])
def test_max_pool_over_the_lowest_number_of_a_grid(above: int) -> None:
    """As a padded max pool of integers comes from some converters."""
    b = GraphBuilder()
    x = b.input(1, 2, 6, 6)
    whole = b.node("Unary", (x,), (1, 2, 6, 6), epilogue=Epilogue(before=grid(0.5, -2, 5)))
    before = b.graph(b.pool(b.pad(whole, UNEVEN, 0.5 * (above - 2)), "max", 3, 2))
    after = run(before)
    assert ("Pad" in ops(after)) == bool(above)
    assert_same_results(before, after)
