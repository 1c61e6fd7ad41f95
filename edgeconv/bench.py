"""Time an emitted program on the machine at hand."""

from __future__ import annotations

import re
import statistics
from dataclasses import dataclass

from edgeconv.arguments import DEFAULT_RUNS
from edgeconv.board import RunKind
from edgeconv.build import run_binary
from edgeconv.build.compile import Binary
from edgeconv.build.project import Project
from edgeconv.errors import EdgeconvError, UsageError
from edgeconv.progress import Tell, nobody
from edgeconv.verify.inputs import ensure

WARM_UP = 2  # runs that are not counted: caches, page tables and the clock settle
_RUN = re.compile(r"run ([0-9.]+)")
_LAYER = re.compile(r"layer ([0-9]+) ([0-9.]+)")


@dataclass(frozen=True, slots=True)
class LayerTime:
    """Median over the runs.  ``gflops`` counts two operations per multiply-accumulate; 0 for a
    layer without any.  ``predicted_ms``: what the report says, None where the board states too
    little."""

    name: str
    op: str
    median_ms: float
    gflops: float
    predicted_ms: float | None = None


@dataclass(frozen=True, slots=True)
class Timing:
    """Median and minimum over ``runs``, warm-up excluded.  ``layers`` only where asked for.
    ``predicted_ms`` as in LayerTime."""

    board: str
    isa: str
    compiler: str
    runs: int
    median_ms: float
    min_ms: float
    gflops: float
    layers: tuple[LayerTime, ...]
    predicted_ms: float | None = None
    threads: int = 1


def require_threads(project: Project, threads: int | None) -> None:
    """Raises UsageError where ``project`` was compiled for another number of threads than is asked
    for; how they share layers is decided then."""
    has = project.report["threads"]
    if threads not in (None, has):
        raise UsageError(
            f"--threads {threads}",
            where=str(project.directory),
            rule=f"the project was compiled for {has} thread{'s' if has > 1 else ''}",
            hint=f"edgeconv compile ... --threads {threads}",
        )


def bench(
    project: Project,
    *,
    runs: int = DEFAULT_RUNS,
    layers: bool = False,
    tell: Tell = nobody,
) -> Timing:
    """Build the project and time ``runs`` inferences on the threads that it has.

    ``layers`` times each layer as well, in a program that reads the clock between them.  Raises
    EdgeconvError: the board is emulated here, where times mean nothing (exit status 2), or as
    ``Project.build`` and ``run_binary`` do.
    """
    board = project.board()
    if board.run.kind is not RunKind.NATIVE:
        raise UsageError(
            "bench runs natively only",
            where=f"board {board.name}",
            rule="times under an emulator say nothing about the board",
            hint="flash it: firmware_result.cycles holds the cycles of a run"
            if board.bare_metal
            else f"run it on a {board.arch} machine, or compile for board host",
        )
    tell("building")
    binary = project.build(trace=layers)
    ensure(project)
    tell("timing")
    arguments = ["--input", str(project.input_file.resolve()), "--output", "/dev/null"]
    arguments += ["--runs", str(runs + WARM_UP)]
    done = run_binary(binary.path, board, arguments, cwd=project.directory)
    if done.status != 0:
        raise EdgeconvError(
            "the program failed", where=str(binary.path), got=done.stderr.strip() or "no message"
        )
    return _timing(project, binary, done.stdout, runs, layers)


def _timing(project: Project, binary: Binary, printed: str, runs: int, layers: bool) -> Timing:
    seconds = [float(text) for text in _RUN.findall(printed)][WARM_UP:]
    median = statistics.median(seconds)
    macs = project.report["model"]["macs"]
    return Timing(
        board=binary.board.name,
        isa=binary.board.isa,
        compiler=str(binary.compiler),
        runs=runs,
        median_ms=1e3 * median,
        min_ms=1e3 * min(seconds),
        gflops=_gflops(macs, median),
        layers=_layer_times(project, printed) if layers else (),
        predicted_ms=project.report["time"]["predicted_ms"],
        threads=project.report["threads"],
    )


def _layer_times(project: Project, printed: str) -> tuple[LayerTime, ...]:
    entries = project.report["layers"]
    runs = []
    for run in _RUN.split(printed)[:-1:2]:  # what was printed during each
        spent = [0.0] * len(entries)  # of layers that take turns: all of them
        for number, text in _LAYER.findall(run):
            spent[int(number)] += float(text)
        runs.append(spent)
    medians = [statistics.median(times) for times in zip(*runs[WARM_UP:], strict=True)]
    return tuple(
        LayerTime(
            entry["name"],
            entry["op"],
            1e3 * median,
            _gflops(entry["macs"], median),
            entry["predicted_ms"],
        )
        for entry, median in zip(entries, medians, strict=True)
    )


def _gflops(macs: int, seconds: float) -> float:
    return 2e-9 * macs / seconds if seconds > 0 else 0.0
