"""Loops over strided tensors, and the order in which kernel headers are merged."""

from __future__ import annotations

import graphlib
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeconv.base.errors import EdgeconvError
from edgeconv.ir.activation import Activation
from edgeconv.ir.graph import Epilogue, Node
from edgeconv.ir.layout import CHANNELS_LAST, ROW_MAJOR, Layout, blocked
from edgeconv.kernels.lowering.calls import activation_headers, merge_headers
from edgeconv.kernels.lowering.moves import Move, plan_move
from edgeconv.kernels.lowering.nest import (
    MOST_LOOPS,
    broadcast_strides,
    collapse,
    dense_strides,
    logical_strides,
    require_loops,
)

SIZES = st.lists(st.integers(1, 4), min_size=0, max_size=5)


def offsets(sizes: tuple[int, ...], *strides: tuple[int, ...]) -> list[tuple[int, ...]]:
    """Where every round of the loops is, in every tensor, in the order of execution."""
    rounds = product(*(range(size) for size in sizes))
    return [
        tuple(sum(i * step for i, step in zip(at, steps, strict=True)) for steps in strides)
        for at in rounds
    ]


@given(SIZES, st.data())
def test_collapsed_loops_visit_the_same_elements_in_the_same_order(
    sizes: list[int], data: st.DataObject
) -> None:
    dense = dense_strides(sizes)
    kept = data.draw(st.tuples(*(st.booleans() for _ in sizes)))
    partly = tuple(step if keep else 0 for step, keep in zip(dense, kept, strict=True))
    nest = collapse(sizes, dense, partly)
    assert offsets(nest.sizes, *nest.strides) == offsets(tuple(sizes), dense, partly)
    assert len(nest.sizes) <= max(1, sum(size > 1 for size in sizes))


@given(SIZES)
def test_a_dense_array_is_one_loop(sizes: list[int]) -> None:
    move = plan_move(sizes, dense_strides(sizes), dense_strides(sizes))
    assert move.is_block
    assert move == Move((int(np.prod(sizes)),), move.in_strides, move.out_strides)


@given(st.permutations(range(4)))
def test_a_move_writes_in_memory_order(perm: list[int]) -> None:
    shape = (2, 3, 4, 5)
    strides = dense_strides(shape)
    out = dense_strides([shape[d] for d in perm])
    move = plan_move([shape[d] for d in perm], [strides[d] for d in perm], out)
    source = np.arange(120)
    target = np.zeros(120, int)
    written = offsets(move.sizes, move.in_strides, move.out_strides)
    for read, write in written:
        target[write] = source[read]
    assert (target == source.reshape(shape).transpose(perm).ravel()).all()
    assert [write for _, write in written] == list(range(120))


@pytest.mark.parametrize("layout", [ROW_MAJOR, CHANNELS_LAST, blocked(4)], ids=str)
@pytest.mark.parametrize("shape", [(2, 6, 3, 5), (1, 6, 1, 1), (2, 1, 3, 5), (3, 5), (1,)])
def test_broadcast_strides_agree_with_numpy(layout: Layout, shape: tuple[int, ...]) -> None:
    out = (2, 6, 3, 5)
    full = (1,) * (len(out) - len(shape)) + shape
    own = ROW_MAJOR if full[1] == 1 else layout
    operand = np.arange(int(np.prod(shape))).reshape(full)
    expected = layout.pack(np.broadcast_to(operand + 1, out)).ravel()
    memory = own.pack(operand + 1).ravel()
    given_shape = shape if len(shape) == 4 else full if own == layout else shape
    strides = broadcast_strides(given_shape, own, out, layout)
    read = [memory[at] for (at,) in offsets(layout.physical_shape(out), strides)]
    real = layout.pack(np.ones(out, int)).ravel() == 1
    assert (np.array(read)[real] == expected[real]).all()


def test_a_blocked_tensor_has_no_channel_stride() -> None:
    assert logical_strides((2, 3, 4, 5), CHANNELS_LAST) == (60, 1, 15, 3)
    with pytest.raises(ValueError, match="channel stride"):
        logical_strides((2, 3, 4, 5), blocked(4))


def test_too_many_loops_name_the_node() -> None:
    node = Node("shuffle", "Transpose", ("x",), ("y",))
    require_loops(node, MOST_LOOPS)
    with pytest.raises(EdgeconvError, match=r"Transpose: shuffle: got 9 dimensions"):
        require_loops(node, MOST_LOOPS + 1)


def test_headers_are_merged_in_an_order_that_suits_all() -> None:
    merged = merge_headers([("a.h", "z.h"), ("b.h", "z.h"), ("c.h", "b.h"), ()])
    assert sorted(merged) == ["a.h", "b.h", "c.h", "z.h"]
    assert merged.index("c.h") < merged.index("b.h") < merged.index("z.h")
    with pytest.raises(graphlib.CycleError):
        merge_headers([("a.h", "b.h"), ("b.h", "a.h")])


def test_functions_come_first_and_in_one_order() -> None:
    """A Pow reads a logarithm beside an exponential, a Log has it before its epilogue: merged lists
    of layers must not contradict each other."""
    epilogue = ("ec_lanes.h", "ec_activation.h", "ec_epilogue.h")
    functions = ("ec_poly.h", "ec_exp.h", "ec_log.h", "ec_pow.h", "ec_binary.h")
    power = merge_headers([(*epilogue, "ec_nest.h", "ec_binary.h"), functions])
    log = merge_headers([("ec_poly.h", "ec_log.h", *epilogue, "ec_unary.h")])
    both = merge_headers([("ec_poly.h", "ec_log.h", *epilogue), ("ec_poly.h", "ec_exp.h")])
    assert power[: len(functions) - 1] == functions[:-1]
    for layers in ([power, log, both], [both, log, power]):
        merged = merge_headers(layers)
        assert merged[:4] == functions[:4]
        assert merged.index("ec_epilogue.h") < merged.index("ec_unary.h")


def test_an_epilogue_brings_only_the_functions_it_uses() -> None:
    assert activation_headers(Epilogue()) == ("ec_lanes.h", "ec_activation.h", "ec_epilogue.h")
    needed = activation_headers(Epilogue(Activation("tanh"), "", Activation("log")))
    assert needed[-2:] == ("ec_activation.h", "ec_epilogue.h")
    assert set(needed) >= {"ec_tanh.h", "ec_expm1.h", "ec_exp.h", "ec_log.h", "ec_poly.h"}
    assert "ec_sigmoid.h" not in needed
