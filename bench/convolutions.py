"""Every distinct convolution of the models, alone and warm on one core, by every algorithm.

    python bench/convolutions.py MODEL.onnx [MODEL.onnx ...] [--cpu 0] [--rounds 15]
        [--against openblas] [--published NAME=RATIO] [--schedules] [--packing] [--json]

Convolutions are taken from the model after all passes, at batch 1, without activations, compiled
as edgeconv compiles them, and timed in turn: every round gives each candidate some calls in a row,
the first of which is not counted.  Medians over the rounds are quoted, packing included; per cent
are of the multiply-add peak that a loop on registers reaches on the same core before or after.
No candidate is timed whose output differs from the first one's.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from convtime import tables
from convtime.baseline import OpenBlas
from convtime.cases import Candidate, CaseOptions, Convolution, candidates, chosen, distinct
from convtime.measure import Effort, Measured, measure
from convtime.program import Library, Program

from edgeconv.base.errors import EdgeconvError, Exit
from edgeconv.kernels.algorithms.problem import ConvProblem
from edgeconv.run.build import Compiler, find_compiler
from edgeconv.target import board as boards
from edgeconv.target.board import Board, RunKind

Functions = list[tuple[Candidate, str]]


class Bench:
    """Times convolutions, each problem once however many models have it."""

    def __init__(self, board: Board, asked: CaseOptions, effort: Effort, quiet: bool) -> None:
        self.board, self.asked, self.effort, self.quiet = board, asked, effort, quiet
        self.compiler: Compiler = find_compiler(board)
        self.openblas = OpenBlas() if asked.openblas else None
        self.done: dict[ConvProblem, Measured] = {}
        self.peaks: list[float] = []

    def say(self, text: str) -> None:
        """Progress, on stderr."""
        if not self.quiet:
            print(text, file=sys.stderr, flush=True)

    def model(self, path: Path) -> list[tuple[Measured, int]]:
        """The convolutions of a model and how often it has each."""
        counts = distinct(path)
        new = [entry for entry, _ in counts if entry.problem not in self.done]
        if new:
            with tempfile.TemporaryDirectory() as folder:
                self._measure(path.stem, new, Path(folder))
        return [(self.done[entry.problem], count) for entry, count in counts]

    def _measure(self, name: str, new: list[Convolution], folder: Path) -> None:
        program = Program(self.board)
        functions: dict[ConvProblem, Functions] = {}
        for entry in new:
            ways = candidates(entry, self.board.target, self.asked)
            functions[entry.problem] = [(way, program.add(way.layer)) for way in ways]
        self.say(f"{name}: compiling {len(new)} convolutions with {self.compiler}")
        library = program.build(folder, self.compiler)
        if self.openblas:
            library.set_sgemm(self.openblas.address)
        for number, entry in enumerate(new, 1):
            self.say(f"{name}: {number} of {len(new)}: {entry.label}")
            self.done[entry.problem] = self._one(entry, functions.pop(entry.problem), library)

    def _one(self, entry: Convolution, functions: Functions, library: Library) -> Measured:
        before = library.peak()
        seconds = measure(entry, functions, library, self.board.target.align, self.effort)
        after = library.peak()
        self.peaks += [before, after]
        sconv = next(way.layer for way, _ in functions if way.name == "sconv")
        return Measured(
            convolution=entry,
            seconds=seconds,
            chosen=chosen(entry, self.board.target),
            schedule=str(sconv.plan["schedule"]),
            workspace_bytes=sconv.workspace_bytes,
            peak=max(before, after),
        )


def _ratio(text: str) -> tuple[str, float]:
    name, _, value = text.partition("=")
    return name, float(value)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("models", nargs="+", type=Path, metavar="MODEL")
    parser.add_argument("--board", default="host")
    parser.add_argument("--cpu", type=int, default=0, help="the core to run on (default 0)")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--turn-ms", type=float, default=2.0, help="length of a turn (default 2)")
    parser.add_argument("--against", choices=["openblas"], help="im2col and this BLAS as well")
    parser.add_argument(
        "--published",
        metavar="NAME=RATIO",
        type=_ratio,
        action="append",
        default=[],
        help="a published speed-up over the baseline, printed beside the one of NAME.onnx",
    )
    parser.add_argument("--schedules", action="store_true", help="both schedules of SConv")
    parser.add_argument("--packing", action="store_true", help="share of packing, and workspace")
    parser.add_argument("--json", action="store_true", help="one JSON document instead of tables")
    return parser


def _native_board(name: str) -> Board:
    board = boards.load(name)
    if board.run.kind is not RunKind.NATIVE:
        raise EdgeconvError(
            "only native times mean anything", where=f"board {name}", code=Exit.USAGE
        )
    return board


def _pin(cpu: int) -> None:
    if cpu not in os.sched_getaffinity(0):
        allowed = ", ".join(map(str, sorted(os.sched_getaffinity(0))))
        raise EdgeconvError("--cpu", got=str(cpu), rule=f"cores: {allowed}", code=Exit.USAGE)
    os.sched_setaffinity(0, {cpu})


def _text(
    models: Mapping[str, list[tuple[Measured, int]]], bench: Bench, published: Mapping[str, float]
) -> None:
    asked = bench.asked
    for name, counted in models.items():
        blocks = [tables.convolutions(counted), tables.total_lines("all", counted)]
        usual = [(entry, count) for entry, count in counted if tables.is_usual_3x3(entry)]
        blocks.append(tables.total_lines("3x3 of 64 input channels or more", usual))
        if asked.packing:
            blocks.append(tables.packing_lines(counted))
        print(f"== {name}")
        print("\n".join(line for block in blocks for line in block), end="\n\n")
    if asked.schedules:
        print("\n".join(tables.schedule_lines(bench.done.values())), end="\n\n")
    if bench.openblas:
        print("\n".join(tables.speedup_lines(models, published)), end="\n\n")
        blas = bench.openblas
        print(
            f"{blas.version}, kernels for {blas.core}: {blas.gflops:.0f} GFLOP/s on square matrices"
        )
        if blas.ignored:
            print(f"variables of the environment that were ignored: {', '.join(blas.ignored)}")
    peaks = f"{min(bench.peaks):.1f} to {max(bench.peaks):.1f}"
    print(f"{bench.board.cpu}, {bench.board.isa}, {bench.compiler}: peak {peaks} GFLOP/s")


def _document(
    models: Mapping[str, list[tuple[Measured, int]]], bench: Bench, published: Mapping[str, float]
) -> dict[str, Any]:
    asked = bench.asked
    result: dict[str, Any] = {
        "board": bench.board.name,
        "cpu": bench.board.cpu,
        "isa": bench.board.isa,
        "compiler": str(bench.compiler),
        "peak_gflops": [min(bench.peaks), max(bench.peaks)],
        "models": {},
    }
    for name, counted in models.items():
        usual = [(entry, count) for entry, count in counted if tables.is_usual_3x3(entry)]
        result["models"][name] = {
            "convolutions": [_row(entry, count) for entry, count in counted],
            "totals": tables.totals(counted),
            "totals_3x3": tables.totals(usual) if usual else {},
            **({"packing": tables.packing_summary(counted)} if asked.packing else {}),
        }
    if asked.schedules:
        result["schedules"] = tables.schedule_summary(list(bench.done.values()))
    if bench.openblas:
        result["openblas"] = {
            "version": bench.openblas.version,
            "kernels": bench.openblas.core,
            "gflops": bench.openblas.gflops,
            "ignored": list(bench.openblas.ignored),
            "speedups": tables.speedups(models),
            "published": dict(published),
        }
    return result


def _row(entry: Measured, count: int) -> dict[str, Any]:
    algorithms = tables.names_of([(entry, count)])
    names = [*algorithms, *(["openblas"] if "openblas" in entry.seconds else [])]
    row = {
        "convolution": entry.convolution.label,
        "count": count,
        "macs": entry.convolution.problem.macs,
        "us": {name: 1e6 * seconds for name, seconds in entry.seconds.items()},
        "gflops": {name: entry.gflops(name) for name in names},
        "peak_gflops": entry.peak,
        "of_peak": {name: entry.gflops(name) / entry.peak for name in names},
        "best": tables.best(entry, algorithms),
        "chosen": entry.chosen,
        "schedule": entry.schedule,
        "workspace_bytes": entry.workspace_bytes,
        "im2col_bytes": entry.convolution.im2col_bytes,
    }
    if any(name.startswith("sconv ") for name in entry.seconds):
        row["schedule_is"] = tables.verdict(entry)
    return row


def main() -> int:
    args = _parser().parse_args()
    asked = CaseOptions(args.against == "openblas", args.schedules, args.packing)
    try:
        board = _native_board(args.board)
        _pin(args.cpu)
        effort = Effort(args.rounds, 1e-3 * args.turn_ms)
        bench = Bench(board, asked, effort, quiet=args.json)
        models = {path.stem: bench.model(path) for path in args.models}
    except EdgeconvError as error:
        print("\n".join([str(error), *error.details]), file=sys.stderr)
        return error.code
    models = {name: counted for name, counted in models.items() if counted}
    published = dict(args.published)
    if args.json:
        print(json.dumps(_document(models, bench, published), indent=2))
    else:
        _text(models, bench, published)
    return 0


if __name__ == "__main__":
    sys.exit(main())
