"""Rounding to a grid what lies on it."""

from __future__ import annotations

import pytest

from edgeconv.ir.activation import Activation, grid
from edgeconv.ir.graph import Epilogue, Graph
from edgeconv.model.passes.remove_requantisation import run
from tests.ir_builder import GraphBuilder, assert_same_results, ops

WIDE, UPPER = grid(0.5, -4, 5), grid(0.5, 0, 5)


def rounded(b: GraphBuilder, x: str, to: Activation, *, after: bool = False) -> str:
    epilogue = Epilogue(after=to) if after else Epilogue(before=to)
    return b.node("Unary", (x,), b.shape(x), epilogue=epilogue)


def roundings(graph: Graph) -> int:
    return ops(graph).count("Unary")


@pytest.mark.parametrize(
    ("first", "then", "removed"),
    [
        (WIDE, WIDE, True),
        (UPPER, WIDE, True),
        (WIDE, UPPER, False),  # its bounds clip
        (WIDE, grid(0.5, -4, 4), False),
        (WIDE, grid(0.25, -8, 10), False),  # the same numbers, but of another step
        (Activation("relu"), WIDE, False),
    ],
)
def test_bounds_decide(first: Activation, then: Activation, removed: bool) -> None:
    b = GraphBuilder()
    x = b.conv(b.input(1, 3, 4, 4), 5, epilogue=Epilogue(before=first))
    before = b.graph(b.unary(rounded(b, x, then), "neg"))
    after = run(before)
    assert (after is not before) is removed
    assert roundings(after) == 1 + (not removed)
    assert_same_results(before, after)


def test_past_movement() -> None:
    """Zeros that are added count; so do the bounds of every input of a Concat."""
    b = GraphBuilder()
    x = b.input(1, 3, 4, 4)
    one, two = rounded(b, x, UPPER), rounded(b, x, grid(0.5, -4, -1), after=True)
    parts = [b.pool(b.pad(one, (0, 0, 1, 1, 0, 0, 1, 1)), "max", 3), b.slice(two, 1, 0, 2)]
    moved = b.reshape(b.transpose(b.concat(1, *parts), 0, 2, 3, 1), 1, 80)
    narrow = rounded(b, b.pad(two, (0, 0, 1, 1, 0, 0, 1, 1)), grid(0.5, -4, -1))
    before = b.graph(rounded(b, moved, WIDE), rounded(b, moved, UPPER), narrow)
    after = run(before)
    left = {node.output for node in after.nodes if node.op == "Unary"}
    assert left == {one, two, before.outputs[1], narrow}  # -0.5 is below, 0 above the bounds
    assert_same_results(before, after)


def test_what_is_not_on_the_grid() -> None:
    b = GraphBuilder()
    x = b.input(1, 3, 4, 4)
    one = rounded(b, x, WIDE)
    others = [
        b.concat(1, one, x),
        b.concat(1, one, b.normal(1, 2, 4, 4)),
        b.concat(1, one, rounded(b, x, grid(0.3, -4, 5))),
        b.pad(one, (0, 0, 1, 1, 0, 0, 1, 1), value=0.25),
        b.pool(one, "average", 2),
        b.node("Unary", (one,), b.shape(one), epilogue=Epilogue(residual=one)),
        x,
    ]
    before = b.graph(*(b.unary(rounded(b, other, WIDE), "neg") for other in others))
    assert run(before) is before


def test_a_unary_that_does_more_stays() -> None:
    b = GraphBuilder()
    x = rounded(b, b.input(1, 3, 4, 4), WIDE)
    y = b.node("Unary", (x,), b.shape(x), epilogue=Epilogue(WIDE, x, WIDE))
    before = b.graph(y)
    assert run(before) is before


def test_several_in_a_row_up_to_an_output() -> None:
    b = GraphBuilder()
    first = rounded(b, b.input(2, 3), WIDE)
    before = b.graph(rounded(b, rounded(b, rounded(b, first, WIDE), WIDE), WIDE))
    after = run(before)
    assert roundings(after) == 1
    assert run(after) is after
    assert_same_results(before, after)


def test_two_outputs_of_the_same_numbers_stay() -> None:
    b = GraphBuilder()
    first = rounded(b, b.input(2, 3), WIDE)
    before = b.graph(first, rounded(b, first, WIDE))
    assert run(before) is before
