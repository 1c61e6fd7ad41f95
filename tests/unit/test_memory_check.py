"""The verifier of memory maps rejects what is wrong."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from edgeconv.ir.check import InvariantError
from edgeconv.ir.choice import Choice
from edgeconv.ir.memory import BankUse, MemoryMap, Place, Region
from edgeconv.search.memory import plan
from edgeconv.search.memory.check import check
from edgeconv.search.memory.contents import Piece, merged
from tests.memory_choices import Net


def network(io: str = "caller") -> Choice:
    """x -> a; b = f(a) in place; cat = a part p of b beside c; y, with workspace."""
    net = Net(align=4, io=io)
    net.input("x", 8)
    net.layer("a", 8, "x")
    net.in_place("b", "a")
    net.view("p", "b", 4, 4)
    net.layer("c", 6, "p")
    net.concat("cat", "c", "p")
    net.layer("y", 8, "cat", workspace=4)
    return net.choice("y")


def moved(memory_map: MemoryMap, name: str, **changes: object) -> MemoryMap:
    place = replace(memory_map.places[name], **changes)  # type: ignore[arg-type]
    return replace(memory_map, places={**memory_map.places, name: place})


def swap_layers(memory_map: MemoryMap) -> MemoryMap:
    return replace(memory_map, order=(1, 0, *memory_map.order[2:]))


def forget_a_layer(memory_map: MemoryMap) -> MemoryMap:
    return replace(memory_map, order=memory_map.order[:-1])


def workspace_at(memory_map: MemoryMap, offset: int) -> MemoryMap:
    place = replace(memory_map.workspaces[5], offset=offset)
    return replace(memory_map, workspaces={5: place})


def of_bank(memory_map: MemoryMap, **changes: int) -> MemoryMap:
    (bank,) = memory_map.banks
    return replace(memory_map, banks=(replace(bank, **changes),))  # type: ignore[arg-type]


WRONG: dict[str, tuple[Callable[[MemoryMap], MemoryMap], str]] = {
    "order": (swap_layers, "reads 'a' before it is written"),
    "layer missing": (forget_a_layer, "each layer must run once"),
    "place missing": (
        lambda m: replace(m, places={n: p for n, p in m.places.items() if n != "c"}),
        "must be those of the tensors",
    ),
    "size": (lambda m: moved(m, "c", bytes=5), "c: has a place of another size"),
    "dies early": (lambda m: moved(m, "b", last=2 - 1), "b: has another lifetime"),
    "outside": (lambda m: moved(m, "c", offset=m.arena_bytes), "c: leaves its region"),
    "unknown bank": (lambda m: moved(m, "c", bank=1), "c: lies in a bank that does not exist"),
    "buffer in a bank": (lambda m: moved(m, "x", bank=1), "x: a caller's buffer is in no bank"),
    "negative": (lambda m: moved(m, "c", offset=-4), "c: leaves its region"),
    "input copied": (lambda m: moved(m, "x", region=Region.ARENA), "x: must be the caller's own"),
    "output in the arena": (lambda m: moved(m, "y", region=Region.ARENA), "y: must be the caller"),
    "unknown buffer": (
        lambda m: moved(m, "c", region=Region.OUTPUT, index=1),
        "c: lies in a buffer that does not exist",
    ),
    "unaligned": (lambda m: moved(m, "cat", offset=m.places["cat"].offset + 2), "honoured"),
    "alias elsewhere": (
        lambda m: moved(m, "c", offset=m.places["p"].offset // 4 * 4),
        "is not honoured",
    ),
    "view elsewhere": (lambda m: moved(m, "p", offset=m.places["b"].offset), "is not honoured"),
    "workspace in use": (
        lambda m: workspace_at(m, m.places["cat"].offset // 4 * 4),
        "cat: is clobbered by step 5",
    ),
    "workspace unaligned": (lambda m: workspace_at(m, 2), "workspace of make_y: is not aligned"),
    "workspace missing": (lambda m: replace(m, workspaces={}), "workspaces: must be those"),
    "bound": (lambda m: replace(m, lower_bound=m.lower_bound + 4), "lower_bound: must be"),
    "waste": (lambda m: replace(m, arena_bytes=m.arena_bytes + 4), "arena_bytes: must be"),
    "bank's bound": (lambda m: of_bank(m, lower_bound=m.lower_bound + 4), "the bound must be"),
    "bank's bytes": (lambda m: of_bank(m, bytes=m.arena_bytes + 4), "must take"),
    "not optimal": (lambda m: replace(m, optimal=False), "of the lower bound is optimal"),
}


@pytest.mark.parametrize("what", WRONG)
def test_rejects(what: str) -> None:
    choice = network()
    memory_map = plan(choice)
    change, message = WRONG[what]
    with pytest.raises(InvariantError, match=message):
        check(choice, change(memory_map))


@pytest.mark.parametrize("io", ["caller", "arena"])
def test_accepts_the_plan(io: str) -> None:
    choice = network(io)
    memory_map = plan(choice)
    assert check(choice, memory_map) is memory_map


def test_rejects_a_plan_in_which_an_output_lies_on_what_its_layer_reads() -> None:
    choice = network("arena")
    memory_map = plan(choice)
    for offset in (0, 4):
        wrong = moved(memory_map, "y", offset=memory_map.places["cat"].offset // 4 * 4 + offset)
        with pytest.raises(InvariantError, match="cat: is clobbered by step 5"):
            check(choice, wrong)


def by_hand(places: dict[str, Place], granted: set[tuple[int, int]], arena: int) -> MemoryMap:
    order = tuple(range(len(places) - 1))
    bank = BankUse("arena", arena, arena)
    return MemoryMap(order, places, {}, frozenset(granted), arena, arena, 1, True, (bank,))


def arena(offset: int, size: int, first: int, last: int) -> Place:
    return Place(Region.ARENA, offset, size, first, last)


def test_only_neighbours_that_continue_each_other_become_one_piece() -> None:
    pieces = [Piece(4, "a", 0), Piece(2, "b", 0), Piece(4, "a", 4), Piece(0, "b", 2)]
    assert merged([*pieces, Piece(1, "a", 8)]) == [*pieces[:2], Piece(5, "a", 4)]


def test_rejects_overlapping_tensors() -> None:
    net = Net(io="arena")
    net.input("x", 4)
    net.layer("a", 4, "x")
    net.layer("y", 4, "a")
    choice = net.choice("y")
    places = {"x": arena(0, 4, -1, 0), "a": arena(4, 4, 0, 1), "y": arena(0, 4, 1, 2)}
    check(choice, by_hand(places, set(), 8))
    places["a"] = arena(3, 4, 0, 1)
    with pytest.raises(InvariantError, match="x: is clobbered by step 0"):
        check(choice, by_hand(places, set(), 7))


def test_rejects_an_input_over_one_that_is_not_read() -> None:
    net = Net(io="arena")
    net.input("unread", 4)
    net.input("x", 4)
    net.layer("y", 4, "x")
    places = {"unread": arena(0, 4, -1, -1), "x": arena(0, 4, -1, 0), "y": arena(4, 4, 0, 1)}
    memory_map = replace(by_hand(places, set(), 8), order=(0,))
    with pytest.raises(InvariantError, match="unread: is clobbered by step -1"):
        check(net.choice("y"), memory_map)


def test_rejects_writing_to_a_callers_input() -> None:
    net = Net(io="caller")
    net.input("x", 4)
    net.input("unread", 4)
    net.layer("a", 4, "x")
    net.layer("y", 4, "a")
    places = {
        "x": Place(Region.INPUT, 0, 4, -1, 0),
        "unread": Place(Region.INPUT, 0, 4, -1, -1, index=1),
        "a": Place(Region.INPUT, 0, 4, 0, 1, index=1),
        "y": Place(Region.OUTPUT, 0, 4, 1, 2),
    }
    memory_map = replace(by_hand(places, set(), 0), order=(0, 1))
    with pytest.raises(InvariantError, match="a: is written to a caller's input"):
        check(net.choice("y"), memory_map)


def test_rejects_in_place_that_was_not_granted() -> None:
    net = Net(io="arena")
    net.input("x", 4)
    net.in_place("y", "x")
    choice = net.choice("y")
    places = {"x": arena(0, 4, -1, 0), "y": arena(0, 4, 0, 1)}
    check(choice, by_hand(places, {(0, 0)}, 4))
    with pytest.raises(InvariantError, match="x: is clobbered by step 0"):
        check(choice, by_hand(places, set(), 4))


def test_rejects_in_place_over_what_is_needed_later() -> None:
    net = Net(io="arena")
    net.input("x", 4)
    net.in_place("a", "x")
    net.layer("y", 4, "a", "x")
    places = {"x": arena(0, 4, -1, 1), "a": arena(0, 4, 0, 1), "y": arena(4, 4, 1, 2)}
    with pytest.raises(InvariantError, match="make_a in place on 'x': the input is needed later"):
        check(net.choice("y"), by_hand(places, {(0, 0)}, 8))


def test_rejects_in_place_over_an_input_read_twice() -> None:
    net = Net(io="arena")
    net.input("x", 4)
    net.in_place("y", "x", "x", "x")
    places = {"x": arena(0, 4, -1, 0), "y": arena(0, 4, 0, 1)}
    with pytest.raises(InvariantError, match="make_y in place on 'x': .*read twice"):
        check(net.choice("y"), by_hand(places, {(0, 0)}, 4))


def test_rejects_a_second_copy_over_live_bytes() -> None:
    """Both Concats hold the same values there, but each byte is written once while in use."""
    net = Net(io="arena")
    net.input("x", 2)
    net.layer("a", 2, "x")
    net.concat("first", "x", "a")
    net.concat("second", "x", "a", "first")
    choice = net.choice("first", "second")
    places = {
        "x": arena(0, 2, -1, 2),
        "a": arena(8, 2, 0, 2),
        "first": arena(0, 4, 1, 3),
        "second": arena(0, 8, 2, 3),
    }
    with pytest.raises(InvariantError, match="first: is clobbered by step 2"):
        check(choice, by_hand(places, {(1, 0), (2, 0)}, 10))


def test_rejects_unaligned_elements() -> None:
    net = Net(io="arena")
    net.input("x", 4, "float32")
    net.layer("y", 4, "x", dtype="float32")
    places = {"x": arena(0, 4, -1, 0), "y": arena(6, 4, 0, 1)}
    with pytest.raises(InvariantError, match="y: lies across its elements' alignment"):
        check(net.choice("y"), by_hand(places, set(), 10))


def test_a_hole_below_a_tensor_is_not_in_use() -> None:
    net = Net(align=4, io="arena")
    net.input("x", 3)
    net.layer("y", 3, "x")
    choice = net.choice("y")
    places = {"x": arena(0, 3, -1, 0), "y": arena(8, 3, 0, 1)}
    memory_map = replace(by_hand(places, set(), 12), align=4)
    with pytest.raises(InvariantError, match="lower_bound: must be 8"):
        check(choice, memory_map)
    banks = (BankUse("arena", bytes=12, lower_bound=8),)
    holed = replace(memory_map, lower_bound=8, banks=banks)
    assert check(choice, holed) is holed


def test_banks_are_counted_apart() -> None:
    net = Net(io="arena")
    net.input("x", 8)
    net.layer("y", 4, "x")
    places = {"x": arena(0, 8, -1, 0), "y": replace(arena(0, 4, 0, 1), bank=1)}
    banks = (BankUse("near", bytes=8, lower_bound=8), BankUse("far", bytes=4, lower_bound=4))
    memory_map = replace(by_hand(places, set(), 12), banks=banks)
    assert check(net.choice("y"), memory_map) is memory_map
    wrong = replace(memory_map, banks=(banks[0], replace(banks[1], bytes=8)))
    with pytest.raises(InvariantError, match="bank far: must take 4 bytes"):
        check(net.choice("y"), wrong)


def test_accepts_a_plan_without_an_arena() -> None:
    net = Net(io="caller")
    net.input("x", 4)
    net.layer("y", 4, "x")
    choice = net.choice("y")
    memory_map = plan(choice)
    assert memory_map.lower_bound == memory_map.arena_bytes == 0
    assert check(choice, memory_map) is memory_map


def test_rejects_an_unaligned_tensor() -> None:
    net = Net(align=4, io="arena")
    net.input("x", 4)
    net.layer("y", 4, "x")
    places = {"x": arena(0, 4, -1, 0), "y": arena(6, 4, 0, 1)}
    with pytest.raises(InvariantError, match="y: is not aligned"):
        check(net.choice("y"), replace(by_hand(places, set(), 12), align=4))
