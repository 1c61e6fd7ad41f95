"""The machine that a network runs on once it is known in which memories its tensors lie."""

from __future__ import annotations

from dataclasses import replace

from edgeconv.ir.memory import MemoryMap
from edgeconv.search.memory.link import io_region, weights_region
from edgeconv.target.board import Board, Memory
from edgeconv.target.board.speed import region_costs, unstated_memory
from edgeconv.target.price.energy import reads_flash, usable
from edgeconv.target.price.machine import MEMORY, Level, Machine, caches_of, machine_of


def missing(board: Board) -> tuple[str, ...]:
    """What the board has to state before any time can be predicted, and does not."""
    stated = {"clock": board.clock_hz, "macs_per_cycle": board.macs_per_cycle}
    return tuple(name for name, value in stated.items() if value is None)


def machine_with(board: Board, memory: MemoryMap, weights_bytes: int) -> Machine:
    """The board's machine for a network with these places and so many bytes of constants."""
    target = board.target
    machine = machine_of(target)
    costs = {
        region.name: cost
        for kind in (board.ram, board.flash)
        for region, cost in zip(kind, region_costs(board, kind), strict=True)
    }

    def level(region: Memory | None) -> Level:
        cost = costs[region.name] if region else unstated_memory(target)
        return Level(_name(board, region), max(machine.nearest, cost))

    *banks, caller, weights = map(level, _regions(board, memory, weights_bytes))
    return replace(
        machine,
        banks=tuple(banks),
        caller=caller,
        weights=weights,
        energy=usable(board),
        reads_flash=reads_flash(board),
    )


def unstated(board: Board, memory: MemoryMap, weights_bytes: int) -> tuple[str, ...]:
    """The levels without a bandwidth, see `target.board.speed`."""
    found = [f"L{c.level}" for c in caches_of(board.target)[1:] if c.bandwidth is None]
    if board.target.memory_bytes_per_cycle:
        return tuple(found)
    regions = _regions(board, memory, weights_bytes)
    found += [_name(board, r) for r in regions if r is None or r.bandwidth is None]
    return tuple(dict.fromkeys(found))


def _name(board: Board, region: Memory | None) -> str:
    return region.name if region and board.bare_metal else MEMORY


def _regions(board: Board, memory: MemoryMap, weights_bytes: int) -> list[Memory | None]:
    """The memory of each bank, of the caller's tensors, and of constants.

    The regions of a bare-metal board are its banks, in their order; otherwise there is one memory.
    """
    if board.bare_metal:
        return [*board.ram, io_region(board, memory), weights_region(board, weights_bytes)]
    return [board.ram[0] if board.ram else None] * (len(memory.banks) + 2)
