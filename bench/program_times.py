"""Times of emitted programs on a model of 64-bit Arm cores, beside what edgeconv predicts.

    python bench/program_times.py MODEL.onnx [...] [--board B ...] [--float16] [--json]

The program runs under QEMU, and coremodel times samples of what it executes, as engine_times.py
does ncnn's.  A line for each model and board: instructions, cycles of one, the model's time with
the standard error of the samples, the predicted one, and the second over the first.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from arm_engines import BOARDS
from coremodel.machine import machine_of
from coremodel.trace import Cycles, Recorder
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection
from telling import errors_told

from edgeconv.app import pipeline
from edgeconv.app.pipeline import CompileOptions
from edgeconv.run.build.project import Project
from edgeconv.run.build.run import run_command
from edgeconv.target import board as boards

RUNS = 3  # counted, sampled, and where the sample ends


@dataclass(frozen=True, slots=True)
class Timed:
    """An emitted program: what the model takes, and what is predicted (ms)."""

    model: str
    board: str
    cycles: Cycles
    predicted: float

    def __str__(self) -> str:
        found = self.cycles
        head = f"{self.model:24}{self.board:16}{1e-6 * found.trace.instructions:8.1f}M"
        time = f"{found.per_instruction:7.3f}{found.ms:9.1f} ms +-{100 * found.error:4.1f} %"
        return f"{head}{time}{self.predicted:9.1f}{self.predicted / found.ms:7.2f}"


def timed(model: Path, name: str, recorder: Recorder, folder: Path, *, float16: bool) -> Timed:
    """Raises EdgeconvError where the model does not compile or the board has no model."""
    board = boards.load(name)
    machine = machine_of(board)
    options = CompileOptions(model, name, name="net", float16=float16)
    pipeline.compile_model(options, folder)
    project = Project.open(folder)
    binary = project.build()
    data = folder / "input.bin"
    data.write_bytes(bytes(sum(port.bytes for port in project.inputs)))
    inout = ("--input", str(data), "--output", str(folder / "out.bin"))
    command = run_command(binary.path, board, (*inout, "--runs", str(RUNS)))
    trace = recorder.record(command, machine, folder / "trace", _address(binary.path, "net_run"))
    return Timed(
        model.stem, name, recorder.replay(trace, machine), project.report["time"]["predicted_ms"]
    )


def _address(image: Path, function: str) -> int:
    with image.open("rb") as stream:
        table = ELFFile(stream).get_section_by_name(".symtab")
        assert isinstance(table, SymbolTableSection)
        found = table.get_symbol_by_name(function)
        assert found, function
        return int(found[0]["st_value"])


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("models", nargs="+", type=Path, metavar="MODEL.onnx")
    parser.add_argument("--board", action="append", help=f"default: {', '.join(BOARDS)}")
    parser.add_argument("--float16", action="store_true")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    found: list[Timed] = []
    with errors_told(), tempfile.TemporaryDirectory() as place:
        recorder = Recorder(Path(place))
        for model in args.models:
            for name in args.board or BOARDS:
                with tempfile.TemporaryDirectory() as folder:
                    found.append(timed(model, name, recorder, Path(folder), float16=args.float16))
                if not args.json:
                    print(found[-1], flush=True)
    if args.json:
        rows = [
            {
                "model": each.model,
                "board": each.board,
                "instructions": each.cycles.trace.instructions,
                "ms": each.cycles.ms,
                "error": each.cycles.error,
                "predicted_ms": each.predicted,
            }
            for each in found
        ]
        print(json.dumps(rows, indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
