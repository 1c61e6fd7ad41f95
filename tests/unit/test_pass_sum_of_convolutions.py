"""Convolutions of one tensor that are added."""

from __future__ import annotations

import pytest

from edgeconv.ir.activation import Activation
from edgeconv.ir.graph import Epilogue
from edgeconv.model.passes.sum_of_convolutions import run
from tests.ir_builder import GraphBuilder, assert_same_results, ops

RELU = Epilogue(before=Activation("relu"))


@pytest.mark.parametrize("swapped", [False, True])
@pytest.mark.parametrize("groups", [1, 3, 6])
@pytest.mark.parametrize(("kernel", "pad", "stride"), [(1, 0, 1), (3, 1, 1), (1, 0, 2), (5, 2, 2)])
def test_a_smaller_window_within_a_larger_one(
    kernel: int, pad: int, stride: int, groups: int, swapped: bool
) -> None:
    b = GraphBuilder()
    x = b.input(2, 6, 9, 7)
    small = b.conv(x, 12, kernel, pad, stride, groups, bias=groups != 3)
    large = b.conv(x, 12, 5, 2, stride, groups)
    before = b.graph(b.binary("add", *((large, small) if swapped else (small, large)), RELU))
    after = run(before)
    assert ops(after) == ["Conv"]
    assert after.nodes[0].epilogue == RELU
    assert len(after.nodes[0].origin) == len({*after.nodes[0].origin}) == 3
    assert_same_results(before, after)


@pytest.mark.parametrize("groups", [1, 2, 6])
@pytest.mark.parametrize(("kernel", "pad"), [(1, 0), (3, 1), (2, 1)])
def test_a_normalisation_of_what_is_read(kernel: int, pad: int, groups: int) -> None:
    b = GraphBuilder()
    x = b.input(2, 6, 5, 4)
    if kernel == 2:  # padded at the beginning alone
        attrs = {"kernel": (2, 2), "strides": (1, 1), "dilations": (1, 1), "pads": (1, 1, 0, 0)}
        weights = b.normal(6, 6 // groups, 2, 2)
        conv = b.node("Conv", (x, weights), (2, 6, 5, 4), {**attrs, "groups": groups})
    else:
        conv = b.conv(x, 6, kernel, pad, 1, groups)
    before = b.graph(b.binary("add", b.affine(x), conv))
    after = run(before)
    assert ops(after) == ["Conv"]
    assert_same_results(before, after)


def dilated(b: GraphBuilder, x: str, kernel: int, dilation: int, pad: int) -> str:
    attrs = {"kernel": (kernel,), "strides": (1,), "dilations": (dilation,), "pads": (pad, pad)}
    size = b.shape(x)[2] + 2 * pad - dilation * (kernel - 1)
    weights = b.normal(4, 4, kernel)
    return b.node("Conv", (x, weights), (1, 4, size), {**attrs, "groups": 1})


@pytest.mark.parametrize(
    ("small", "large", "one"),
    [
        ((3, 2, 2), (5, 1, 2), True),  # every other tap
        ((3, 2, 2), (3, 2, 2), True),
        ((1, 1, 0), (3, 3, 3), True),
        ((3, 3, 3), (3, 2, 2), False),  # beyond the window
        ((2, 1, 0), (2, 3, 1), False),  # between the taps
    ],
)
def test_dilations(small: tuple[int, int, int], large: tuple[int, int, int], one: bool) -> None:
    b = GraphBuilder()
    x = b.input(1, 4, 11)
    one_of, other = (dilated(b, x, *window) for window in (small, large))
    before = b.graph(b.binary("add", one_of, other))
    after = run(before)
    assert (ops(after) == ["Conv"]) == one
    assert_same_results(before, after)


def test_three_branches_become_one() -> None:
    b = GraphBuilder()
    x = b.input(1, 8, 6, 6)
    two = b.binary("add", b.affine(x), b.conv(x, 8))
    before = b.graph(b.binary("add", two, b.conv(x, 8, 3, 1)))
    after = run(run(before))
    assert ops(after) == ["Conv"]
    assert after.nodes[0].attrs["kernel"] == (3, 3)
    assert_same_results(before, after)


def test_what_must_stay() -> None:
    b = GraphBuilder()
    x, y = b.input(1, 4, 6, 6), b.input(1, 4, 6, 6)
    shared, output = b.conv(x, 4), b.conv(x, 4)
    before = b.graph(
        output,
        b.binary("add", output, b.conv(x, 4)),  # an output of its own
        b.binary("add", shared, b.conv(x, 4)),
        b.unary(shared, "relu"),  # two readers
        b.binary("add", b.conv(x, 4), b.conv(y, 4)),  # of two tensors
        b.binary("mul", b.conv(x, 4), b.conv(x, 4)),
        b.binary("add", b.conv(x, 4, epilogue=RELU), b.conv(x, 4)),
        b.binary("add", b.conv(x, 4), b.conv(x, 4, groups=2)),
        b.binary("add", b.conv(x, 4), b.conv(x, 1)),  # broadcast
        b.binary("add", b.affine(x), b.affine(x)),
    )
    assert run(before) is before
