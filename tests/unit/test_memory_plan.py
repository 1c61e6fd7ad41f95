"""Whole plans, executed byte by byte by an interpreter that knows nothing of the planner."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings

from edgeconv.ir.choice import Alias, Choice, Layer
from edgeconv.ir.graph import KEEP
from edgeconv.ir.memory import MemoryMap, Place, Region
from edgeconv.ir.states import states_apart
from edgeconv.ir.step import Step
from edgeconv.search.memory import plan
from edgeconv.search.memory.banks import Bank
from edgeconv.search.memory.plan import forget
from tests.examples import examples
from tests.memory_choices import Net
from tests.memory_strategies import choices

Bytes = npt.NDArray[np.int64]  # one number per byte: no two bytes ever made have the same one


class Machine:
    """Runs a program: every byte that a layer makes gets a new number."""

    def __init__(self, choice: Choice, memory_map: MemoryMap) -> None:
        self.choice, self.map = choice, memory_map
        self.next = 1
        self.values: dict[str, Bytes] = {}  # what a tensor must hold
        graph = choice.graph
        self.memory = {(Region.ARENA, 0): np.zeros(memory_map.arena_bytes, np.int64)}
        ports = (Region.INPUT, graph.input_ports), (Region.OUTPUT, graph.output_ports)
        for region, names in ports:
            for index, name in enumerate(names):
                size = memory_map.places[name].bytes
                self.memory[region, index] = np.zeros(size, np.int64)

    def at(self, place: Place) -> Bytes:
        memory = self.memory[place.region, place.index]
        assert 0 <= place.offset <= place.offset + place.bytes <= len(memory)
        return memory[place.offset : place.offset + place.bytes]

    def fresh(self, size: int) -> Bytes:
        self.next += size
        return np.arange(self.next - size, self.next)

    def holds(self, name: str) -> bool:
        return bool(np.array_equal(self.at(self.map.places[name]), self.values[name]))

    def run(self) -> None:
        """Twice where there are states, with garbage in all other bytes of the arena between."""
        self.run_once({})
        if kept := {s.input: self.values[s.output] for s in self.choice.graph.states}:
            self.memory[Region.ARENA, 0][:] = self.fresh(self.map.arena_bytes)
            for name, value in kept.items():
                self.at(self.map.places[name])[:] = value
            self.run_once(kept)

    def run_once(self, kept: Mapping[str, Bytes]) -> None:
        for name in self.choice.graph.inputs:
            place = self.map.places[name]
            self.values[name] = self.at(place)[:] = kept.get(name, self.fresh(place.bytes))
        inputs = {key: m.copy() for key, m in self.memory.items() if key[0] is Region.INPUT}
        steps = {step.layers[0]: step for step in self.choice.steps}
        for index in self.map.order:
            if index in steps:
                self.run_step(steps[index])
        assert all(self.holds(name) for name in self.choice.graph.outputs)
        assert all(np.array_equal(self.memory[key], m) for key, m in inputs.items())

    def run_step(self, step: Step) -> None:
        for index in step.layers:
            self.execute(index, self.choice.layers[index])

    def execute(self, index: int, layer: Layer) -> None:
        """Read the inputs, make the output, and see what is left of the inputs meanwhile."""
        reads, output = layer.node.reads(), layer.node.output
        assert all(self.holds(name) for name in reads)
        place = self.map.places[output]
        value, written = self.fresh(place.bytes), np.ones(place.bytes, bool)
        overwritten = set()
        if layer.node.op == KEEP:  # moves
            overwritten |= {*reads}
        for k, alias in enumerate(layer.aliases):
            granted = (index, k) in self.map.granted
            if alias.exact:
                self.make_exact(alias, output, value, written, granted)
            elif granted:
                overwritten.add(alias.input)
        self.at(place)[written] = value[written]
        self.values[output] = value
        if index in self.map.workspaces:
            scratch = self.at(self.map.workspaces[index])
            scratch[:] = self.fresh(len(scratch))
        assert self.holds(output)
        assert all(self.holds(name) for name in reads if name not in overwritten)
        assert len(overwritten) <= 1

    def make_exact(
        self, alias: Alias, output: str, value: Bytes, written: npt.NDArray[np.bool_], granted: bool
    ) -> None:
        """Values that equal an input's; they need no writing where the alias is granted."""
        source = self.values[alias.input]
        if alias.inner == output:
            value[:] = source[alias.offset : alias.offset + len(value)]
            part = slice(0, len(value))
        else:
            part = slice(alias.offset, alias.offset + len(source))
            value[part] = source
        if granted:
            written[part] = False


