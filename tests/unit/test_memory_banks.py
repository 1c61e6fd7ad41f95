"""An arena over several memories: fast memory first, the cheapest assignment to banks, capacities
honoured."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeconv.ir.choice import Choice
from edgeconv.ir.memory import MemoryMap, Place, Region
from edgeconv.search.memory import Bank, bank_assignment, banks, plan
from edgeconv.search.memory.assign import Assignment
from edgeconv.search.memory.bank_assignment import BankAssignment, assign_banks
from edgeconv.search.memory.blocks import Block, Rect, live_bytes
from edgeconv.search.memory.search import smallest
from edgeconv.target import board as boards
from edgeconv.target.board import Board, Firmware, Memory
from tests.examples import examples
from tests.memory_choices import Net, scheduled
from tests.memory_strategies import choices

ALIGN = 4


@st.composite
def bank_lists(draw: st.DrawFn, unlimited: bool) -> tuple[Bank, ...]:
    """Two or three banks, slower and slower; the last one without limit if ``unlimited``."""
    count = draw(st.integers(2, 3))
    costs = sorted(draw(st.lists(st.integers(1, 20), min_size=count, max_size=count)))
    sizes: list[int | None] = [*draw(st.lists(st.integers(0, 160), min_size=count, max_size=count))]
    if unlimited:
        sizes[-1] = None
    return tuple(
        Bank(f"bank{i}", size, cost)
        for i, (size, cost) in enumerate(zip(sizes, costs, strict=True))
    )


def in_arena(memory_map: MemoryMap) -> list[Place]:
    places = (*memory_map.places.values(), *memory_map.workspaces.values())
    return [place for place in places if place.region is Region.ARENA and place.bytes]


@settings(max_examples=examples(150))
@given(choices(max_layers=10), bank_lists(unlimited=True))
def test_room_for_all_is_enough(choice: Choice, given_banks: tuple[Bank, ...]) -> None:
    """``plan`` replays the map; here: no capacity is exceeded when one bank takes anything."""
    memory_map = plan(choice, given_banks)
    assert [use.excess for use in memory_map.banks] == [0] * len(given_banks)
    for place in in_arena(memory_map):
        capacity = given_banks[place.bank].capacity
        assert capacity is None or place.offset + place.bytes <= capacity
    assert memory_map.arena_bytes == sum(use.bytes for use in memory_map.banks)


@settings(max_examples=examples(150))
@given(choices(max_layers=8), bank_lists(unlimited=False))
def test_what_does_not_fit_is_stated(choice: Choice, given_banks: tuple[Bank, ...]) -> None:
    memory_map = plan(choice, given_banks)
    for use, bank in zip(memory_map.banks, given_banks, strict=True):
        assert bank.capacity is not None
        assert (use.name, use.capacity) == (bank.name, bank.capacity)
        assert use.excess == max(0, use.bytes - bank.capacity)


@settings(max_examples=examples(60))
@given(choices(max_layers=10), bank_lists(unlimited=False))
def test_one_arena_where_the_first_bank_holds_it(
    choice: Choice, given_banks: tuple[Bank, ...]
) -> None:
    alone = plan(choice)
    first = replace(given_banks[0], capacity=alone.arena_bytes)
    assigned = plan(choice, (first, *given_banks[1:]))
    assert replace(assigned, banks=alone.banks) == alone
    assert [use.bytes for use in assigned.banks][1:] == [0] * (len(given_banks) - 1)


@settings(max_examples=30)
@given(choices(max_layers=12), bank_lists(unlimited=False))
def test_same_banks_same_map(choice: Choice, given_banks: tuple[Bank, ...]) -> None:
    assert plan(choice, given_banks) == plan(choice, given_banks)


@st.composite
def few_blocks(draw: st.DrawFn) -> list[Block]:
    """Up to six blocks, some of them of two rectangles, as a Concat's are."""
    found: list[Block] = []
    for _ in range(draw(st.integers(1, 6))):
        first = draw(st.integers(0, 5))
        last = first + draw(st.integers(0, 3))
        size = ALIGN * draw(st.integers(1, 8))
        rects = [Rect(0, size, first, last)]
        if draw(st.booleans()):
            more = ALIGN * draw(st.integers(1, 4))
            rects.append(Rect(size, size + more, draw(st.integers(0, last)), last))
        found.append(tuple(rects))
    return found


