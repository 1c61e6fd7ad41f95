"""Steps of several layers: which rows they call for, and plans in which they take turns."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeconv.ir.check import InvariantError
from edgeconv.ir.choice import Alias, Choice
from edgeconv.ir.memory import MemoryMap, Place
from edgeconv.ir.step import Divides, Step, alone, calls, least_rings
from edgeconv.memory import plan
from edgeconv.memory.check import check
from edgeconv.memory.program import of_choice
from tests.memory_choices import Link, Net, granted
from tests.memory_strategies import choices, links
from tests.unit.test_memory_plan import Bytes, Machine

CONV = Divides(rows=8, reach=3, stride=1, pad=1)  # 3x3
HALF = Divides(rows=4, reach=3, stride=2, pad=1)


class Turns(Machine):
    """A machine that computes rows, of the first worker of each step."""

    def run_step(self, step: Step) -> None:
        if not step.turn:
            self.execute(step.layers[0], self.choice.layers[step.layers[0]])
            return
        layers = [self.choice.layers[i] for i in step.layers]
        divides = [layer.divides for layer in layers if layer.divides]
        tensors = [self.choice.graph[layer.node.output] for layer in layers]
        for own, tensor in zip(divides, tensors, strict=True):
            self.values[tensor.name] = self.fresh(own.rows * tensor.shape[1])
        for number, row0, row1 in calls(divides, [t.ring for t in tensors[:-1]], step.turn):
            index, tensor = step.layers[number], tensors[number]
            if number:
                reads = divides[number]
                end = min(reads.end_read(row1), divides[number - 1].rows)
                assert self.rows_hold(tensors[number - 1].name, reads.first_read(row0), end)
            else:
                assert self.holds(layers[0].node.inputs[0])
            for name in layers[number].node.reads()[1:]:
                assert self.rows_hold(name, row0, tensor.shape[0], tensor.shape[1])
            for row in range(row0, row1):
                self.row(tensor.name, row)[:] = self.value(tensor.name, row)
            if index in self.map.workspaces:
                scratch = self.at(self.map.workspaces[index])
                scratch[:] = self.fresh(len(scratch))

    def rows_hold(self, name: str, row0: int, row1: int, width: int = 0) -> bool:
        rows = range(row0, row1)
        return all(
            np.array_equal(self.row(name, row, width), self.value(name, row, width)) for row in rows
        )

    def value(self, name: str, row: int, width: int = 0) -> Bytes:
        width = width or self.choice.graph[name].shape[1]
        return self.values[name][row * width : (row + 1) * width]

    def row(self, name: str, row: int, width: int = 0) -> Bytes:
        tensor = self.choice.graph[name]
        width, place = width or tensor.shape[1], row % tensor.ring if tensor.ring else row
        return self.at(self.map.places[name])[place * width : (place + 1) * width]


@settings(max_examples=150)
@given(choices(max_layers=6, turns=True))
def test_random_programs_by_turns(choice: Choice) -> None:
    """``plan`` runs ``check`` itself; the machine must agree."""
    memory_map = plan(choice)
    assert memory_map.arena_bytes >= memory_map.lower_bound
    Turns(choice, memory_map).run()


@given(st.lists(links(), min_size=2, max_size=4), st.integers(1, 5))
def test_rings_are_as_small_as_can_be(chain: list[Link], turn: int) -> None:
    """With a row less of any, some call finds a row overwritten."""
    net = Net()
    net.chain("y", net.input("x", 4), chain, turn)
    choice = net.choice("y")
    memory_map = plan(choice)
    rings = least_rings([link.divides for link in chain], turn)
    for number, rows in enumerate(rings):
        assert choice.graph[f"y.{number}"].ring == min(rows, chain[number].divides.rows)
        if rows > 1:
            less = replace(choice.graph[f"y.{number}"], ring=rows - 1)
            smaller = replace(choice, graph=choice.graph.with_tensors({less.name: less}))
            with pytest.raises(InvariantError, match="ring"):
                of_choice(smaller)
            place = memory_map.places[less.name]
            shrunk = replace(place, bytes=place.bytes - chain[number].width)
            places = {**memory_map.places, less.name: shrunk}
            with pytest.raises(InvariantError, match="does not find row"):
                check(smaller, replace(memory_map, places=places))


def test_calls_do_not_pass_the_end_of_a_ring() -> None:
    """A 3x3 layer of stride 2 reads 5 rows for 2: the sixth row is a call of its own."""
    assert least_rings((CONV, HALF), 2) == (5,)
    found = [*calls((CONV, HALF), (5,), 2)]
    assert found == [(0, 0, 4), (1, 0, 2), (0, 4, 5), (0, 5, 8), (1, 2, 4)]


def pair(residual: str = "") -> tuple[Net, MemoryMap]:
    net = Net()
    x = net.input("x", 64)
    if residual:
        net.layer(residual, 32, x)
    net.chain("y", x, (Link(CONV, 8, 24), Link(HALF, 8, 40)), 1, residual=residual)
    return net, plan(net.choice("y"))


def test_what_a_step_touches_lives_through_all_of_it() -> None:
    """Input and result are live together, with three rows of eight; scratch of two calls is not."""
    net, memory_map = pair()
    spans = {name: (place.first, place.last) for name, place in memory_map.places.items()}
    assert spans == {"x": (-1, 1), "y.0": (0, 1), "y": (0, 2)}
    assert {i: (p.first, p.last) for i, p in memory_map.workspaces.items()} == {
        0: (0, 0),
        1: (1, 1),
    }
    assert memory_map.arena_bytes == 64 + 3 * 8 + 32 + 40
    assert net.choice("y").held_bytes("y.0") == 24


def test_every_worker_has_rings_and_workspaces_of_its_own() -> None:
    net = Net(align=16)
    net.chain("y", net.input("x", 64), (Link(CONV, 8, 24), Link(HALF, 8)), 1, workers=3)
    choice = net.choice("y")
    assert choice.held_bytes("y.0") == 3 * 32
    assert choice.workspaces() == {0: 3 * 32}
    assert plan(choice).arena_bytes == 64 + 96 + 32 + 96


def test_the_last_layer_overwrites_its_residual() -> None:
    net, memory_map = pair("r")
    assert granted(net.choice("y"), memory_map, "y") == {"r"}
    assert memory_map.places["y"].offset == memory_map.places["r"].offset


def test_layers_of_a_step_stay_together_in_another_order() -> None:
    """The branch that leaves little goes first, all its layers."""
    net = Net()
    x = net.input("x", 10)
    net.layer("big", 100, x)
    net.layer("less", 10, "big")
    net.chain("wide", x, (Link(Divides(40), 5), Link(Divides(40), 5)), 1)
    net.layer("few", 1, "wide")
    net.layer("y", 11, "less", "few")
    memory_map = plan(net.choice("y"))
    assert memory_map.order == (2, 3, 4, 0, 1, 5)


def mistakes() -> dict[str, Choice]:
    choice = pair()[0].choice("y")
    first, last = choice.layers
    ring = choice.graph["y.0"]
    extra = replace(choice.graph, outputs=("y", "y.0"))
    overwriting = replace(first, aliases=(Alias("x", "y.0", "x"),))
    return {
        "in one step": replace(choice, steps=(Step((1,)), Step((0,)))),
        "no turns": replace(choice, steps=(Step((0, 1)),)),
        "be a ring": replace(choice, steps=alone(2)),
        "all at once": replace(choice, layers=(first, replace(last, divides=None))),
        "input of 'make_y' only": replace(choice, graph=extra),
        "takes turns: no": replace(choice, layers=(overwriting, last)),
        "must have 3 rows": replace(
            choice, graph=choice.graph.with_tensors({"y.0": replace(ring, ring=2)})
        ),
    }


@pytest.mark.parametrize("what", mistakes())
def test_refuses(what: str) -> None:
    with pytest.raises(InvariantError, match=what):
        of_choice(mistakes()[what])


def test_the_verifier_sees_a_result_on_the_input_of_its_step() -> None:
    """It would do for layers one after the other: x is read before y is written."""
    net, memory_map = pair()

    def moved(place: Place) -> Place:
        return replace(place, offset=memory_map.places["x"].offset)

    places = {**memory_map.places, "y": moved(memory_map.places["y"])}
    with pytest.raises(InvariantError, match="x: is clobbered"):
        check(net.choice("y"), replace(memory_map, places=places))


def test_the_verifier_sees_a_torn_step() -> None:
    net = Net()
    x = net.input("x", 64)
    net.chain("y", x, (Link(CONV, 8), Link(HALF, 8)), 1)
    net.layer("z", 8, x)
    choice = net.choice("y", "z")
    with pytest.raises(InvariantError, match="torn"):
        check(choice, replace(plan(choice), order=(0, 2, 1)))
