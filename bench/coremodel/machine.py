"""A board's caches and memory as the model has them, beside its core."""

from __future__ import annotations

from dataclasses import dataclass, replace

from coremodel.cores import CORES, Core
from edgeconv.base.errors import EdgeconvError
from edgeconv.target.board import Board

LINE_BYTES = 64
FAR_BUFFERS = 16  # lines that prefetchers have on their way from memory (assumed)
TRAINED = 2  # lines of a stream before what follows is fetched (assumed)


@dataclass(frozen=True, slots=True)
class Level:
    """A cache: ``size`` in bytes, ``latency`` in cycles; ``spacing``: cycles from one line that it
    gives to the level before to the next."""

    size: int
    ways: int
    latency: int
    spacing: int


@dataclass(frozen=True, slots=True)
class Machine:
    """A core at a clock (Hz) with its caches, nearest first, and a memory of ``latency`` seconds
    and ``bandwidth`` bytes a second.  ``cpu``: its name, as boards have it."""

    cpu: str
    core: Core
    clock: float
    caches: tuple[Level, ...]
    latency: float
    bandwidth: float

    @property
    def recorded_caches(self) -> str:
        """Sizes and ways, as record.c takes them."""
        return ":".join(f"{level.size}:{level.ways}" for level in self.caches)

    @property
    def core_file(self) -> str:
        """What `read_core` of pipeline.h reads."""
        core = self.core
        numbers = (core.width, core.window, core.queue, core.stores, core.penalty)
        return " ".join(map(str, (*numbers, int(core.in_order))))

    @property
    def memory_file(self) -> str:
        """What `read_memory` of memory.h reads."""
        core = self.core
        behind = [(level.latency, level.spacing) for level in self.caches[1:]]
        line = round(LINE_BYTES * self.clock / self.bandwidth)
        behind.append((round(self.latency * self.clock), line))
        levels = [number for level in behind for number in level]
        streams = core.streams
        ahead = (streams.count, streams.near, streams.far, TRAINED, streams.within // LINE_BYTES)
        rest = (core.buffers, FAR_BUFFERS, *ahead, *core.pages)
        return " ".join(map(str, (len(self.caches), *levels, *rest)))

    def at(self, clock: float) -> Machine:
        """With another clock: caches keep their cycles, the memory its seconds."""
        return replace(self, clock=clock)


def machine_of(board: Board) -> Machine:
    """Raises EdgeconvError of a board whose core has no model here, or that states too little."""
    core = CORES.get(board.cpu)
    if core is None:
        raise EdgeconvError(
            "no model of the board's core",
            where=f"board {board.name}",
            got=board.cpu,
            rule=f"one of {', '.join(CORES)}",
        )
    memory = board.ram[0]
    caches = [(cache.size, cache.ways, cache.latency) for cache in board.caches]
    if not (board.clock_hz and memory.latency and memory.bandwidth and all(map(all, caches))):
        raise EdgeconvError(
            "the board states too little for a model of its core",
            where=f"board {board.name}",
            rule="clock, memory's latency and bandwidth, each cache's size, ways and latency",
        )
    levels = tuple(
        Level(size, ways or 1, latency or 1, core.spacing[at])
        for at, (size, ways, latency) in enumerate(caches)
    )
    return Machine(board.cpu, core, board.clock_hz, levels, memory.latency, memory.bandwidth)