def fits(blocks: list[Block], room: int | None) -> bool:
    """Whether ``blocks`` can be packed into ``room``: exact."""
    if room is None or not blocks:
        return True
    bound = max(live_bytes(blocks, max(rect.last for block in blocks for rect in block)))
    if bound > room:
        return False
    packing, proven = smallest(blocks, room)
    assert proven
    return packing.height <= room


def cost(assignment: tuple[int, ...], moved: list[int], given_banks: tuple[Bank, ...]) -> float:
    pairs = zip(assignment, moved, strict=True)
    return sum(given_banks[bank].cost * size for bank, size in pairs)


def brute_force(
    blocks: list[Block],
    moved: list[int],
    given_banks: tuple[Bank, ...],
    homes: list[int | None] | None = None,
) -> float | None:
    """The least cost of any assignment that packs and has each block at home."""
    every = range(len(given_banks))
    free = [every if home is None else (home,) for home in homes or [None] * len(blocks)]
    costs = [
        cost(assignment, moved, given_banks)
        for assignment in product(*free)
        if all(
            fits([b for b, at in zip(blocks, assignment, strict=True) if at == k], bank.capacity)
            for k, bank in enumerate(given_banks)
        )
    ]
    return min(costs, default=None)


def excess(found: BankAssignment, given_banks: tuple[Bank, ...]) -> int:
    return sum(
        max(0, height - bank.capacity)
        for height, bank in zip(found.heights, given_banks, strict=True)
        if bank.capacity is not None
    )


@settings(max_examples=examples(80))
@given(few_blocks(), st.data(), st.booleans())
def test_no_assignment_costs_less(blocks: list[Block], data: st.DataObject, slow: bool) -> None:
    sizes = st.lists(st.integers(1, 500), min_size=len(blocks), max_size=len(blocks))
    moved, given_banks = data.draw(sizes), data.draw(bank_lists(unlimited=slow))
    at_home = st.none() | st.integers(0, len(given_banks) - 1)
    homes = data.draw(st.lists(at_home, min_size=len(blocks), max_size=len(blocks)))
    best = brute_force(blocks, moved, given_banks, homes)
    found = assign_banks(blocks, moved, given_banks, ALIGN, homes)
    assert all(home in (None, at) for home, at in zip(homes, found.banks, strict=True))
    assert (excess(found, given_banks) == 0) == (best is not None)
    if best is not None:
        assert cost(found.banks, moved, given_banks) == pytest.approx(best, rel=1e-4)


# (bytes, first step, last step): no step has more than 4 bytes live, yet 5 are needed.
BOUND_IS_OUT_OF_REACH = [
    *[(1, 2, 3), (2, 5, 5), (2, 0, 2), (2, 4, 5)],
    *[(2, 0, 1), (1, 2, 4), (1, 3, 4)],
]


