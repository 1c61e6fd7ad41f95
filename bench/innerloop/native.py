"""The micro-kernels timed on the running CPU, each between two runs of a loop of independent
multiply-adds, on operands that stay in the L1 data cache."""

from __future__ import annotations

import shlex
import statistics
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from convtime.program import HERE as TIMING
from convtime.program import MULTIPLY_ADDS, Arena, Floats, Library

from edgeconv.base.errors import EdgeconvError
from edgeconv.kernels.headers import include_flags
from edgeconv.run.build import compile_project
from edgeconv.run.build.toolchain import probe
from edgeconv.target import board as boards
from edgeconv.target.backends import TARGETS
from edgeconv.target.board import Board
from edgeconv.target.cache import ASSUMED
from edgeconv.target.host import detect
from edgeconv.target.targets import Target
from innerloop.program import Kernel, find_compiler, kernels, source

ENOUGH = 0.90  # of independent multiply-adds
ROUNDS = 15
TURN_S = 2e-3
FLOAT_BYTES = 4
L1_SHARE = 0.75  # for the panels; sums and the stack want some of it too
MOST_STEPS = 512
STEPS = 16  # a multiple of every ISA's channel block, so that no kernel has a remainder
TOLERANCE = 1e-5  # of the largest sum

# A function of one array of pointers per micro-kernel, as the clock wants it; the last is kc.
_CALLS = """
#define CALL_OUTER(MR, NV)                                                                  \\
    void call_outer_##MR##_##NV(void *const *p)                                             \\
    {                                                                                       \\
        outer_##MR##_##NV(p[0], p[1], p[3], NV * EC_VL, (int)(intptr_t)p[4]);               \\
    }
#define CALL_DIRECT(MR, NV)                                                                 \\
    void call_direct_##MR##_##NV(void *const *p)                                            \\
    {                                                                                       \\
        direct_##MR##_##NV(p[0], p[1], p[2], p[3], NV * EC_VL, (int)(intptr_t)p[4]);        \\
    }
"""


@dataclass(frozen=True, slots=True)
class Timed:
    """One micro-kernel.  ``kc``: steps of a call.  ``gflops`` and ``peak`` (GFLOP/s of independent
    multiply-adds right before or after), ``share`` of that peak: medians over the rounds."""

    isa: str
    compiler: str
    kernel: str
    first: bool
    kc: int
    gflops: float
    peak: float
    share: float

    @property
    def falls_short(self) -> bool:
        """This is a first tile, and too slow."""
        return self.first and self.share < ENOUGH

    @property
    def text(self) -> str:
        """A line of the table."""
        verdict = "yes" if self.share >= ENOUGH else "no"
        return (
            f"{self.isa:11}{self.compiler:6}{self.kernel:14}{self.kc:5}{self.gflops:10.1f}"
            f"{self.peak:8.1f}{100 * self.share:8.1f} {verdict:>5}"
        )


HEAD = f"{'ISA':11}{'by':6}{'tile':14}{'kc':>5}{'GFLOP/s':>10}{'peak':>8}{'% of it':>8} {'>=90':>5}"


@dataclass(frozen=True, slots=True)
class _Case:
    """A micro-kernel and the steps of a call; ``lanes`` per vector."""

    kernel: Kernel
    lanes: int
    kc: int

    @property
    def rows(self) -> int:
        """Of the tile."""
        return self.kernel.tile.rows

    @property
    def width(self) -> int:
        """Floats of a row of the tile."""
        return self.kernel.tile.vectors * self.lanes

    @property
    def panel_floats(self) -> int:
        """Of both operands; what direct convolution reads of the first is less."""
        return self.kc * (self.rows + self.width)

    @property
    def flops(self) -> int:
        """Two per multiply-add."""
        return 2 * self.kc * self.rows * self.width

    def sums(self, panels: Floats) -> Floats:
        """What the micro-kernel computes, (rows, width)."""
        row, step = (1, self.rows) if self.kernel.kind == "outer" else (self.lanes, 1)
        a = panels[np.add.outer(np.arange(self.rows) * row, np.arange(self.kc) * step)]
        b = panels[self.kc * self.rows : self.panel_floats].reshape(self.kc, self.width)
        return (a.astype(np.float64) @ b).astype(np.float32)


def runnable() -> tuple[str, ...]:
    """The vector ISAs of the running CPU, by name."""
    host = detect()
    return tuple(
        name
        for name, row in TARGETS.items()
        if row.lanes > 1 and row.arch == host.arch and host.has(row.cpu_flags)
    )


