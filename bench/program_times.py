"""Times of emitted programs on a model of 64-bit Arm cores, beside what edgeconv predicts.

    python bench/program_times.py MODEL.onnx [...] [--board B ...] [--float16] [--layers] [--json]

The program runs under QEMU, and coremodel times samples of what it executes, as engine_times.py
does ncnn's.  A line for each model and board: instructions, cycles of one, the model's time with
the standard error of the samples, the predicted one, and the second over the first.  ``--layers``:
a line for each function of layers with equal plans besides.  Last, of each core, the least and the
most that programs took on its model over what was predicted: `Deviation.programs`.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from arm_engines import BOARDS
from coremodel.emitted import Function, kept_apart, with_seen_prefetches
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
    functions: tuple[Function, ...] = ()

    @property
    def layers(self) -> Iterator[str]:
        """A line for each function."""
        each = zip(
            self.functions, self.cycles.trace.functions, self.cycles.function_ms, strict=True
        )
        for function, count, ms in each:
            head = f"  {function.name:28}{len(function.layers):3}{1e-6 * count:15.3f}M"
            ratio = f"{function.predicted_ms / ms:7.2f}" if ms else ""
            yield f"{head}{ms:16.3f} ms         {function.predicted_ms:9.3f}{ratio}"

    def __str__(self) -> str:
        found = self.cycles
        head = f"{self.model:24}{self.board:16}{1e-6 * found.trace.instructions:8.1f}M"
        time = f"{found.per_instruction:7.3f}{found.ms:9.1f} ms +-{100 * found.error:4.1f} %"
        return f"{head}{time}{self.predicted:9.1f}{self.predicted / found.ms:7.2f}"


def timed(
    model: Path,
    name: str,
    recorder: Recorder,
    folder: Path,
    *,
    float16: bool,
    layers: bool = False,
) -> Timed:
    """Raises EdgeconvError where the model does not compile or the board has no model."""
    board = boards.load(name)
    machine = machine_of(board)
    options = CompileOptions(model, name, name="net", float16=float16)
    pipeline.compile_model(options, folder)
    project = Project.open(folder)
    with_seen_prefetches(project)
    functions = kept_apart(project) if layers else ()
    binary = project.build()
    data = folder / "input.bin"
    data.write_bytes(bytes(sum(port.bytes for port in project.inputs)))
    inout = ("--input", str(data), "--output", str(folder / "out.bin"))
    command = run_command(binary.path, board, (*inout, "--runs", str(RUNS)))
    run, *apart = _addresses(binary.path, ["net_run", *(each.name for each in functions)])
    trace = recorder.record(command, machine, folder / "trace", run, apart)
    predicted = project.report["time"]["predicted_ms"]
    return Timed(model.stem, name, recorder.replay(trace, machine), predicted, functions)


def _addresses(image: Path, functions: Sequence[str]) -> list[int]:
    with image.open("rb") as stream:
        table = ELFFile(stream).get_section_by_name(".symtab")
        assert isinstance(table, SymbolTableSection)
        return [_address(table, name) for name in functions]


def _address(table: SymbolTableSection, function: str) -> int:
    found = table.get_symbol_by_name(function)
    assert found, function
    return int(found[0]["st_value"])


def deviations(found: Sequence[Timed]) -> Iterator[str]:
    """A line for each core."""
    cores: dict[str, list[float]] = {}
    for each in found:
        cores.setdefault(each.cycles.machine.cpu, []).append(each.cycles.ms / each.predicted)
    for cpu, times in cores.items():
        most = f"{min(times):.2f} to {max(times):.2f} times as long as predicted"
        yield f"{cpu}: {most}, {len(times)} program(s)"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("models", nargs="+", type=Path, metavar="MODEL.onnx")
    parser.add_argument("--board", action="append", help=f"default: {', '.join(BOARDS)}")
    parser.add_argument("--float16", action="store_true")
    parser.add_argument("--layers", action="store_true")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    found: list[Timed] = []
    with errors_told(), tempfile.TemporaryDirectory() as place:
        recorder = Recorder(Path(place))
        for model in args.models:
            for name in args.board or BOARDS:
                with tempfile.TemporaryDirectory() as folder:
                    kinds = {"float16": args.float16, "layers": args.layers}
                    found.append(timed(model, name, recorder, Path(folder), **kinds))
                if not args.json:
                    print(found[-1], *found[-1].layers, sep="\n", flush=True)
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
    else:
        print(*deviations(found), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
