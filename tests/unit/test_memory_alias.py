"""Which aliases the memory planner grants; every map is verified by ``memory.check`` as well."""

from __future__ import annotations

import numpy as np
import pytest

from edgeconv.ir.choice import Alias, Choice
from edgeconv.ir.graph import Tensor
from edgeconv.ir.memory import MemoryMap, Region
from edgeconv.memory import plan
from tests.memory_choices import Net


def granted(choice: Choice, memory_map: MemoryMap, output: str) -> set[str]:
    """The inputs with which the layer that writes ``output`` shares bytes."""
    return {
        choice.layers[i].aliases[k].input
        for i, k in memory_map.granted
        if choice.layers[i].node.output == output
    }


class TestInPlace:
    def test_overwrites_an_input_that_dies(self) -> None:
        net = Net()
        net.input("x", 8)
        net.layer("a", 10, "x")
        net.in_place("b", "a")
        net.layer("c", 1, "b")
        choice = net.choice("c")
        memory_map = plan(choice)
        assert granted(choice, memory_map, "b") == {"a"}
        assert memory_map.places["a"].offset == memory_map.places["b"].offset
        assert memory_map.arena_bytes == 18

    def test_residual_needs_two_buffers(self) -> None:
        net = Net()
        net.input("x", 10)
        net.layer("main", 10, "x")
        net.in_place("sum", "x", "main", "x")
        choice = net.choice("sum")
        memory_map = plan(choice)
        assert granted(choice, memory_map, "sum") == {"x"}
        assert memory_map.arena_bytes == 20

    def test_not_when_read_later(self) -> None:
        net = Net()
        net.input("x", 10)
        net.layer("a", 10, "x")
        net.in_place("b", "a")
        net.layer("c", 10, "a", "b")
        choice = net.choice("c")
        assert granted(choice, plan(choice), "b") == set()

    def test_not_over_a_graph_output(self) -> None:
        net = Net()
        net.input("x", 10)
        net.layer("a", 10, "x")
        net.in_place("b", "a")
        choice = net.choice("a", "b")
        assert granted(choice, plan(choice), "b") == set()

    @pytest.mark.parametrize(("io", "shares"), [("caller", set()), ("arena", {"x"})])
    def test_a_callers_input_is_never_written(self, io: str, shares: set[str]) -> None:
        net = Net(io=io)
        net.input("x", 10)
        net.in_place("a", "x")
        net.layer("b", 1, "a")
        choice = net.choice("b")
        assert granted(choice, plan(choice), "a") == shares

    def test_not_when_the_layer_reads_it_twice(self) -> None:
        net = Net()
        net.input("x", 10)
        net.layer("a", 10, "x")
        net.in_place("b", "a", "a", "a")
        choice = net.choice("b")
        assert granted(choice, plan(choice), "b") == set()

    def test_not_when_another_input_shares_its_bytes(self) -> None:
        net = Net()
        net.input("x", 10)
        net.layer("a", 10, "x")
        net.view("v", "a", 2, 5)
        net.in_place("b", "a", "a", "v")
        choice = net.choice("b")
        memory_map = plan(choice)
        assert granted(choice, memory_map, "v") == {"a"}
        assert granted(choice, memory_map, "b") == set()

    def test_not_over_bytes_that_a_live_concat_holds(self) -> None:
        net = Net()
        net.input("x", 10)
        net.layer("a", 10, "x")
        net.layer("b", 10, "x")
        net.concat("c", "a", "b")
        net.layer("after", 1, "c")
        net.in_place("d", "a", "a", "after")
        net.layer("y", 1, "c", "d")
        choice = net.choice("y")
        memory_map = plan(choice)
        assert granted(choice, memory_map, "c") == {"a", "b"}
        assert granted(choice, memory_map, "d") == set()

    def test_over_a_slice_whose_concat_is_dead(self) -> None:
        net = Net()
        net.input("x", 4)
        net.layer("whole", 20, "x")
        net.view("left", "whole", 0, 10)
        net.view("right", "whole", 10, 10)
        net.in_place("new", "right")
        net.concat("again", "left", "new")
        choice = net.choice("again")
        memory_map = plan(choice)
        assert len(memory_map.granted) == 5
        assert memory_map.arena_bytes == 24

    def test_output_must_fit_the_rounded_input(self) -> None:
        for size, shares in ((16, {"a"}), (17, set())):
            net = Net(align=8)
            net.input("x", 4)
            net.layer("a", 9, "x")
            net.layer("b", size, "a", aliases=(Alias("a", "b", "a"),))
            net.layer("c", 1, "b")
            choice = net.choice("c")
            assert granted(choice, plan(choice), "b") == shares

    def test_elements_stay_aligned(self) -> None:
        net = Net(align=8)
        net.input("x", 4)
        net.layer("whole", 9, "x")
        net.view("odd", "whole", 1, 8)
        alias = Alias("odd", "floats", "odd")
        net.layer("floats", 8, "odd", aliases=(alias,), dtype="float32")
        net.layer("y", 1, "floats")
        choice = net.choice("y")
        assert granted(choice, plan(choice), "floats") == set()


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


class TestArena:
    def test_inputs_and_outputs_are_ordinary_tensors(self) -> None:
        net = Net(io="arena")
        net.input("x", 30)
        net.layer("a", 10, "x")
        net.layer("y", 30, "a")
        memory_map = plan(net.choice("y"))
        assert memory_map.arena_bytes == 40  # y takes the place of x
        assert memory_map.places["x"].first == -1
        assert memory_map.places["y"].last == 2

    def test_outputs_may_share_bytes(self) -> None:
        net = Net(io="arena")
        net.input("x", 10)
        net.view("a", "x", 0, 6)
        net.view("b", "x", 3, 7)
        memory_map = plan(net.choice("a", "b"))
        assert len(memory_map.granted) == 2
        assert memory_map.arena_bytes == 10

    def test_unread_inputs_and_results_need_a_place(self) -> None:
        net = Net(io="arena")
        net.input("x", 10)
        net.input("unused", 4)
        net.layer("dropped", 9, "x")
        net.layer("y", 3, "x")
        memory_map = plan(net.choice("y"))
        assert memory_map.lower_bound == 19

    def test_workspace_counts_in_its_step_and_is_rounded(self) -> None:
        net = Net(align=8, io="arena")
        net.input("x", 7)
        net.layer("a", 9, "x", workspace=17)
        net.layer("y", 1, "a")
        memory_map = plan(net.choice("y"))
        assert memory_map.arena_bytes == 8 + 16 + 24
        assert memory_map.workspaces[0].bytes == 17
        assert (memory_map.workspaces[0].first, memory_map.workspaces[0].last) == (0, 0)

    def test_everything_unaliased_is_aligned(self) -> None:
        net = Net(align=64, io="arena")
        net.input("x", 7)
        for i in range(5):
            net.layer(f"a{i}", 11 * i + 1, "x")
        net.layer("y", 1, *(f"a{i}" for i in range(5)))
        memory_map = plan(net.choice("y"))
        assert all(place.offset % 64 == 0 for place in memory_map.places.values())
        assert memory_map.arena_bytes % 64 == 0
