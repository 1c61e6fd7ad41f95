"""Memory for a network on a board: every way of dividing the board's memories until one fits."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from edgeconv.ir.choice import Choice
from edgeconv.ir.memory import MemoryMap
from edgeconv.search.memory.banks import Bank, largest_only, of_board, within
from edgeconv.search.memory.link import VARIABLES, io_regions, reserved
from edgeconv.search.memory.plan import plan
from edgeconv.search.memory.program import caller_bytes
from edgeconv.target.board import Board


def fit(choice: Choice, board: Board, ram: int | None) -> MemoryMap:
    """The memory map of ``choice`` in the memories of ``board``, in ``ram`` bytes if that is given.

    Under an operating system there is one arena.  Without one, the caller's tensors are tried in
    every region, best first; when nothing fits, the result is the attempt with the least excess.
    """
    if not board.bare_metal:
        return plan(choice)
    io_bytes = caller_bytes(choice)
    attempts: list[MemoryMap] = []
    for region in io_regions(board):
        banks = of_board(board, reserved(board, io_bytes, region))
        for allowed in _allowed(banks, None if ram is None else ram - io_bytes - VARIABLES):
            found = replace(plan(choice, allowed), caller_bank=board.ram.index(region))
            if not _excess(found):
                return found
            attempts.append(found)
    return min(attempts, key=_excess)


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
