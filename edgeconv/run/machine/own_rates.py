"""What a core of the running machine does: measured when `host` is first compiled for."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from edgeconv.base.errors import EdgeconvError
from edgeconv.base.progress import Progress, no_progress
from edgeconv.run.machine import buffers, probe
from edgeconv.run.machine.half_vectors import computes_halves
from edgeconv.run.machine.measure import cycle_of, fastest, keep_best, loads
from edgeconv.run.machine.programs import BANDWIDTH, FETCH, HALVES_RATE, LATENCY, RATE, Programs
from edgeconv.target import board as boards
from edgeconv.target.board import Board, own_rates
from edgeconv.target.board.own_rates import (
    CACHE_BYTES,
    CYCLES,
    FETCHING_PAYS,
    MEMORY_BYTES,
    OwnRates,
    coarse,
    rounded,
)
from edgeconv.target.targets import Target

HOST = "host"
ROUNDS, SAMPLES = 3, 3  # of some tenths of a second


def load(name: str, progress: Progress = no_progress) -> Board:
    """`boards.load`; of the running machine, if it is `host`, what is measured of it is known then.

    Raises EdgeconvError as that does, and for nothing else: what cannot be measured or kept is as a
    board that does not state it.
    """
    board = boards.load(name)
    if name != HOST or board.target.lanes == 1:
        return board
    key = own_rates.processor(board.cpu, board.isa, board.caches)
    if key in own_rates.read() or not own_rates.keeps():
        return board
    progress("measuring what a core of this machine loads and multiplies, once")
    rates = _measured(board)
    if key not in own_rates.read():  # or another process was faster, and what it keeps counts
        own_rates.keep(key, rates)
    return boards.load(name)


def _measured(board: Board) -> OwnRates | None:
    line = board.caches[0].line if board.caches else buffers.ASSUMED_LINE
    names = (RATE, HALVES_RATE, *((BANDWIDTH, LATENCY, FETCH) if board.caches else ()))
    rate: dict[str, float] = {}
    halved: dict[str, float] = {}
    try:
        with TemporaryDirectory(prefix="edgeconv-") as folder:
            programs = Programs(board, Path(folder), line, names=names)
            for _ in range(ROUNDS):
                keep_best(rate, programs.run(RATE, SAMPLES))
                keep_best(halved, programs.run(HALVES_RATE, SAMPLES))
            halves = computes_halves(rate, halved, board.target)
            rate = halved if halves else rate
            cycle = cycle_of(rate)
            bandwidth, latency, fetching = _memories(programs, cycle)
        vector = rate[fastest(rate)] * board.target.lanes * board.target.peak
        return OwnRates(
            loads_per_multiply_add=rounded(loads_per_multiply_add(rate, board.target)),
            multiply_adds_per_cycle=rounded(cycle / vector),
            bandwidth=bandwidth,
            latency=latency,
            halves=halves,
            prefetch_far=fetching <= FETCHING_PAYS,
        )
    except (EdgeconvError, OSError, ValueError, ZeroDivisionError, KeyError):
        return None


def loads_per_multiply_add(rate: Mapping[str, float], target: Target) -> float:
    """What register tiles load while the core multiplies and adds a vector, that of the tiles which
    loads most.  ``rate``: seconds of a multiply-add, by form."""
    return max(loads(rate, rate[fastest(rate)] * target.lanes * target.peak, target))


def _memories(
    programs: Programs, cycle: float
) -> tuple[tuple[float, ...], tuple[float, ...], float]:
    """Bytes per cycle and cycles of every cache but the first and of memory, as `OwnRates` has
    them, and what prefetching is to be `Measured.fetching`; none and 1 where there are no
    caches, or too little memory is free."""
    read: dict[str, float] = {}
    load: dict[str, float] = {}
    fetch: dict[str, float] = {}
    caches = programs.board.caches
    if not caches:
        return (), (), 1.0
    try:
        stream = buffers.streamed(caches, probe.available())
        chase = buffers.chased(caches, stream)
        first = buffers.level_name(caches[0].level)  # what it answers, register tiles have told
        del stream[first], chase[first]
        for _ in range(ROUNDS):
            keep_best(read, programs.run(BANDWIDTH, SAMPLES, stream))
            keep_best(load, programs.run(LATENCY, SAMPLES, chase))
            far = {buffers.MEMORY: stream[buffers.MEMORY]}
            keep_best(fetch, programs.run(FETCH, SAMPLES, far))
        steps = dict.fromkeys(stream, CACHE_BYTES) | {buffers.MEMORY: MEMORY_BYTES}
        return (
            tuple(coarse(cycle / read[name], each) for name, each in steps.items()),
            tuple(coarse(load[name] / cycle, CYCLES) for name in steps),
            fetch["fetched"] / fetch["read"],
        )
    except (EdgeconvError, ValueError, ZeroDivisionError):
        return (), (), 1.0