@pytest.mark.parametrize(
    ("exact", "core"), [(bank_assignment.EXACT, bank_assignment.CORE), (0, 16), (12, 3)]
)
def test_live_bytes_fit_but_no_packing_does(
    exact: int, core: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The integer program puts all into the fast bank at first; cuts of either kind teach it."""
    monkeypatch.setattr(bank_assignment, "EXACT", exact)
    monkeypatch.setattr(bank_assignment, "CORE", core)
    blocks: list[Block] = [(Rect(0, *box),) for box in BOUND_IS_OUT_OF_REACH]
    moved = [7, 6, 5, 4, 3, 2, 8]
    two = (Bank("fast", 4, 1.0), Bank("slow", None, 9.0))
    assert Assignment(blocks, moved, two, 1).cheapest() == (0,) * 7
    found = assign_banks(blocks, moved, two, 1)
    assert found.heights[0] == found.bounds[0] == 4
    if exact and core > 3:
        assert cost(found.banks, moved, two) == brute_force(blocks, moved, two)


def test_hot_tensors_stay_and_cold_ones_go() -> None:
    """Of two tensors alive together, the one that more layers read stays in fast memory."""
    net = Net(align=4, io="caller")
    net.input("x", 4)
    net.layer("cold", 100, "x")
    net.layer("hot", 100, "x")
    for i in range(4):
        net.layer(f"t{i}", 4, "hot", "cold" if i == 0 else f"t{i - 1}")
    net.layer("y", 4, "t3", "cold")
    two = (Bank("fast", 112, 1.0), Bank("slow", None, 10.0))
    places = plan(net.choice("y"), two).places
    assert (places["hot"].bank, places["cold"].bank) == (0, 1)


def test_one_large_tensor_rather_than_a_small_one_twice_as_hot() -> None:
    """Bytes moved decide, not readers: 100 bytes read once cost more than 8 read three times."""
    net = Net(align=4, io="caller")
    net.input("x", 4)
    net.layer("large", 100, "x")
    net.layer("small", 8, "x")
    net.layer("a", 4, "small")
    net.layer("b", 4, "small", "a")
    net.layer("y", 4, "small", "large", "b")
    two = (Bank("fast", 104, 1.0), Bank("slow", None, 10.0))
    places = plan(net.choice("y"), two).places
    assert (places["large"].bank, places["small"].bank) == (0, 1)


def test_workspaces_lie_in_any_bank() -> None:
    net = Net(align=4, io="caller")
    net.input("x", 4)
    net.layer("a", 40, "x", workspace=400)
    net.layer("y", 4, "a")
    memory_map = plan(net.choice("y"), (Bank("fast", 64, 1.0), Bank("slow", 400, 2.0)))
    assert [place.bank for place in memory_map.workspaces.values()] == [1]
    assert [(use.bytes, use.excess) for use in memory_map.banks] == [(40, 0), (400, 0)]


def test_equal_costs_fill_the_first_bank() -> None:
    choice = scheduled([(40, 0, 1), (40, 0, 1)])
    memory_map = plan(choice, (Bank("a", 40, 1.0), Bank("b", 80, 1.0)))
    assert [use.bytes for use in memory_map.banks] == [40, 40]


def test_the_least_excess() -> None:
    """150 bytes live together in 100 + 20: the attempt that lacks least is shown."""
    choice = scheduled([(90, 0, 1), (30, 0, 1), (30, 0, 1)])
    memory_map = plan(choice, (Bank("a", 100, 1.0), Bank("b", 20, 5.0)))
    assert sum(use.excess for use in memory_map.banks) == 30
    alone = plan(choice, (Bank("a", 100, 1.0),))
    assert [(use.bytes, use.excess) for use in alone.banks] == [(150, 50)]


def board(*regions: Memory, bare_metal: bool = True) -> Board:
    host = boards.load("generic-c")
    firmware = Firmware(stack=4096, interrupts=16) if bare_metal else None
    return replace(host, memory=regions, firmware=firmware, path=Path("test.toml"))


def test_banks_of_a_board() -> None:
    found = banks.of_board(
        board(
            Memory("flash", "flash", 1 << 20, 0, 100e6, None),
            Memory("DTCM", "tcm", 1 << 17, 0, 4e9, 0.0),
            Memory("AXI SRAM", "sram", 1 << 19, 0, 1e9, 32e-9),
            Memory("axi-sram", "sram", 1 << 10, 0, None, None),
        ),
        {"DTCM": 5000, "AXI SRAM": 24},
    )
    assert [(bank.name, bank.capacity) for bank in found] == [
        ("dtcm", (1 << 17) - 5000),
        ("axi_sram", (1 << 19) - 24),
        ("axi_sram_2", 1 << 10),
    ]
    assert [bank.cost for bank in found] == pytest.approx([0.25e-9, 2e-9, 4e-9])


def test_more_reserved_than_there_is() -> None:
    (bank,) = banks.of_board(board(Memory("ram", "sram", 4096)), {"ram": 5000})
    assert bank.capacity == 0


def test_no_banks_under_an_operating_system() -> None:
    assert banks.of_board(board(Memory("ram", "dram", 4096), bare_metal=False), {}) == ()


def test_banks_within_a_budget() -> None:
    three = (Bank("a", 100, 1.0), Bank("b", None, 2.0), Bank("c", 50, 3.0))
    assert [bank.capacity for bank in banks.within(three, 130)] == [100, 30, 0]
    assert [bank.capacity for bank in banks.within(three, 60)] == [60, 0, 0]
    assert [bank.capacity for bank in banks.within(three, -5)] == [0, 0, 0]
    assert [bank.name for bank in banks.within(three, 130)] == ["a", "b", "c"]
    assert [bank.capacity for bank in banks.largest_only(three)] == [0, None, 0]
    assert [bank.capacity for bank in banks.largest_only(three[::2])] == [100, 0]
