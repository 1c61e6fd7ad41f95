"""The machine that a network runs on once it is known in which memories its tensors lie."""

from __future__ import annotations

from dataclasses import replace

from edgeconv.ir.memory import MemoryMap
from edgeconv.ir.placement import ANYWHERE, Placement
from edgeconv.search.memory.link import io_region, weights_region
from edgeconv.target.board import Board, Memory
from edgeconv.target.board.speed import region_costs, unstated_memory
from edgeconv.target.price.energy import reads_flash, usable
from edgeconv.target.price.machine import MEMORY, Level, Machine, caches_of, machine_of


def missing(board: Board) -> tuple[str, ...]:
    """What the board has to state before any time can be predicted, and does not."""
    stated = {"clock": board.clock_hz, "macs_per_cycle": board.macs_per_cycle}
    return tuple(name for name, value in stated.items() if value is None)


def machine_with(
    board: Board, memory: MemoryMap, weights_bytes: int, placement: Placement = ANYWHERE
) -> Machine:
    """The board's machine for a network with these places and so many bytes of constants, which lie
    where ``placement`` has the image."""
    machine = machine_of(board.target)
    regions = _regions(board, memory, weights_bytes, placement)
    *banks, caller, weights = (level_of(board, region, machine) for region in regions)
    return replace(
        machine,
        banks=tuple(banks),
        caller=caller,
        weights=weights,
        energy=usable(board),
        reads_flash=reads_flash(board) and not _in_ram(board, placement.weights),
    )


def _in_ram(board: Board, memory: str) -> bool:
    return any(region.name == memory for region in board.ram)


def level_of(board: Board, region: Memory | None, machine: Machine) -> Level:
    """A memory of the board as prices see it; None for the one behind all caches."""
    kinds = (board.ram, board.flash)
    kind = next((each for each in kinds if region in each), ())
    costs = dict(zip((each.name for each in kind), region_costs(board, kind), strict=True))
    cost = costs[region.name] if region else unstated_memory(board.target)
    return Level(_name(board, region), max(machine.nearest, cost))


def with_constants_in(machine: Machine, board: Board, memory: str) -> Machine:
    """``machine`` for a layer whose constants lie in the memory of this name."""
    region = next(each for each in board.memory if each.name == memory)
    flash = reads_flash(board) and region.is_flash
    return replace(machine, weights=level_of(board, region, machine), reads_flash=flash)


def unstated(
    board: Board, memory: MemoryMap, weights_bytes: int, placement: Placement = ANYWHERE
) -> tuple[str, ...]:
    """The levels without a bandwidth, see `target.board.speed`."""
    found = [f"L{c.level}" for c in caches_of(board.target)[1:] if c.bandwidth is None]
    if board.target.memory_bytes_per_cycle:
        return tuple(found)
    regions = _regions(board, memory, weights_bytes, placement)
    regions += [each for each in board.memory if each.name in placement.layers.values()]
    found += [_name(board, r) for r in regions if r is None or r.bandwidth is None]
    return tuple(dict.fromkeys(found))


def _name(board: Board, region: Memory | None) -> str:
    return region.name if region and board.bare_metal else MEMORY


def _regions(
    board: Board, memory: MemoryMap, weights_bytes: int, placement: Placement
) -> list[Memory | None]:
    """The memory of each bank, of the caller's tensors, and of constants.

    The regions of a bare-metal board are its banks, in their order; otherwise there is one memory.
    """
    if board.bare_metal:
        named = (region for region in board.memory if region.name == placement.weights)
        weights = next(named, None) or weights_region(board, weights_bytes)
        return [*board.ram, io_region(board, memory), weights]
    return [board.ram[0] if board.ram else None] * (len(memory.banks) + 2)
