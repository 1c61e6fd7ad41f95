"""Time an emitted program: on the machine at hand, or on its board."""

from __future__ import annotations

import re
import shutil
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from edgeconv.base.arguments import DEFAULT_RUNS
from edgeconv.base.errors import EdgeconvError, UsageError
from edgeconv.base.progress import Progress, no_progress
from edgeconv.run.build import InputFile, run_binary
from edgeconv.run.build import times as times_printed
from edgeconv.run.build.compile import Binary
from edgeconv.run.build.output import Completed
from edgeconv.run.build.program_files import Argument
from edgeconv.run.build.project import Project
from edgeconv.run.verify.inputs import ensure
from edgeconv.target.board import Board, RunKind

PROBE_S = 600.0  # to load an image, move its files through the probe, and run it
WARM_UP = 2  # runs that are not counted: caches, page tables and the clock settle
_CYCLES = re.compile(r"^cycles ([0-9]{1,10})$", re.MULTILINE)


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
    progress: Progress = no_progress,
) -> Timing:
    """Build the project and time ``runs`` inferences on the threads that it has.

    ``layers`` times each layer as well, in another program, which reads the clock between them and
    prints: what that takes is in no time of the whole.  Firmware, which a probe runs, counts the
    cycles of one inference.  Raises EdgeconvError: the board is emulated here, where times mean
    nothing, or states no clock to tell cycles by, or has none between layers (exit status 2); or as
    ``Project.build`` and ``run_binary`` do.
    """
    board = project.board()
    if not board.run.on_board:
        raise UsageError(
            "bench runs natively only",
            where=f"board {board.name}",
            rule="times under an emulator say nothing about the board",
            hint='let a debugger run it (run.kind = "probe"), or flash it: firmware_result.cycles '
            "holds the cycles of a run"
            if board.bare_metal
            else f"--ssh HOST runs it on the board; or run it on a {board.arch} machine, or "
            "compile for board host",
        )
    if board.run.kind is RunKind.PROBE:
        return _on_probe(project, board, layers, progress)
    progress("building")
    binary = project.build()
    traced = project.build(trace=True, times=True) if layers else None
    ensure(project)
    progress("timing")
    seconds = times_printed.of_runs(_printed(project, binary, runs))[WARM_UP:]
    if len(seconds) != runs:
        raise _not_said(binary, f"times of {len(seconds)} of {runs} runs")
    times = _layer_times(project, traced, _printed(project, traced, runs)) if traced else ()
    return _timing(project, binary, seconds, times)


def _printed(project: Project, binary: Binary, runs: int) -> str:
    """What ``binary`` says of ``runs`` runs and those before that do not count."""
    arguments: list[Argument] = ["--input", InputFile(project.input_file), "--output", "/dev/null"]
    arguments += ["--runs", str(runs + WARM_UP)]
    limit = project.patience(runs + WARM_UP)
    done = run_binary(binary.path, binary.board, arguments, cwd=project.directory, timeout=limit)
    _require_success(binary, done)
    return done.stdout


def _on_probe(project: Project, board: Board, layers: bool, progress: Progress) -> Timing:
    """The cycles that a core counts, which repeat."""
    if layers or not board.clock_hz:
        raise UsageError(
            "--layers" if layers else "bench counts cycles",
            where=f"board {board.name}",
            rule="firmware counts the cycles of whole inferences"
            if layers
            else "its file states no clock to make seconds of them",
            hint="leave it out" if layers else "add the key clock",
        )
    progress("building")
    binary = project.build(run_here=True)
    ensure(project)
    shutil.copyfile(project.input_file, project.run_file)
    progress("running")
    done = run_binary(binary.path, board, cwd=project.build_directory, timeout=PROBE_S)
    (project.build_directory / f"{project.name}_output.bin").unlink(missing_ok=True)
    _require_success(binary, done)
    counted = _CYCLES.search(done.stdout + done.stderr)
    if counted is None:
        raise EdgeconvError(
            "no cycles were counted",
            where=f"board {board.name}",
            rule="the core has no cycle counter that runs (Armv6-M, emulators)",
            hint="measure with a timer of the chip around the call",
        )
    return _timing(project, binary, [int(counted[1]) / board.clock_hz], ())


def _require_success(binary: Binary, done: Completed) -> None:
    if done.status != 0:
        raise EdgeconvError(
            "the program failed", where=str(binary.path), got=done.stderr.strip() or "no message"
        )


def _timing(
    project: Project, binary: Binary, seconds: Sequence[float], layers: tuple[LayerTime, ...]
) -> Timing:
    median = statistics.median(seconds)
    macs = project.report["model"]["macs"]
    return Timing(
        board=binary.board.name,
        isa=binary.board.isa,
        compiler=str(binary.compiler),
        runs=len(seconds),
        median_ms=1e3 * median,
        min_ms=1e3 * min(seconds),
        gflops=_gflops(macs, median),
        layers=layers,
        predicted_ms=project.report["time"]["predicted_ms"],
        threads=project.report["threads"],
    )


def _not_said(binary: Binary, got: str) -> EdgeconvError:
    return EdgeconvError(
        "times were not printed, or lost",
        where=str(binary.path),
        got=got,
        rule="the program prints one for each",
        hint="what reaches the board is to pass on what the program prints, and nothing between",
    )


def _layer_times(project: Project, binary: Binary, printed: str) -> tuple[LayerTime, ...]:
    entries = project.report["layers"]
    runs = []
    for run in times_printed.of_layers(printed):
        spent = [0.0] * len(entries)  # of layers that stream rows: all of them
        missing = {*range(len(entries))}
        for number, seconds in run:
            if number >= len(entries):
                raise _not_said(binary, f"one of layer {number} of {len(entries)}")
            spent[number] += seconds
            missing.discard(number)
        if missing:
            raise _not_said(binary, f"none of layer {min(missing)} in some run")
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
