"""Files of TensorFlow Lite's converters: what is refused, and how near programs are to LiteRT.

    python bench/converters.py FOLDER [--board host] [--only NAME] [--kinds KIND...]
                                      [--compile-only] [--jobs 1]

FOLDER: of `bench/converter_files.py`, which needs TensorFlow and no edgeconv, or of
`bench/torch_files.py`, which needs litert-torch and none either.  Every file is compiled, those
with integers with ``--requantise tflite`` or, where that is refused, without it; the program runs
on the seeded inputs there, run after run, and is held to what LiteRT's reference kernels made of
them.  Prints a table in Markdown, a network a row, and what is refused or differs.  A cell is
*equal*, or how far outputs are at most: integers in steps, other numbers in parts of the largest.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import edgeconv

KINDS = ("float32", "float16", "dynamic", "int8", "int16x8")
_TOLERANCE = 1e-5  # of float32, in parts of the largest number
Arrays = dict[str, npt.NDArray[Any]]


@dataclass(frozen=True)
class Job:
    """One file, and how it is to be compiled."""

    path: Path
    board: str
    compile_only: bool


@dataclass(frozen=True)
class Found:
    """What became of one file: ``cell`` of the table, ``notes`` on what is refused."""

    name: str
    kind: str
    cell: str
    notes: tuple[str, ...]
    seconds: float
    flash: int
    bytes: int  # of the file


def runs(path: Path) -> list[tuple[Arrays, Arrays]]:
    """Inputs and outputs of each run in such a file, by the names of tensors."""
    found: dict[str, tuple[Arrays, Arrays]] = defaultdict(lambda: ({}, {}))
    with np.load(path) as stored:
        for key in stored:
            number, way, name = key.split("/", 2)
            found[number][way == "out"][name] = stored[key]
    return [found[number] for number in sorted(found, key=int)]


def distance(got: Mapping[str, Any], want: Arrays) -> tuple[float, float]:
    """How far outputs are at most: integers in steps, others in parts of the largest."""
    steps = parts = 0.0
    for name, values in want.items():
        apart = np.abs(np.float64(got[name]).reshape(-1) - np.float64(values).reshape(-1))
        if values.dtype.kind == "f":
            largest = max(float(np.abs(values).max(initial=0)), 1e-30)
            parts = max(parts, float(apart.max(initial=0)) / largest)
        else:
            steps = max(steps, float(apart.max(initial=0)))
    return steps, parts


def measure(job: Job) -> Found:
    """Compile and run one file."""
    name, _, kind = job.path.stem.rpartition("-")
    notes: list[str] = []
    size = job.path.stat().st_size
    with tempfile.TemporaryDirectory() as folder:
        whole = kind.startswith("int") or kind == "dynamic"
        ways = ("tflite", "exact") if whole else ("exact",)
        for way in ways:
            begun = time.process_time()
            try:
                program = edgeconv.compile(job.path, job.board, Path(folder) / way, requantise=way)
            except edgeconv.EdgeconvError as error:
                notes.append(f"{way}: {error.one_line()} {' | '.join(error.details)}")
                continue
            except Exception as error:  # a defect
                notes.append(f"DEFECT {way}: {type(error).__name__} {error}")
                continue
            seconds = time.process_time() - begun
            flash = int(program.report["flash"]["weights"])
            if job.compile_only:
                return Found(name, kind, f"{way}", tuple(notes), seconds, flash, size)
            try:
                cell = compared(program, runs(job.path.with_suffix(".npz")))
            except edgeconv.EdgeconvError as error:
                cell = "fails"
                notes.append(error.one_line())
            if way == "exact" and len(ways) > 1:
                cell += " (rounded once)"
            return Found(name, kind, cell, tuple(notes), seconds, flash, size)
    return Found(name, kind, "refused", tuple(notes), 0, 0, size)


def compared(program: Any, expected: list[tuple[Arrays, Arrays]]) -> str:
    """The cell of a program that ran."""
    fed = [{each.name: inputs[each.name] for each in program.inputs} for inputs, _ in expected]
    got = program.run_all(fed)
    found = [distance(one, want) for one, (_, want) in zip(got, expected, strict=True)]
    steps, parts = (max(each) for each in zip(*found, strict=True))
    if parts > _TOLERANCE:
        return f"{parts:.1g}" + (f", {steps:.0f} steps" if steps else "")
    return f"{steps:.0f} step{'s' * (steps != 1)}" if steps else "equal"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--board", default="host")
    parser.add_argument("--only", default="", help="files whose names begin so")
    parser.add_argument("--kinds", nargs="+", default=KINDS)
    parser.add_argument("--compile-only", action="store_true")
    parser.add_argument("--jobs", type=int, default=1)
    wanted = parser.parse_args()
    paths = sorted(wanted.folder.glob(f"{wanted.only}*.tflite"))
    chosen = [path for path in paths if path.stem.rpartition("-")[2] in wanted.kinds]
    jobs = [Job(path, wanted.board, wanted.compile_only) for path in chosen]
    table: dict[str, dict[str, Found]] = defaultdict(dict)
    with ProcessPoolExecutor(wanted.jobs) as pool:
        for found in pool.map(measure, jobs):
            table[found.name][found.kind] = found
            line = f"{found.name} {found.kind}: {found.cell} {found.seconds:.1f} s, "
            line += f"flash {found.flash} of a file of {found.bytes} bytes"
            print(line, *found.notes, sep="\n  ", file=sys.stderr, flush=True)
    print(f"| network | {' | '.join(wanted.kinds)} |")
    print(f"|---|{'---|' * len(wanted.kinds)}")
    for name, row in sorted(table.items()):
        cells = (row[kind].cell if kind in row else "" for kind in wanted.kinds)
        print(f"| {name} | {' | '.join(cells)} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
