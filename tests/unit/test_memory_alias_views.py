"""Concat without copying and tensors that are views of others; every map is verified by
``search.memory.check`` as well."""

from __future__ import annotations

import numpy as np
import pytest

from edgeconv.ir.choice import Alias
from edgeconv.ir.graph import Tensor
from edgeconv.ir.memory import Region
from edgeconv.search.memory import plan
from tests.memory_choices import Net, granted


class TestConcat:
    def test_branches_write_into_the_concat(self) -> None:
        net = Net()
        net.input("x", 10)
        for name in ("a", "b", "c"):
            net.layer(f"{name}0", 5, "x")
            net.layer(f"{name}1", 4, f"{name}0")
        net.concat("all", "a1", "b1", "c1")
        net.layer("y", 1, "all")
        choice = net.choice("y")
        memory_map = plan(choice)
        assert granted(choice, memory_map, "all") == {"a1", "b1", "c1"}
        offset = memory_map.places["all"].offset
        assert [memory_map.places[n].offset - offset for n in ("a1", "b1", "c1")] == [0, 4, 8]
        assert memory_map.arena_bytes == 10 + 8 + 5  # two results wait while the third is made

    def test_the_same_tensor_twice(self) -> None:
        net = Net()
        net.input("x", 10)
        net.layer("a", 4, "x")
        net.concat("twice", "a", "a")
        choice = net.choice("twice")
        memory_map = plan(choice)
        assert len(memory_map.granted) == 1
        assert memory_map.lower_bound == 14

    def test_not_for_a_callers_input(self) -> None:
        net = Net(io="caller")
        net.input("x", 10)
        net.layer("a", 4, "x")
        net.concat("c", "x", "a")
        net.layer("y", 1, "c")
        choice = net.choice("y")
        assert granted(choice, plan(choice), "c") == {"a"}

    def test_a_constant_part_is_copied(self) -> None:
        net = Net()
        net.input("x", 10)
        net.layer("a", 4, "x")
        net.tensors["w"] = Tensor("w", (3,), "int8", data=np.zeros(3, np.int8))
        net.concat("c", "a", "w")
        choice = net.choice("c")
        memory_map = plan(choice)
        assert granted(choice, memory_map, "c") == {"a"}
        assert "w" not in memory_map.places

    @pytest.mark.parametrize("nested", [False, True])
    def test_prefix_concats_of_densenet_share_one_block(self, nested: bool) -> None:
        net = Net()
        net.input("x", 6)
        features = [net.layer("f0", 6, "x")]
        whole = "f0"
        for i in range(1, 6):
            features.append(net.layer(f"f{i}", 2, whole))
            parts = (whole, features[-1]) if nested else tuple(features)
            whole = net.concat(f"cat{i}", *parts)
        choice = net.choice(whole)
        memory_map = plan(choice)
        assert len(memory_map.granted) == sum(len(layer.aliases) for layer in choice.layers)
        assert memory_map.arena_bytes == 16

    def test_overlapping_concats_form_a_chain(self) -> None:
        net = Net()
        net.input("x", 1)
        for name in ("a", "b", "c"):
            net.layer(name, 5, "x")
        net.concat("ab", "a", "b")
        net.concat("bc", "b", "c")
        net.layer("y", 1, "ab", "bc")
        choice = net.choice("y")
        memory_map = plan(choice)
        assert len(memory_map.granted) == 4
        assert memory_map.lower_bound == 16

    def test_a_tensor_in_two_conflicting_concats_lies_in_one(self) -> None:
        net = Net()
        net.input("x", 1)
        for name in ("a", "b", "c"):
            net.layer(name, 5, "x")
        net.concat("ab", "a", "b")
        net.concat("cb", "c", "b")
        net.layer("y", 1, "ab", "cb")
        choice = net.choice("y")
        memory_map = plan(choice)
        assert granted(choice, memory_map, "ab") == {"a", "b"}
        assert granted(choice, memory_map, "cb") == {"c"}

    def test_conflicting_positions_are_fine_once_the_first_concat_is_dead(self) -> None:
        """The nested skips of UNet++: x01 takes the place that up10 had in the first concat."""
        net = Net()
        net.input("x", 1)
        net.layer("x00", 5, "x")
        net.layer("up10", 5, "x00")
        net.concat("cat1", "x00", "up10")
        net.layer("mid", 5, "cat1")
        net.layer("x01", 5, "mid")
        net.layer("up11", 5, "x01")
        net.concat("cat2", "x00", "x01", "up11")
        choice = net.choice("cat2")
        memory_map = plan(choice)
        assert len(memory_map.granted) == 5
        assert memory_map.places["x01"].offset == memory_map.places["up10"].offset

    def test_bytes_of_a_late_part_are_free_before(self) -> None:
        net = Net()
        net.input("x", 1)
        net.layer("early", 4, "x")
        net.layer("big", 20, "early")
        net.layer("late", 20, "big")
        net.layer("last", 4, "late")
        net.concat("c", "early", "late", "last")
        choice = net.choice("c")
        memory_map = plan(choice)
        assert len(memory_map.granted) == 3
        assert memory_map.arena_bytes == memory_map.lower_bound == 44  # early, big and late


