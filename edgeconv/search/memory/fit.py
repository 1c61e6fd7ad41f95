"""Memory for a network on a board: every way of dividing the board's memories until one fits."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from edgeconv.codegen.weights import layout
from edgeconv.ir.choice import Choice
from edgeconv.ir.memory import MemoryMap
from edgeconv.search.memory.banks import Bank, largest_only, of_board, within
from edgeconv.search.memory.check import check
from edgeconv.search.memory.link import VARIABLES, io_regions, reserved, weights_by_region
from edgeconv.search.memory.plan import Homes, plan
from edgeconv.search.memory.program import caller_bytes
from edgeconv.target.board import Board


def fit(choice: Choice, board: Board, ram: int | None, *, verified: bool = True) -> MemoryMap:
    """The memory map of ``choice`` in the memories of ``board``, in ``ram`` bytes if that is given.

    Under an operating system there is one arena.  Without one, the caller's tensors are tried in
    every region, best first; when nothing fits, the result is the attempt with the least excess.
    What the user has placed lies nowhere else.  ``verified``: as in `plan`.
    """
    if not board.bare_metal:
        return plan(choice, verified=verified)
    tried: list[MemoryMap] = []
    for found in _attempts(choice, board, ram):
        tried.append(found)
        if not _excess(found):
            break
    least = min(tried, key=_excess)
    return check(choice, least) if verified else least


def _attempts(choice: Choice, board: Board, ram: int | None) -> Iterator[MemoryMap]:
    io_bytes, placement = caller_bytes(choice), choice.placement
    # Their sizes by memory do not depend on the order of execution.
    parts = layout(choice, range(len(choice.layers))).parts if placement.weights else ()
    copied = sum(
        size for each, size in weights_by_region(board, parts).items() if not each.is_flash
    )
    for region in io_regions(board):
        if placement.io not in ("", region.name):
            continue
        banks = of_board(board, reserved(board, io_bytes, region, parts))
        rest = None if ram is None else ram - io_bytes - copied - VARIABLES
        for allowed in _allowed(banks, rest):
            planned = plan(choice, allowed, _homes(choice, board), verified=False)
            yield replace(planned, caller_bank=board.ram.index(region))


def _homes(choice: Choice, board: Board) -> Homes:
    """The memories that the user names for the arena and for inputs and outputs in it."""
    numbers = {each.name: number for number, each in enumerate(board.ram)}
    rest = numbers.get(choice.placement.arena)
    return Homes(numbers.get(choice.placement.io, rest), rest)


def _allowed(banks: tuple[Bank, ...], total: int | None) -> Iterator[tuple[Bank, ...]]:
    """The banks; where they may hold ``total`` bytes only, also the largest alone, since what is
    spread takes more bytes together than one memory does."""
    if total is None:
        yield banks
    else:
        yield within(banks, total)
        yield within(largest_only(banks), total)


def _excess(memory: MemoryMap) -> int:
    return sum(bank.excess for bank in memory.banks)
