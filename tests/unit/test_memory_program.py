"""Inconsistent choices are defects of the tool, named before anything is planned."""

from __future__ import annotations

import pytest

from edgeconv.ir.check import InvariantError
from edgeconv.ir.choice import Alias
from edgeconv.ir.graph import Tensor
from edgeconv.ir.layout import blocked
from edgeconv.search.memory import plan
from tests.memory_choices import Net


def test_alias_that_leaves_the_outer_tensor() -> None:
    net = Net()
    net.input("x", 10)
    net.view("y", "x", 5, 6)
    with pytest.raises(InvariantError, match="leaves the outer tensor"):
        plan(net.choice("y"))


def test_alias_of_other_tensors() -> None:
    net = Net()
    net.input("x", 10)
    net.layer("a", 10, "x")
    net.layer("y", 10, "x", "a", aliases=(Alias("x", "a", "x", exact=True),))
    with pytest.raises(InvariantError, match="not of an input and an output"):
        plan(net.choice("y"))


def test_input_as_output_needs_a_copy() -> None:
    net = Net(io="caller")
    net.input("x", 10)
    with pytest.raises(InvariantError, match="two of the caller's buffers"):
        plan(net.choice("x"))


def test_order_of_layers() -> None:
    net = Net()
    net.input("x", 10)
    net.layer("a", 10, "x")
    net.layer("b", 10, "a")
    net.layers.reverse()
    with pytest.raises(InvariantError, match="reads 'a' before it is written"):
        plan(net.choice("b"))


def test_two_layers_write_one_tensor() -> None:
    net = Net()
    net.input("x", 10)
    net.layer("y", 10, "x")
    net.layer("y", 10, "x")
    with pytest.raises(InvariantError, match="writes 'y' a second time"):
        plan(net.choice("y"))


def test_missing_output() -> None:
    net = Net()
    net.input("x", 10)
    net.tensor("y", 10)
    with pytest.raises(InvariantError, match="'y' is never written"):
        plan(net.choice("y"))


def test_padded_layout_in_a_callers_buffer() -> None:
    net = Net(io="caller")
    net.input("x", 10)
    net.layer("y", 3, "x")
    net.tensors["y"] = Tensor("y", (1, 3, 1, 1), "int8", blocked(8))
    with pytest.raises(InvariantError, match="padded"):
        plan(net.choice("y"))


def test_alignment_smaller_than_an_element() -> None:
    net = Net(align=2)
    net.input("x", 8, "float32")
    net.layer("y", 3, "x")
    with pytest.raises(InvariantError, match="align 2 misaligns 'x'"):
        plan(net.choice("y"))


def test_unknown_io() -> None:
    net = Net(io="stack")
    net.input("x", 10)
    net.layer("y", 3, "x")
    with pytest.raises(InvariantError, match="'stack'"):
        plan(net.choice("y"))
