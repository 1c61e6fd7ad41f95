"""Banks: the memories that an arena may lie in."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from edgeconv.target.board import Board, Memory
from edgeconv.target.board.speed import region_costs

LINE = 32  # bytes that one access to a slow memory brings


@dataclass(frozen=True, slots=True)
class Bank:
    """A memory that may hold a part of the arena.

    ``name``: a lower-case C identifier.  ``capacity``: bytes, None for no limit.  ``cost``:
    seconds per byte moved to or from it; only the ratio to the other banks matters.
    """

    name: str
    capacity: int | None
    cost: float


def of_board(board: Board, reserved: Mapping[str, int]) -> tuple[Bank, ...]:
    """The RAM regions of a bare-metal board, one bank each and in their order: fastest first.

    ``reserved``: by name of a region, the bytes that the arena must leave there (stack, variables,
    inputs and outputs of the caller); see link.reserved.  Under an operating system there are no
    banks: the program does not know what lies where.
    """
    if not board.bare_metal:
        return ()
    left = [max(0, region.size - reserved.get(region.name, 0)) for region in board.ram]
    return tuple(map(Bank, identifiers(board.ram), left, region_costs(board, board.ram, LINE)))


def within(banks: Sequence[Bank], total: int) -> tuple[Bank, ...]:
    """The banks cut down to ``total`` bytes together, the fastest first."""
    found: list[Bank] = []
    for bank in banks:
        room = total if bank.capacity is None else min(bank.capacity, total)
        found.append(replace(bank, capacity=max(0, room)))
        total -= max(0, room)
    return tuple(found)


def largest_only(banks: Sequence[Bank]) -> tuple[Bank, ...]:
    """The largest bank; of the others nothing may be used."""
    largest = max(banks, key=lambda bank: math.inf if bank.capacity is None else bank.capacity)
    return tuple(bank if bank is largest else replace(bank, capacity=0) for bank in banks)


def identifiers(regions: Sequence[Memory]) -> list[str]:
    """Lower-case C identifiers for the regions: distinct, and none that the API uses after
    ``arena_``."""
    names: list[str] = []
    for region in regions:
        plain = re.sub(r"[^a-z0-9]+", "_", region.name.lower()).strip("_") or "bank"
        name, number = plain, 2
        while name in (*names, "bytes"):
            name, number = f"{plain}_{number}", number + 1
        names.append(name)
    return names
