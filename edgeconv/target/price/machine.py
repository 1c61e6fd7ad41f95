"""A core and its memories as prices see them: seconds per instruction and per byte of each level.

There is one rule for boards that state too little: a cycle takes `board.speed.NOMINAL`, a vector
multiply-add a cycle, and memories what `target.board.speed` says.  Prices of such a machine
compare, but predict no time.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache

from edgeconv.target.board import Energy
from edgeconv.target.board.speed import cache_costs, cycle_seconds, load_cost, unstated_memory
from edgeconv.target.board.team import Team
from edgeconv.target.cache import ASSUMED_LINE, Cache
from edgeconv.target.price.measured import Measured
from edgeconv.target.price.operands import lost
from edgeconv.target.targets import Target

MEMORY = "DRAM"  # what is behind the last cache


@dataclass(frozen=True, slots=True)
class Level:
    """A level of memory.  ``byte``: seconds for a byte to come from here into registers, all the
    way."""

    name: str
    byte: float


@dataclass(frozen=True, slots=True)
class Machine:
    """A core and its memories.  ``slot``: seconds per vector instruction; ``cycle``: of the clock;
    ``load``: per byte of a scalar load that waits for nothing.  ``in_order``: nothing is hidden
    behind anything else, but what kernels prefetch.

    ``lanes``: float32 in a vector.  ``sizes``: bytes of every cache, nearest first; ``caches``: L2
    and what is behind it.
    ``banks``: the memory that each bank of the arena lies in; ``caller``: that of the network's
    inputs and outputs; ``weights``: that of constants.
    ``waits``: seconds that a line takes longer to come from behind each cache than from the first,
    where no prefetcher follows it; none of cores of which it is not known when these do.
    ``energy``: what the board states of it, and ``reads_flash``: constants are read from flash.
    ``others``: bytes per second that other cores bring into the last cache.
    ``team``: the cores that share a network; None for one.  ``measured``: knows some times better.
    """

    slot: float
    cycle: float
    load: float
    in_order: bool
    lanes: int
    sizes: tuple[int, ...]
    caches: tuple[Level, ...]
    banks: tuple[Level, ...]
    caller: Level
    weights: Level
    waits: tuple[float, ...] = ()
    line: int = ASSUMED_LINE
    energy: Energy | None = None
    reads_flash: bool = False
    others: float = 0.0
    team: Team | None = None
    measured: Measured | None = field(default=None, compare=False)

    def held(self, size: float) -> float:
        """Seconds for a byte, into registers, of what is used again when ``size`` bytes were
        touched: from the nearest cache that holds so many, else from the memory of constants."""
        levels = (0.0, *(level.byte for level in self.caches))
        costs = zip(self.sizes, levels, strict=False)
        return next((cost for each, cost in costs if size <= each), self.weights.byte)

    def constant(self, distance: float) -> float:
        """The seconds per byte of constants that were read ``distance`` bytes of constants ago."""
        levels = (0.0, *(level.byte for level in self.caches))
        cost, missing = 0.0, 1.0
        for number, byte in enumerate(levels):
            left = lost(distance, sum(self.sizes[: number + 1]))
            cost, missing = cost + (missing - left) * byte, left
        return cost + missing * self.weights.byte

    @property
    def nearest(self) -> float:
        """Seconds that a byte from behind the caches takes at least: costs are those beyond the
        first cache, or those of a load where there is none."""
        if not self.sizes:
            return self.load
        return self.caches[-1].byte if self.caches else 0.0


def caches_of(target: Target) -> list[Cache]:
    """By level."""
    return sorted(target.caches, key=lambda cache: cache.level)


def sources(target: Target) -> tuple[str, ...]:
    """What is behind each of the target's caches, nearest first."""
    return (*(f"L{cache.level}" for cache in caches_of(target)[1:]), MEMORY)


def _line_waits(target: Target) -> tuple[int, ...]:
    """Cycles that a line from behind each cache takes longer than one from the first; none where
    the board does not say when prefetchers do not follow."""
    stated = (*(cache.latency for cache in caches_of(target)), target.memory_cycles)
    latencies = [latency for latency in stated if latency is not None]
    if not target.streams or len(latencies) < len(stated):
        return ()
    return tuple(max(0, latency - latencies[0]) for latency in latencies[1:])


@lru_cache(maxsize=64)
def machine_of(target: Target) -> Machine:
    """The machine of a target with what its board states, all tensors in its first memory."""
    cycle, load = cycle_seconds(target), load_cost(target)
    fastest = 0.0 if target.caches else load  # costs are those beyond the nearest level
    caches: list[Level] = []
    for name, cost in zip(sources(target), cache_costs(target)[1:], strict=False):
        fastest = max(fastest, cost)
        caches.append(Level(name, fastest))

    def memory(bandwidth: float | None) -> Level:
        cost = 1 / bandwidth if bandwidth else unstated_memory(target)
        return Level(MEMORY, max(fastest, cost))

    ram = memory(target.ram_bandwidth)
    return Machine(
        slot=cycle * target.slot_cycles,
        cycle=cycle,
        load=load,
        in_order=target.single_issue or target.in_order,
        lanes=target.lanes,
        sizes=tuple(cache.size for cache in caches_of(target)),
        caches=tuple(caches),
        banks=(ram,),
        caller=ram,
        weights=memory(target.constants_bandwidth),
        waits=tuple(cycle * wait for wait in _line_waits(target)),
        line=target.line_bytes,
        others=(caches_of(target)[-1].others or 0.0) / cycle if target.caches else 0.0,
    )
