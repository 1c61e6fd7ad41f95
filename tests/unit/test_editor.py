"""The working copy that passes edit."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
import pytest

from edgeconv.ir.check import check
from edgeconv.ir.edit import Editor, is_swept
from edgeconv.ir.graph import Node
from tests.ir_builder import GraphBuilder, assert_same_results, ops


def test_an_untouched_graph_comes_back_as_the_very_same_object() -> None:
    b = GraphBuilder()
    graph = b.graph(b.unary(b.input(1, 2), "relu"))
    editor = Editor(graph)
    assert [editor.node(p).op for p in editor] == ["Unary"]
    assert editor.finish() is graph


def test_readers_and_writers_follow_every_edit() -> None:
    b = GraphBuilder()
    x = b.input(1, 2)
    y = b.unary(x, "relu")
    z = b.binary("add", y, y)
    editor = Editor(b.graph(z))
    assert (editor.readers(x), editor.writer(y), editor.readers(y)) == ([0], 0, [1])
    assert editor.sole_reader(y) is None  # one node, but it reads y twice
    editor.update(1, inputs=(x, y))
    assert (editor.readers(x), editor.sole_reader(y)) == ([0, 1], 1)
    editor.replace(0, None)
    assert editor.readers(x) == [1]
    assert editor.writer(y) is None
    assert editor.producer(y) is None
    with pytest.raises(ValueError, match="was removed"):
        editor.node(0)


def test_a_graph_output_has_no_sole_reader() -> None:
    b = GraphBuilder()
    y = b.unary(b.input(1, 2), "relu")
    editor = Editor(b.graph(y, b.unary(y, "tanh")))
    assert editor.readers(y) == [1]
    assert editor.sole_reader(y) is None


def test_finish_sorts_by_data_flow_and_keeps_the_order_where_it_may() -> None:
    b = GraphBuilder()
    x = b.input(1, 2)
    first = b.unary(x, "relu", out="first")
    second = b.unary(x, "tanh", out="second")
    third = b.unary(x, "exp", out="third")
    sums = b.binary("add", b.binary("add", first, second), third)
    editor = Editor(b.graph(sums))
    editor.update(0, inputs=("late",))
    editor.add_tensor("late", (1, 2), editor.tensors[x])
    editor.insert(2, Node("late", "Unary", (third,), ("late",)))
    after = editor.finish()
    check(after, "test")
    assert [node.output for node in after.nodes[:4]] == ["second", "third", "late", "first"]


def test_a_cycle_is_reported() -> None:
    b = GraphBuilder()
    y = b.unary(b.input(1, 2), "relu")
    z = b.unary(y, "tanh")
    editor = Editor(b.graph(z))
    editor.update(0, inputs=(z,))
    with pytest.raises(ValueError, match="cycle"):
        editor.finish()


def test_sweep_removes_chains_of_dead_nodes_and_unread_constants_but_no_input() -> None:
    b = GraphBuilder()
    x = b.input(1, 2)
    unused = b.input(3)
    y = b.unary(x, "relu")
    dead = b.binary("add", b.unary(x, "tanh"), 2.0)
    editor = Editor(b.graph(y))
    editor.sweep()
    after = editor.finish()
    assert ops(after) == ["Unary"]
    assert set(after.tensors) == {x, unused, y}
    assert dead not in after.tensors


@pytest.mark.parametrize("as_output", [False, True])
def test_bypass_keeps_the_name_that_matters(as_output: bool) -> None:
    b = GraphBuilder()
    y = b.unary(b.input(1, 2), "relu", out="relu")
    copy = b.node("Identity", (y,), (1, 2), out="copy")
    other = b.unary(y, "tanh")
    before = b.graph(copy if as_output else b.unary(copy, "exp"), other)
    editor = Editor(before)
    assert editor.bypass(1)
    after = editor.finish()
    assert_same_results(before, after)
    assert ("copy" in after.tensors) == as_output
    assert ("relu" in after.tensors) != as_output


def test_bypass_refuses_to_wire_an_input_to_an_output() -> None:
    b = GraphBuilder()
    graph = b.graph(b.node("Identity", (b.input(1, 2),), (1, 2)))
    editor = Editor(graph)
    assert not editor.bypass(0)
    assert editor.finish() is graph


def test_absorb_takes_over_outputs_and_origin() -> None:
    b = GraphBuilder()
    y = b.conv(b.input(1, 2, 3, 3), 2)
    z = b.unary(y, "relu")
    editor = Editor(b.graph(z))
    editor.absorb(0, 1, epilogue=editor.node(1).epilogue)
    (node,) = editor.finish().nodes
    assert (node.op, node.output, node.origin) == ("Conv", z, ("n0", "n1"))


def test_names_are_fresh() -> None:
    b = GraphBuilder()
    y = b.unary(b.input(1, 2), "relu", out="y")
    editor = Editor(b.graph(y))
    first = editor.add_constant("y", np.zeros(1))
    second = editor.add_constant("y", np.zeros(1))
    assert (first, second, editor.fresh_node("n0")) == ("y.1", "y.2", "n0.1")


def test_a_pass_over_a_long_chain_takes_linear_time() -> None:
    def seconds(length: int) -> float:
        b = GraphBuilder()
        x = b.input(1, 2)
        for _ in range(length):
            x = b.unary(x, "relu")
        editor = Editor(b.graph(x))
        start = time.process_time()
        for position in list(editor)[:-1]:
            editor.bypass(position)
        assert len(editor.finish().nodes) == 1
        return time.process_time() - start

    short = min(seconds(500) for _ in range(3))
    assert seconds(8000) < 16 * 6 * short + 0.5  # quadratic would be 256 times


def test_what_sweeps_would_remove_is_seen() -> None:
    b = GraphBuilder()
    x = b.input(1, 2)
    y = b.unary(x, "relu")
    swept = b.graph(y)
    assert is_swept(swept)
    b.unary(b.unary(y, "tanh"), "relu")  # which nothing reads
    assert not is_swept(b.graph(y))
    lone = b.graph(y).tensors
    assert not is_swept(replace(swept, tensors=lone))
    assert is_swept(Editor(replace(swept, tensors=lone)).finish())