def time_kernels(isa: str, family: str, rounds: int = ROUNDS) -> Iterator[Timed]:
    """All micro-kernels of a runnable ISA, compiled by "gcc" or "clang" as for board ``host``; none
    without the compiler.

    Raises EdgeconvError when they do not compile, or one's sums are wrong.
    """
    board = replace(boards.load("host"), isa=isa)
    budget = int(L1_SHARE * (board.caches or ASSUMED)[0].size)
    cases = [_case(kernel, board.target, budget) for kernel in kernels(board.target)]
    with tempfile.TemporaryDirectory() as folder:
        library = _build(board, family, [case.kernel for case in cases], Path(folder))
        if library is None:
            return
        memory = _Memory(cases, board.target.align)
        for case in cases:
            _require_sums(case, memory, library)
        rates, peaks = _take_turns(cases, memory, library, rounds)
    for case, rate, peak in zip(cases, rates, peaks, strict=True):
        yield Timed(
            isa=isa,
            compiler=family,
            kernel=str(case.kernel),
            first=case is cases[0],
            kc=case.kc,
            gflops=statistics.median(rate),
            peak=statistics.median(peak),
            share=statistics.median(r / p for r, p in zip(rate, peak, strict=True)),
        )


def _build(board: Board, family: str, every: Sequence[Kernel], folder: Path) -> Library | None:
    command = find_compiler(board.target, family)
    compiler = probe(shlex.join(command)) if command else None
    if compiler is None:
        return None
    calls = (f"CALL_{k.kind.upper()}({k.tile.rows}, {k.tile.vectors})" for k in every)
    text = [
        "#define _POSIX_C_SOURCE 200809L\n#include <time.h>",
        source(board.target, every),
        MULTIPLY_ADDS.read_text(encoding="utf-8"),
        (TIMING / "timing.c").read_text(encoding="utf-8"),
        _CALLS,
        *calls,
    ]
    (folder / "kernels.c").write_text("\n".join(text) + "\n", encoding="utf-8")
    binary = compile_project(
        folder,
        board,
        sources=["kernels.c"],
        out=folder / "kernels.so",
        extra_flags=("-fPIC", "-shared", "-w", *include_flags()),
        compiler=compiler,
    )
    return Library(binary.path)


def _case(kernel: Kernel, target: Target, budget: int) -> _Case:
    """As many steps as ``budget`` bytes hold."""
    one = _Case(kernel, target.lanes, 1)
    kc = min(MOST_STEPS, budget // (one.panel_floats * FLOAT_BYTES))
    return replace(one, kc=max(STEPS, kc - kc % STEPS))


class _Memory:
    """Operands and sums that all micro-kernels share: one at a time has them in L1."""

    def __init__(self, cases: Sequence[_Case], align: int) -> None:
        panels = max(case.panel_floats for case in cases) * FLOAT_BYTES
        bias = max(case.width for case in cases) * FLOAT_BYTES
        sums = max(case.rows * case.width for case in cases) * FLOAT_BYTES
        arena = Arena([panels, bias, sums], align)
        self.panels, self.bias, self.sums = map(arena.take, (panels, bias, sums))
        self.panels[:] = np.random.default_rng(1).standard_normal(self.panels.size, np.float32)

    def pointers(self, case: _Case) -> tuple[int, ...]:
        """The arguments of a call."""
        second = self.panels[case.kc * case.rows :]
        memory = (self.panels, second, self.bias, self.sums)
        return (*(values.ctypes.data for values in memory), case.kc)


def _seconds(case: _Case, memory: _Memory, library: Library, calls: int) -> float:
    return library.seconds(f"call_{case.kernel.function}", memory.pointers(case), calls)


def _require_sums(case: _Case, memory: _Memory, library: Library) -> None:
    memory.sums.fill(np.nan)
    _seconds(case, memory, library, 1)
    want = case.sums(memory.panels)
    got = memory.sums[: want.size].reshape(want.shape)
    error = float(np.max(np.abs(got - want)) / np.max(np.abs(want)))
    if not error <= TOLERANCE:  # NaN is no agreement either
        raise EdgeconvError(
            "wrong result",
            where=str(case.kernel),
            got=f"a difference of {error:.2g} of the largest sum",
            rule=f"from NumPy's by at most {TOLERANCE:g}",
        )


def _take_turns(
    cases: Sequence[_Case], memory: _Memory, library: Library, rounds: int
) -> tuple[list[list[float]], list[list[float]]]:
    """Per case and round its GFLOP/s, and the better of the peaks right before and right after."""
    calls = [max(1, round(TURN_S / _seconds(case, memory, library, 10))) for case in cases]
    rates: list[list[float]] = [[] for _ in cases]
    peaks: list[list[float]] = [[] for _ in cases]
    before = library.peak()
    for _ in range(rounds):
        for number, case in enumerate(cases):
            seconds = _seconds(case, memory, library, calls[number])
            after = library.peak()
            rates[number].append(1e-9 * case.flops / seconds)
            peaks[number].append(max(before, after))
            before = after
    return rates, peaks
