"""Which aliases the memory planner grants; every map is verified by ``search.memory.check`` as
well."""

from __future__ import annotations

import pytest

from edgeconv.ir.choice import Alias
from edgeconv.search.memory import plan
from tests.memory_choices import Net, granted


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

    def test_of_two_places_in_an_input_one_is_taken(self) -> None:
        net = Net()
        net.input("x", 4)
        net.layer("a", 10, "x")
        places = (Alias("a", "b", "a", 6), Alias("a", "b", "a", 0))
        net.layer("b", 4, "a", aliases=places)
        net.layer("c", 1, "b")
        memory_map = plan(net.choice("c"))
        assert memory_map.granted == {(1, 0)}

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


class TestOverlap:
    """Results that begin before what they are made of, and lie over it where it was read."""

    def network(self, *, later: bool = False, io: str = "arena") -> Net:
        net = Net(io=io)
        net.input("x", 4)
        net.layer("a", 20, "x")
        net.over("b", 40, "a", 24)
        net.layer("c", 2, "b", *(["a"] if later else []))
        return net

    def test_where_most_bytes_are_live(self) -> None:
        choice = self.network().choice("c")
        memory_map = plan(choice)
        assert granted(choice, memory_map, "b") == {"a"}
        assert memory_map.places["a"].offset == memory_map.places["b"].offset + 24
        assert memory_map.arena_bytes == memory_map.lower_bound == 44

    def test_not_where_fewer_bytes_are_live(self) -> None:
        net = self.network()
        net.layer("d", 100, "c")
        net.layer("e", 1, "d")
        choice = net.choice("e")
        assert granted(choice, plan(choice), "b") == set()

    def test_not_over_what_is_read_later(self) -> None:
        choice = self.network(later=True).choice("c")
        assert granted(choice, plan(choice), "b") == set()

    def test_a_callers_input_is_never_written(self) -> None:
        for io, shares in (("caller", set()), ("arena", {"x"})):
            net = Net(io=io)
            net.input("x", 20)
            net.over("b", 40, "x", 24)
            net.layer("c", 2, "b")
            choice = net.choice("c")
            assert granted(choice, plan(choice), "b") == shares

    def test_a_chain_moves_down(self) -> None:
        """Each result a row before its input: a row more than a tensor takes, for each of them."""
        net = Net()
        net.input("x", 1)
        net.layer("a", 40, "x")
        for before, name in zip("abc", "bcd", strict=True):
            net.over(name, 40, before, 5)
        net.layer("y", 1, "d")
        choice = net.choice("y")
        assert plan(choice).arena_bytes == 40 + 3 * 5