def assert_consistent(choice: Choice, memory_map: MemoryMap) -> None:
    Machine(choice, memory_map).run()
    assert memory_map.arena_bytes >= memory_map.lower_bound
    if choice.io == "arena":
        assert {place.region for place in memory_map.places.values()} == {Region.ARENA}


@settings(max_examples=examples(300))
@given(choices(max_layers=12, over=True))
def test_random_programs(choice: Choice) -> None:
    """``plan`` runs ``check`` itself; the machine must agree."""
    assert_consistent(choice, plan(choice))


@settings(max_examples=examples(300))
@given(choices(max_layers=9, over=True, states=True))
def test_random_programs_with_states(choice: Choice) -> None:
    memory_map = plan(choice)
    assert_consistent(choice, memory_map)
    for state in choice.graph.states:
        before, after = (memory_map.places[name] for name in (state.input, state.output))
        assert (before.offset, before.bank) == (after.offset, after.bank)
        assert before.last < after.first
    if choice.states_apart:
        sizes = [memory_map.places[state.input].bytes for state in choice.graph.states]
        own = sum(-(-size // choice.align) * choice.align for size in sizes)
        assert states_apart(choice.graph, memory_map) == own


def test_a_window_lies_over_its_state() -> None:
    """A window of 12 bytes that moves by 4 takes 12, and not 8 more for its state."""
    net = Net(align=4)
    net.concat("window", net.input("s", 8), net.input("x", 4))
    net.view("s/new", "window", 4, 8)
    net.layer("y", 4, "window")
    net.keep("s", "s/new")
    memory_map = plan(net.choice("y"))
    assert memory_map.arena_bytes == memory_map.lower_bound == 16
    assert memory_map.places["window"].offset == memory_map.places["s"].offset


def test_a_state_apart_is_no_part_of_its_window() -> None:
    """It takes 8 bytes of its own, and the window lies elsewhere."""
    net = Net(align=4)
    net.concat("window", net.input("s", 8), net.input("x", 4))
    net.view("s/new", "window", 4, 8)
    net.layer("y", 4, "window")
    net.keep("s", "s/new", window=True)
    choice = replace(net.choice("y"), states_apart=True)
    memory_map = plan(choice)
    assert memory_map.arena_bytes == memory_map.lower_bound == 8 + 16
    assert states_apart(choice.graph, memory_map) == 8


def test_a_state_is_computed_in_its_place() -> None:
    net = Net(align=4)
    net.input("s", 8)
    net.layer("y", 4, "s", net.input("x", 4))
    net.in_place("s/new", "s")
    net.keep("s", "s/new")
    choice = net.choice("y")
    memory_map = plan(choice)
    assert memory_map.arena_bytes == 16
    assert (2, 0) in memory_map.granted  # nothing moves


@settings(max_examples=10)
@given(choices(max_layers=30))
def test_same_choice_same_map(choice: Choice) -> None:
    first = plan(choice)
    forget()
    assert plan(choice) == first


def test_empty_program() -> None:
    net = Net(io="arena")
    net.input("x", 5)
    memory_map = plan(net.choice())
    assert (memory_map.order, memory_map.arena_bytes) == ((), 5)


def test_program_without_arena() -> None:
    net = Net(io="caller")
    net.input("x", 5)
    net.layer("y", 5, "x")
    memory_map = plan(net.choice("y"))
    assert (memory_map.arena_bytes, memory_map.lower_bound, memory_map.optimal) == (0, 0, True)


def densenet(io: str, side: int) -> Choice:
    """The structure of DenseNet-121, unfused, ``side`` x ``side`` pixels after the stem."""
    pixels = side * side
    net = Net(align=64, io=io)
    last = net.layer("stem", 64 * pixels * 4, net.input("x", 3 * 16 * pixels * 4))
    channels = 64
    for stage, depth in enumerate((6, 12, 24, 16)):
        features = [last]
        for i in range(depth):
            name = f"s{stage}l{i}"
            whole = net.concat(f"{name}cat", *features) if i else last
            bn = net.in_place(f"{name}bn", whole)
            thin = net.layer(f"{name}1x1", 128 * pixels * 4, net.in_place(f"{name}relu", bn))
            relu = net.in_place(f"{name}relu2", net.in_place(f"{name}bn2", thin))
            features.append(net.layer(f"{name}3x3", 32 * pixels * 4, relu, workspace=4096))
        channels = (channels + 32 * depth) // 2
        whole = net.concat(f"s{stage}cat", *features)
        pixels //= 4
        last = net.layer(f"s{stage}down", channels * pixels * 4, whole)
    net.view("flat", last)
    net.in_place("softmax", "flat")
    return net.choice("softmax")


@pytest.mark.parametrize("io", ["caller", "arena"])
def test_densenet_meets_its_bound_quickly(io: str) -> None:
    choice = densenet(io, side=56)
    start = time.process_time()
    memory_map = plan(choice)
    assert time.process_time() - start < 5
    assert memory_map.arena_bytes == memory_map.lower_bound
    for i, layer in enumerate(choice.layers):
        exact = [alias for alias in layer.aliases if alias.exact]
        assert all((i, layer.aliases.index(alias)) in memory_map.granted for alias in exact)


def test_densenet_runs() -> None:
    choice = densenet("arena", side=8)
    assert_consistent(choice, plan(choice))


Chain = tuple[int, tuple[tuple[int, int], ...]]
# Bytes of an input, then of each result, and how far before what it reads it may lie.
STAIRCASES: tuple[Chain, ...] = (
    (38, ((80, 10), (40, 40), (80, 40), (60, 10), (100, 5), (100, 5), (20, 40), (80, 10))),
    (40, ((20, 40), (80, 10), (20, 5), (100, 40), (100, 5), (40, 5), (80, 40), (100, 40))),
)


def chain_over(chain: Chain, offered: tuple[bool, ...]) -> Choice:
    """Layers one after the other, of which those ``offered`` may write over what they read."""
    net, (size, results) = Net(), chain
    read = net.input("x", size)
    for i, ((size, apart), over) in enumerate(zip(results, offered, strict=True)):
        read = net.over(f"t{i}", size, read, apart) if over else net.layer(f"t{i}", size, read)
    return net.choice(read)


@pytest.mark.parametrize("chain", STAIRCASES, ids=["rising", "falling"])
def test_overlaps_that_make_a_staircase_are_given_up(chain: Chain) -> None:
    """The smallest arena of every set of overlaps, which is smaller than without any."""
    count = len(chain[1])
    every = {
        offered: plan(chain_over(chain, offered)).arena_bytes
        for offered in product((False, True), repeat=count)
    }
    found = plan(chain_over(chain, (True,) * count))
    assert found.arena_bytes == min(every.values()) < every[(False,) * count]


def test_a_program_is_laid_out_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever its memories are; another is planned for itself."""
    module = sys.modules["edgeconv.search.memory.plan"]
    orders: list[object] = []

    def counted(own: Any) -> Any:
        orders.append(own.order)
        return improve(own)

    improve = vars(module)["_improve"]
    monkeypatch.setattr(module, "_improve", counted)
    first, second = (small(size) for size in (4, 5))
    banks = Bank("fast", 6, 0.0), Bank("slow", None, 1.0)
    made = [plan(small(4)), plan(first, banks), plan(first, banks[1:]), plan(first)]
    assert len(orders) == 1
    assert made[0] == made[3]
    assert [len(each.banks) for each in made] == [1, 2, 1, 1]
    assert plan(second).arena_bytes > made[0].arena_bytes
    assert len(orders) == 2


def small(size: int) -> Choice:
    """Two layers after each other."""
    net = Net()
    net.layer("b", size, net.layer("a", size, net.input("x", size)))
    return net.choice("b")
