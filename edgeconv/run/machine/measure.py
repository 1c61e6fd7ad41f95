"""Measures the running machine with the programs of this package."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from time import monotonic

from edgeconv.base.progress import Progress, Share, no_progress
from edgeconv.run.machine import buffers
from edgeconv.run.machine.buffers import MEMORY
from edgeconv.run.machine.half_vectors import FORM, computes_halves
from edgeconv.run.machine.probe import Machine
from edgeconv.run.machine.programs import (
    BANDWIDTH,
    FETCH,
    FORK_JOIN,
    HALVES_RATE,
    LATENCY,
    OTHERS,
    RATE,
    Programs,
)
from edgeconv.target.board import Board
from edgeconv.target.cache import Cache
from edgeconv.target.price.operands import SURELY_HELD
from edgeconv.target.targets import PANELS, Target

SAMPLES = 7
ROUNDS = 9  # at most; the more, the likelier one has the machine to itself
LEAST_ROUNDS = 3
SECONDS = 15.0  # after so many no further round begins
QUICK = (1, 3)  # rounds and samples of a test
_HALF_LOST = (
    1 + SURELY_HELD
) / 2  # of a cache has passed since a byte that is as likely in it as not
_CYCLE = "cycle:"  # what rate.c calls a cycle around the time of the form that follows


@dataclass(frozen=True, slots=True)
class Level:
    """A cache, or memory.  ``bandwidth``: bytes per second that one core reads in a row out of
    ``streamed`` bytes.  ``latency``: seconds from load to use, at random in ``chased`` bytes."""

    bandwidth: float
    latency: float
    streamed: int
    chased: int


@dataclass(frozen=True, slots=True)
class Measured:
    """What one core does.  Each number is the best of ``rounds`` medians of ``samples``: what other
    programs do in the meantime can only make a machine look slower than it is.

    ``clock``: Hz while vector code runs.  ``macs_per_cycle``: float32 multiply-adds in ``form``, a
    register tile such as "9x3" or "vectors" for registers alone.  ``loads_per_cycle``: vectors and
    broadcasts that a tile loads, that of the tiles which loads most.
    ``caches``: with the numbers of ``levels``, which run parallel to it, in whole cycles and bytes
    per cycle, the last with what others bring into it; ``sizes_measured`` when the kernel tells no
    sizes.  ``fork_join``: seconds to set another core to work and to wait for it; None where there
    is no other of the kind.  ``halves``: the core computes a vector in two.  ``fetching``: parts of
    the time that a register tile takes for an operand out of memory which it takes for one that is
    prefetched."""

    clock: float
    macs_per_cycle: float
    form: str
    loads_per_cycle: float
    caches: tuple[Cache, ...]
    sizes_measured: bool
    levels: tuple[Level, ...]
    memory: Level
    compiler: str
    rounds: int
    samples: int
    fork_join: float | None = None
    halves: bool = False
    fetching: float = 1.0


def measure(
    machine: Machine,
    board: Board,
    folder: Path,
    *,
    quick: bool = False,
    progress: Progress = no_progress,
) -> Measured:
    """Build the programs in ``folder`` with the compiler and flags of ``board``, and run them.

    Raises EdgeconvError: no compiler (exit status 3), a program does not compile or fails, or too
    little memory is free (1).
    """
    rounds, samples = QUICK if quick else (ROUNDS, SAMPLES)
    caches = machine.host.caches
    progress("building the programs that measure")
    programs = Programs(board, folder, caches[0].line if caches else buffers.ASSUMED_LINE)
    with _pinned(machine.measured):
        if not caches:
            progress("looking for caches")
            caches = _search(programs, samples)
        stream = buffers.streamed(caches, machine.available)
        chase = buffers.chased(caches, stream)
        rate: dict[str, float] = {}
        halved: dict[str, float] = {}
        fetch: dict[str, float] = {}
        read: dict[str, float] = {}
        load: dict[str, float] = {}
        joined: dict[str, float] = {}
        stayed: dict[str, float] = {}
        start, done = monotonic(), 0
        while done < rounds and (done < LEAST_ROUNDS or monotonic() - start < SECONDS):
            done += 1
            progress(Share(f"measuring, round {done} of at most {rounds}", done - 1, rounds))
            keep_best(rate, programs.run(RATE, samples))
            keep_best(halved, programs.run(HALVES_RATE, samples))
            keep_best(read, programs.run(BANDWIDTH, samples, stream))
            keep_best(load, programs.run(LATENCY, samples, chase))
            keep_best(fetch, programs.run(FETCH, samples, {MEMORY: stream[MEMORY]}))
            if len(caches) > 1:
                last = {OTHERS: chase[buffers.level_name(caches[-1].level)]}
                keep_best(stayed, programs.run(OTHERS, samples, last))
            if len(machine.measured) > 1:
                keep_best(joined, programs.run(FORK_JOIN, samples))
    halves = computes_halves(rate, halved, board.target)
    rate = halved if halves else rate
    cycle, form = cycle_of(rate), fastest(rate)
    levels = {name: Level(1 / read[name], load[name], stream[name], chase[name]) for name in stream}
    memory = levels.pop(MEMORY)
    found = [
        _in_cycles(cache, level, cycle)
        for cache, level in zip(caches, levels.values(), strict=True)
    ]
    if stayed:
        found[-1] = replace(found[-1], others=others(stayed, read[MEMORY], found[-1], cycle))
    return Measured(
        clock=1 / cycle,
        macs_per_cycle=cycle / rate[form],
        form=form,
        loads_per_cycle=max(loads(rate, cycle, board.target)),
        caches=tuple(found),
        sizes_measured=not machine.host.caches,
        levels=tuple(levels.values()),
        memory=memory,
        compiler=f"{programs.compiler.family} {programs.compiler.version}",
        rounds=done,
        samples=samples,
        fork_join=joined.get(FORK_JOIN),
        halves=halves,
        fetching=fetch["fetched"] / fetch["read"],
    )


def keep_best(best: dict[str, float], found: Mapping[str, float]) -> None:
    """For every name the shortest time."""
    for name, seconds in found.items():
        best[name] = min(seconds, best.get(name, seconds))


def cycle_of(rate: Mapping[str, float]) -> float:
    """Seconds of a cycle; ``rate``: what rate.c printed."""
    return min(seconds for name, seconds in rate.items() if name.startswith(_CYCLE))


def fastest(rate: Mapping[str, float]) -> str:
    """The form of multiply-adds of whole vectors that takes the least time for one."""
    whole = (name for name in rate if not name.startswith(_CYCLE) and name != FORM)
    return min(whole, key=rate.__getitem__)


def loads(rate: Mapping[str, float], cycle: float, target: Target) -> Iterator[float]:
    """For every register tile of packed panels, what a step loads per ``cycle`` of so many seconds;
    ``rate``: seconds of a multiply-add."""
    kernel = target.kernel(PANELS)
    for tile in kernel.tiles:
        step = rate[f"{tile.rows}x{tile.vectors}"] * tile.rows * tile.vectors * target.lanes
        yield (tile.rows / kernel.row_multiple + tile.vectors) / (step / cycle)


def others(stayed: Mapping[str, float], memory: float, cache: Cache, cycle: float) -> float | None:
    """Bytes per cycle that other cores bring into ``cache``, at least; None where nothing is seen
    of them.

    ``stayed``: seconds per byte that was read so many milliseconds ago, by "0ms", "1ms" ...;
    ``memory``: of one out of memory.  When half of what was read is lost, so much has passed as
    `target.price.operands.lost` has it.
    """
    waited = {int(name.removesuffix("ms")): seconds for name, seconds in stayed.items()}
    near = waited.pop(0)
    for milliseconds, seconds in sorted(waited.items()):
        if seconds >= (near + memory) / 2:
            return _HALF_LOST * cache.size * cycle / (1e-3 * milliseconds)
    return None


def _in_cycles(cache: Cache, level: Level, cycle: float) -> Cache:
    """``cache`` with its latency in whole cycles, which is what pipelines have."""
    latency = max(1, round(level.latency / cycle))
    return replace(cache, latency=latency, bandwidth=level.bandwidth * cycle)


def _search(programs: Programs, samples: int) -> tuple[Cache, ...]:
    sizes = {str(size): size for size in buffers.SIZES}
    best: dict[str, float] = {}
    for _ in range(LEAST_ROUNDS):
        keep_best(best, programs.run(LATENCY, samples, sizes))
    return buffers.find_caches([best[name] for name in sizes])


@contextmanager
def _pinned(cpus: Collection[int]) -> Iterator[None]:
    """Programs that are started in between run on ``cpus`` only."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cpus)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)