class TestView:
    def test_outlives_its_tensor_with_its_own_bytes_only(self) -> None:
        net = Net()
        net.input("x", 1)
        net.layer("whole", 30, "x")
        net.view("part", "whole", 10, 5)
        net.layer("other", 25, "part")
        net.layer("y", 1, "part", "other")
        choice = net.choice("y")
        memory_map = plan(choice)
        assert granted(choice, memory_map, "part") == {"whole"}
        assert memory_map.lower_bound == 31

    def test_of_a_callers_input(self) -> None:
        net = Net(align=16, io="caller")
        net.input("w", 5)
        net.input("x", 40)
        net.view("part", "x", 12, 20)
        net.view("part_of_part", "part", 3, 4)
        net.layer("y", 1, "w", "part_of_part")
        choice = net.choice("y")
        memory_map = plan(choice)
        place = memory_map.places["part_of_part"]
        assert (place.region, place.index, place.offset) == (Region.INPUT, 1, 15)
        assert memory_map.arena_bytes == 0

    def test_of_a_callers_input_as_graph_output_is_a_copy(self) -> None:
        net = Net(io="caller")
        net.input("x", 10)
        net.view("y", "x")
        choice = net.choice("y")
        memory_map = plan(choice)
        assert memory_map.granted == frozenset()
        assert memory_map.places["y"].region is Region.OUTPUT

    def test_two_graph_outputs_are_two_buffers(self) -> None:
        net = Net(io="caller")
        net.input("x", 10)
        net.layer("a", 10, "x")
        net.view("b", "a")
        choice = net.choice("a", "b")
        memory_map = plan(choice)
        assert memory_map.granted == frozenset()
        assert [memory_map.places[n].index for n in "ab"] == [0, 1]

    def test_flatten_at_the_end_lies_in_the_callers_output(self) -> None:
        net = Net(io="caller")
        net.input("x", 10)
        net.layer("a", 8, "x")
        net.view("y", "a")
        choice = net.choice("y")
        memory_map = plan(choice)
        assert memory_map.places["a"].region is Region.OUTPUT
        assert memory_map.granted == {(1, 0)}
        assert memory_map.arena_bytes == 0

    def test_a_slice_of_a_larger_tensor_at_the_end_is_a_copy(self) -> None:
        for offset in (0, 2):
            net = Net(io="caller")
            net.input("x", 10)
            net.layer("a", 8, "x")
            net.view("y", "a", offset, 6)
            choice = net.choice("y")
            memory_map = plan(choice)
            assert memory_map.granted == frozenset()
            assert memory_map.places["a"].region is Region.ARENA

    def test_in_place_at_the_end_lies_in_the_callers_output(self) -> None:
        net = Net(align=8, io="caller")
        net.input("x", 10)
        net.layer("logits", 10, "x")
        net.in_place("softmax", "logits")
        choice = net.choice("softmax")
        memory_map = plan(choice)
        assert memory_map.places["logits"].region is Region.OUTPUT
        assert memory_map.arena_bytes == 0

    def test_in_place_does_not_force_a_larger_input_into_the_output(self) -> None:
        net = Net(align=8, io="caller")
        net.input("x", 10)
        net.layer("a", 10, "x")
        net.layer("y", 9, "a", aliases=(Alias("a", "y", "a"),))
        choice = net.choice("y")
        memory_map = plan(choice)
        assert memory_map.granted == frozenset()
        assert memory_map.places["a"].region is Region.ARENA

    def test_a_callers_buffer_is_aligned_for_its_own_type_only(self) -> None:
        net = Net(align=8, io="caller")
        net.input("x", 8)
        net.layer("a", 8, "x", dtype="float32")
        net.layer("y", 8, "a", aliases=(Alias("a", "y", "a"),))
        memory_map = plan(net.choice("y"))
        assert memory_map.granted == frozenset()
        assert memory_map.places["a"].region is Region.ARENA

    def test_a_graph_output_may_be_read_later(self) -> None:
        net = Net(io="caller")
        net.input("x", 10)
        net.layer("a", 10, "x")
        net.layer("b", 10, "a")
        net.layer("c", 10, "a", "b")
        memory_map = plan(net.choice("a", "c"))
        place = memory_map.places["a"]
        assert (place.region, place.first, place.last) == (Region.OUTPUT, 0, 3)
        assert memory_map.arena_bytes == 10
