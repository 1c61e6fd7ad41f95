"""Steps of several layers: which rows they call for, and plans in which they stream rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from edgeconv.ir.check import InvariantError
from edgeconv.ir.choice import Alias, Choice
from edgeconv.ir.memory import MemoryMap, Place
from edgeconv.ir.step import Divides, Share, Step, alone, calls, least_rings, overlap
from edgeconv.search.memory import plan
from edgeconv.search.memory.check import check
from edgeconv.search.memory.program import of_choice
from tests.examples import examples
from tests.memory_choices import Link, Net, granted
from tests.memory_strategies import choices, links
from tests.unit.test_memory_plan import Bytes, Machine

CONV = Divides(rows=8, reach=3, stride=1, pad=1)  # 3x3
HALF = Divides(rows=4, reach=3, stride=2, pad=1)


class StreamingMachine(Machine):
    """A machine that computes rows, of the first worker of each step."""

    def run_step(self, step: Step) -> None:
        if not step.stream_rows:
            self.execute(step.layers[0], self.choice.layers[step.layers[0]])
            return
        layers = [self.choice.layers[i] for i in step.layers]
        divides = [layer.divides for layer in layers if layer.divides]
        tensors = [self.choice.graph[layer.node.output] for layer in layers]
        for own, tensor in zip(divides, tensors, strict=True):
            self.values[tensor.name] = self.fresh(own.rows * tensor.shape[1])
        for number, row0, row1 in calls(divides, [t.ring for t in tensors[:-1]], step.stream_rows):
            index, tensor = step.layers[number], tensors[number]
            if number:
                reads = divides[number]
                end = min(reads.end_read(row1), divides[number - 1].rows)
                assert self.rows_hold(tensors[number - 1].name, reads.first_read(row0), end)
            else:
                self.reads_source(layers[0].node.inputs[0], divides[0], row0, row1)
            for name in layers[number].node.reads()[1:]:
                assert self.rows_hold(name, row0, tensor.shape[0], tensor.shape[1])
            for row in range(row0, row1):
                self.row(tensor.name, row)[:] = self.value(tensor.name, row)
            if index in self.map.workspaces:
                scratch = self.at(self.map.workspaces[index])
                scratch[:] = self.fresh(len(scratch))

    def reads_source(self, name: str, own: Divides, row0: int, row1: int) -> None:
        shape = self.choice.graph[name].shape
        if len(shape) == 1:
            assert self.holds(name)
        else:
            assert self.rows_hold(name, own.first_read(row0), min(own.end_read(row1), shape[0]))

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


@settings(max_examples=examples(150))
@given(choices(max_layers=6, streaming=True, over=True))
def test_random_programs_with_row_streaming(choice: Choice) -> None:
    """``plan`` runs ``check`` itself; the machine must agree."""
    memory_map = plan(choice)
    assert memory_map.arena_bytes >= memory_map.lower_bound
    StreamingMachine(choice, memory_map).run()


@given(st.lists(links(), min_size=2, max_size=4), st.integers(1, 5))
def test_rings_are_as_small_as_can_be(chain: list[Link], stream_rows: int) -> None:
    """With a row less of any, some call finds a row overwritten."""
    # A window that lies in the padding alone leaves a row of its input to nobody.
    assume(all(link.divides.pad < link.divides.reach for link in chain))
    net = Net()
    net.chain("y", net.input("x", 4), chain, stream_rows)
    choice = net.choice("y")
    memory_map = plan(choice)
    rings = least_rings([link.divides for link in chain], stream_rows)
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


@st.composite
def overlapping(draw: st.DrawFn) -> tuple[Net, int]:
    """A step over what it reads, and how far that is behind it; it may add that to its result."""
    chain = draw(st.lists(links(), min_size=2, max_size=4))
    own = [link.divides for link in chain]
    stream_rows, added = draw(st.integers(1, 5)), draw(st.booleans())
    count, width = own[0].end_read(own[0].rows) + draw(st.integers(0, 3)), draw(st.integers(1, 6))
    if added or count < 1:
        count, width = own[-1].rows, chain[-1].width
    net = Net()
    net.rows("x", count, width, net.input("start", 1))
    apart = overlap(own, stream_rows, width, chain[-1].width, added=added)
    net.chain("y", "x", chain, stream_rows, residual="x" if added else "", apart=apart)
    return net, apart


@settings(max_examples=examples(150))
@given(overlapping())
def test_a_step_over_its_input(made: tuple[Net, int]) -> None:
    """No row is written over that a later call reads; with a byte less one would be."""
    net, apart = made
    choice = net.choice("y")
    memory_map = plan(choice)
    StreamingMachine(choice, memory_map).run()
    if apart and granted(choice, memory_map, "y"):
        *others, last = choice.layers
        nearer = replace(last, aliases=(replace(last.aliases[0], offset=apart - 1),))
        layers = (*others, nearer)
        (bank,) = memory_map.banks
        room = bank.bytes  # for all else behind them
        places = {name: behind(place, room) for name, place in memory_map.places.items()}
        places["x"] = memory_map.places["x"]
        places["y"] = replace(memory_map.places["y"], offset=places["x"].offset - apart + 1)
        wrong = replace(
            memory_map,
            places=places,
            workspaces={i: behind(place, room) for i, place in memory_map.workspaces.items()},
            banks=(replace(bank, bytes=2 * room),),
        )
        with pytest.raises(InvariantError, match="is read later"):
            check(replace(choice, layers=layers), wrong)


def behind(place: Place, room: int) -> Place:
    return replace(place, offset=place.offset + room)


def test_a_block_of_two_convolutions_lies_over_what_it_reads_and_adds() -> None:
    """Two 3x3 layers and their residual: no byte but the ring between them."""
    net = Net()
    net.rows("x", 8, 10, net.input("start", 1))
    chain = (Link(CONV, 10), Link(CONV, 10))
    apart = overlap([CONV, CONV], 1, 10, 10, added=True)
    net.chain("y", "x", chain, 1, residual="x", apart=apart)
    net.layer("z", 1, "y")
    choice = net.choice("z")
    memory_map = plan(choice)
    assert apart == 0
    assert granted(choice, memory_map, "y") == {"x"}
    assert memory_map.arena_bytes == 80 + 3 * 10


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


SUMS = Divides(rows=8, accumulates=True)


def adding() -> Choice:
    """A layer that makes rows with 12 bytes of workspace, and one that adds them up in 20 bytes."""
    net = Net()
    links = (Link(CONV, 8, workspace=12), Link(SUMS, 1, workspace=20))
    net.chain("y", net.input("x", 64), links, 1)
    return net.choice("y")


def test_sums_last_through_their_step() -> None:
    """Beside the workspace of the layer before, which shares the bytes of what lasts no longer."""
    choice = adding()
    memory_map = plan(choice)
    passing, lasting = memory_map.workspaces.values()
    assert (lasting.first, lasting.last) == (0, 1)
    assert lasting.offset >= passing.offset + 12 or passing.offset >= lasting.offset + 20
    first, last = choice.layers
    other = replace(last, divides=replace(SUMS, accumulates=False))
    without = plan(replace(choice, layers=(first, other)))
    assert memory_map.arena_bytes - without.arena_bytes == 12


def test_the_verifier_sees_sums_that_are_lost() -> None:
    choice = adding()
    memory_map = plan(choice)
    moved = replace(memory_map.workspaces[0], offset=memory_map.workspaces[1].offset)
    workspaces = {**memory_map.workspaces, 0: moved}
    with pytest.raises(InvariantError, match="sums of the round before"):
        check(choice, replace(memory_map, workspaces=workspaces))


def mistakes() -> dict[str, Choice]:
    choice = pair()[0].choice("y")
    first, last = choice.layers
    ring = choice.graph["y.0"]
    extra = replace(choice.graph, outputs=("y", "y.0"))
    overwriting = replace(first, aliases=(Alias("x", "y.0", "x"),))
    return {
        "in one step": replace(choice, steps=(Step((1,)), Step((0,)))),
        "streams no rows": replace(choice, steps=(Step((0, 1)),)),
        "be a ring": replace(choice, steps=alone(2)),
        "all at once": replace(choice, layers=(first, replace(last, divides=None))),
        "by rows in its step only": replace(choice, graph=extra),
        "is there when 'make_y.0' ends": replace(
            choice, layers=(replace(first, divides=replace(CONV, accumulates=True)), last)
        ),
        "add up sums of their own": replace(
            adding(), steps=(Step((0, 1), 1, 2, (Share(0, 4, 0, 1), Share(4, 8, 0, 1))),)
        ),
        "streams rows: no": replace(choice, layers=(overwriting, last)),
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
