"""A board as the model of time sees it: seconds per instruction and per byte of every level."""

from __future__ import annotations

from dataclasses import dataclass

from edgeconv.board import Board, Memory
from edgeconv.board.speed import (
    cache_costs,
    cycle_seconds,
    load_cost,
    region_costs,
    unstated_memory,
)
from edgeconv.ir.memory import MemoryMap
from edgeconv.memory.link import io_region, weights_region
from edgeconv.predict.flows import MEMORY, caches_of


@dataclass(frozen=True, slots=True)
class Level:
    """``byte``: seconds for a byte to come from here into registers, all the way."""

    name: str
    byte: float


@dataclass(frozen=True, slots=True)
class Rates:
    """``slot``: seconds per vector instruction; ``cycle``: of the clock; ``load``: per byte of a
    scalar load that waits for nothing.  ``in_order``: nothing is hidden behind anything else.

    ``caches``: L2 and what is behind it.  ``banks``: the memory that each bank of the arena lies
    in; ``caller``: that of the network's inputs and outputs; ``weights``: that of constants.
    ``unstated``: levels without a bandwidth, see `board.speed`.
    """

    slot: float
    cycle: float
    load: float
    in_order: bool
    caches: tuple[Level, ...]
    banks: tuple[Level, ...]
    caller: Level
    weights: Level
    unstated: tuple[str, ...]


def missing(board: Board) -> tuple[str, ...]:
    """What the board has to state before any time can be predicted, and does not."""
    stated = {"clock": board.clock_hz, "macs_per_cycle": board.macs_per_cycle}
    return tuple(name for name, value in stated.items() if value is None)


def rates_of(board: Board, memory: MemoryMap, weights_bytes: int) -> Rates:
    """The rates of a board of which nothing is `missing`, for a network with these constants."""
    assert board.clock_hz is not None
    assert board.macs_per_cycle is not None
    target, cycle, load = board.target, cycle_seconds(board), load_cost(board)
    behind_l1 = caches_of(target)[1:]
    fastest = 0.0 if target.caches else load  # costs are those beyond the nearest level
    caches: list[Level] = []
    for cache, cost in zip(behind_l1, cache_costs(board)[1:], strict=True):
        fastest = max(fastest, cost)
        caches.append(Level(f"L{cache.level}", fastest))

    costs = {
        region.name: cost
        for kind in (board.ram, board.flash)
        for region, cost in zip(kind, region_costs(board, kind), strict=True)
    }

    def level(region: Memory | None) -> Level:
        cost = costs[region.name] if region else unstated_memory(board)
        return Level(
            region.name if region and board.bare_metal else MEMORY,
            max(fastest, cost),
        )

    regions = _regions(board, memory, weights_bytes)
    unstated = [f"L{cache.level}" for cache in behind_l1 if cache.bandwidth is None]
    unstated += [level(r).name for r in regions if r is None or r.bandwidth is None]
    *banks, caller, weights = map(level, regions)
    return Rates(
        slot=cycle * target.lanes * target.outer_rate / board.macs_per_cycle,
        cycle=cycle,
        load=load,
        in_order=target.single_issue,
        caches=tuple(caches),
        banks=tuple(banks),
        caller=caller,
        weights=weights,
        unstated=tuple(dict.fromkeys(unstated)),
    )


def _regions(board: Board, memory: MemoryMap, weights_bytes: int) -> list[Memory | None]:
    """The memory of each bank, of the caller's tensors, and of constants.

    The regions of a bare-metal board are its banks, in their order; otherwise there is one memory.
    """
    if board.bare_metal:
        return [*board.ram, io_region(board, memory), weights_region(board, weights_bytes)]
    return [board.ram[0] if board.ram else None] * (len(memory.banks) + 2)
