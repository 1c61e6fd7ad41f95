"""Times of programs for this machine beside LiteRT, OpenVINO and ONNX Runtime, on one core in turn.

    python bench/x86_engines.py MODEL [MODEL ...] [--board host ...] [--python PYTHON]
        [--engine litert ...] [--rounds 5] [--seconds 0.3] [--cpu 0] [--keep FOLDER] [--json]

PYTHON has the engines (ai-edge-litert, openvino, onnxruntime, numpy), this one by default; those
that are not there, or refuse the model, are left out.  LiteRT reads .tflite files, ONNX Runtime
.onnx, OpenVINO both.
Each round runs the program of every board and every engine for SECONDS, each in a process of its
own on the same core; a ratio is of two medians of the same round.

A line for each model and board: the program's milliseconds, and each engine's time over it, the
median of the rounds with the least and the most (above 1: the program is faster).
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from engines.pinned import pinned
from engines.timed import ENGINES
from telling import errors_told

READS = {
    "litert": (".tflite",),
    "onnxruntime": (".onnx",),
    "openvino": (".onnx", ".tflite"),
}
SCRIPT = Path(__file__).parent / "engines" / "timed.py"
TOOL = (sys.executable, "-m", "edgeconv")
LEAST_RUNS = 9


@dataclass(frozen=True, slots=True)
class Row:
    """Milliseconds of a program, and of engines by name, round by round."""

    model: str
    board: str
    program: Sequence[float]
    engines: Mapping[str, Sequence[float]]

    def ratios(self, engine: str) -> list[float]:
        """The engine's time over the program's, round by round, the least first."""
        pairs = zip(self.engines[engine], self.program, strict=True)
        return sorted(theirs / ours for theirs, ours in pairs)

    def __str__(self) -> str:
        beside = ""
        for name in self.engines:
            found = self.ratios(name)
            middle = statistics.median(found)
            beside += f"  {name} {middle:5.2f} ({found[0]:.2f} to {found[-1]:.2f})"
        return f"{self.model:24}{self.board:12}{statistics.median(self.program):10.4f}{beside}"


def program_ms(project: Path, runs: int, cpu: int) -> float:
    """The median of ``runs`` runs of a project."""
    done = pinned([*TOOL, "bench", str(project), "--json", "--runs", str(runs)], cpu)
    if done.returncode:
        raise SystemExit(done.stderr)
    return float(json.loads(done.stdout)["median_ms"])


def engine_ms(python: str, engine: str, model: Path, seconds: float, cpu: int) -> float | None:
    """An engine's median, or None where it is not there or refuses the model."""
    done = pinned([python, str(SCRIPT), engine, str(model), str(seconds)], cpu)
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or ["no message"])[-1]
        print(f"{engine} leaves {model.name} out: {reason[:160]}", file=sys.stderr)
        return None
    return float(json.loads(done.stdout)["median_ms"])


def compiled(model: Path, board: str, folder: Path) -> Path:
    """The project of a model for a board, built in ``folder``."""
    project = folder / f"{model.stem}-{board}"
    command = [*TOOL, "compile", str(model), "--board", board, "-o", str(project), "--build"]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(done.stderr)
    return project


def rows(model: Path, folder: Path, args: argparse.Namespace) -> list[Row]:
    """One for each board, of the same rounds of the engines."""
    projects = {board: compiled(model, board, folder) for board in args.board}
    runs = {}
    for board, project in projects.items():
        took = program_ms(project, LEAST_RUNS, args.cpu)
        runs[board] = max(LEAST_RUNS, int(1e3 * args.seconds / took))
    programs: dict[str, list[float]] = {board: [] for board in projects}
    engines: dict[str, list[float]] = {n: [] for n in args.engine if model.suffix in READS[n]}
    for _ in range(args.rounds):
        for board, project in projects.items():
            programs[board].append(program_ms(project, runs[board], args.cpu))
        for name in [*engines]:
            theirs = engine_ms(args.python, name, model, args.seconds, args.cpu)
            if theirs is None:
                del engines[name]
            else:
                engines[name].append(theirs)
    return [Row(model.stem, board, programs[board], engines) for board in projects]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("models", nargs="+", type=Path, metavar="MODEL")
    parser.add_argument("--board", action="append", help="host by default; may be repeated")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--engine", action="append", choices=[*ENGINES])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.3)
    parser.add_argument("--cpu", type=int, default=0)
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="for the projects")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    args.board = args.board or ["host"]
    args.engine = args.engine or [*ENGINES]
    found: list[Row] = []
    with tempfile.TemporaryDirectory() as made:
        folder = args.keep or Path(made)
        for model in args.models:
            for row in rows(model, folder, args):
                found.append(row)
                if not args.json:
                    print(row, flush=True)
    if args.json:
        print(json.dumps([{s: getattr(r, s) for s in Row.__slots__} for r in found], indent=1))


if __name__ == "__main__":
    with errors_told():
        main()
