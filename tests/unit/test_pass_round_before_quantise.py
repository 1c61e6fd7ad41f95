"""Rounding a layer's result before it becomes integers."""

from __future__ import annotations

from dataclasses import replace

from edgeconv.ir.activation import grid
from edgeconv.ir.encoding import Encoding, integers
from edgeconv.ir.graph import Epilogue
from edgeconv.model.passes import optimise
from edgeconv.model.passes.fuse_activation import run as fuse_activation
from edgeconv.model.passes.round_before_quantise import run
from tests.ir_builder import GraphBuilder, assert_same_results, ops

STORED = replace(integers("int8"), scale=(0.5,), zero=(3,))
GRID = grid(0.5, -131, 124)


def quantise(b: GraphBuilder, x: str, encoding: Encoding = STORED) -> str:
    return b.node("Quantise", (x,), b.shape(x), {"encoding": encoding})


def test_a_layer_is_rounded_to_the_grid_that_its_integers_have() -> None:
    b = GraphBuilder()
    after = fuse_activation(run(b.graph(quantise(b, b.conv(b.input(1, 3, 5, 5), 4)))))
    assert ops(after) == ["Conv", "Quantise"]
    assert after.nodes[0].epilogue == Epilogue(before=GRID)
    assert run(after) is after


def test_a_layer_whose_result_is_moved_first() -> None:
    """As the output of a channels-last model."""
    b = GraphBuilder()
    moved = b.reshape(b.transpose(b.conv(b.input(1, 3, 5, 5), 4), 0, 2, 3, 1), 1, 25, 4)
    before = b.graph(quantise(b, moved))
    after = optimise(before)
    assert ops(after) == ["Conv", "Transpose", "Reshape", "Quantise"]
    assert after.nodes[0].epilogue == Epilogue(before=GRID)
    assert_same_results(before, after)


def test_a_layer_whose_moved_result_others_read_stays() -> None:
    b = GraphBuilder()
    conv = b.conv(b.input(1, 3, 5, 5), 4)
    before = b.graph(quantise(b, b.transpose(conv, 0, 2, 3, 1)), conv)
    assert run(before) is before


def test_behind_what_the_layer_does_already() -> None:
    b = GraphBuilder()
    x = b.input(1, 3, 5, 5)
    relu = Epilogue(before=grid(0.25, -3, 3), residual=b.input(1, 4, 5, 5))
    after = fuse_activation(run(b.graph(quantise(b, b.conv(x, 4, epilogue=relu)))))
    assert after.nodes[0].epilogue == replace(relu, after=GRID)


def test_a_layer_on_a_narrower_grid_of_the_same_step_has_nothing_left_to_round() -> None:
    """Else the rounding would be removed again as one that changes nothing, for ever."""
    b = GraphBuilder()
    narrower = Epilogue(before=grid(0.5, -100, 100))
    conv = b.conv(b.input(1, 3, 5, 5), 4, epilogue=narrower)
    before = b.graph(quantise(b, conv))
    assert run(before) is before


def test_what_others_read_and_what_is_no_layer_stays() -> None:
    b = GraphBuilder()
    x = b.input(1, 4, 5, 5)
    shared = b.conv(x, 4)
    before = b.graph(quantise(b, shared), quantise(b, x), shared)
    assert run(before) is before


def test_scales_per_channel_and_32_bits_stay() -> None:
    for encoding in (
        replace(STORED, scale=(0.5,) * 4, zero=(3,) * 4, axis=1),
        replace(integers("int32"), scale=(0.5,), zero=(3,)),
    ):
        b = GraphBuilder()
        before = b.graph(quantise(b, b.conv(b.input(1, 3, 5, 5), 4), encoding))
        assert run(before) is before


def test_of_16_bits_as_of_eight() -> None:
    b = GraphBuilder()
    encoding = replace(integers("int16"), scale=(0.5,), zero=(3,))
    after = run(b.graph(quantise(b, b.conv(b.input(1, 3, 5, 5), 4), encoding)))
    (unary,) = (node for node in after.nodes if node.op == "Unary")
    assert unary.epilogue.before == grid(0.5, -32771.0, 32764.0)
