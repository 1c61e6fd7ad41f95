"""What results as int8 take and save on a microcontroller: instructions counted in the emulator.

    python bench/firmware_counts.py MODEL.onnx [MODEL.onnx ...] [--board mps2-an500] [--io arena]

Of every quantised model two images, its results in float32 and in int8 (--formats float32 int16 of
one of 16 bits), both verified, then booted
in QEMU with a plugin that counts what is executed: once as it is, and once with a second inference.
One line per image: bytes of RAM (arena, inputs and outputs) and of code and constants, millions of
instructions of the whole image, start and checksum of the weights included, and of an inference
alone, and the cycles in millions that the board's file predicts for that.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from counting.program import build_plugin

from edgeconv.app import pipeline
from edgeconv.app.pipeline import CompileOptions
from edgeconv.base.errors import EdgeconvError
from edgeconv.run.build import find_emulator
from edgeconv.run.build.project import Project
from edgeconv.run.build.run import QEMU_SYSTEM_ARGUMENTS

FORMATS = ("float32", "int8")
COLUMNS = ("RAM", "code", "image", "inference", "predicted cycles")
_EXECUTED = re.compile(r"executed ([0-9]+)$", re.MULTILINE)
_RUN = re.compile(r"status = net_run\(.*?\);", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Counts:
    """Bytes; instructions of the image and of an inference; cycles, None where none are known."""

    ram: int
    code: int
    image: int
    inference: int
    cycles: float | None

    def __str__(self) -> str:
        predicted = "-" if self.cycles is None else f"{1e-6 * self.cycles:.3f}"
        executed = (f"{1e-6 * count:.3f}" for count in (self.image, self.inference))
        return "".join(
            f"{cell:>{len(head) + 8}}"
            for head, cell in zip(
                COLUMNS, (f"{self.ram:,}", f"{self.code:,}", *executed, predicted), strict=True
            )
        )


def counted(options: CompileOptions, plugin: Path, folder: Path) -> Counts:
    """Those of a model that is compiled with ``options`` to ``folder``."""
    pipeline.compile_model(options, folder, build=True)
    result = pipeline.verify_project(folder, model=options.model)
    if not result.passed:
        raise EdgeconvError("verification failed", where=str(options.model))
    project = Project.open(folder)
    report, clock = project.report, project.board().clock_hz
    once = executed(project, plugin)
    main = folder / "main.c"
    text, runs = _RUN.subn(lambda found: f"{found[0]}\n        {found[0]}", main.read_text())
    if runs != 1:
        raise EdgeconvError("no inference", where=str(main), got=f"{runs} calls")
    main.write_text(text)
    milliseconds = report["time"]["predicted_ms"]
    return Counts(
        ram=report["ram"]["arena"] + report["ram"]["io"],
        code=report["flash"]["code"] + report["flash"]["rodata"],
        image=once,
        inference=executed(project, plugin) - once,
        cycles=clock * milliseconds / 1e3 if clock and milliseconds else None,
    )


def executed(project: Project, plugin: Path) -> int:
    """Instructions of the project's image, from reset to its exit."""
    binary = project.build(run_here=True)
    command = [*find_emulator(binary.board), "-plugin", str(plugin), "-d", "plugin"]
    command += [*QEMU_SYSTEM_ARGUMENTS, str(binary.path.resolve())]
    done = subprocess.run(
        command, cwd=project.directory, capture_output=True, text=True, check=True
    )
    found = _EXECUTED.search(done.stdout + done.stderr)
    if not found:
        raise EdgeconvError("the plugin counted nothing", where=str(binary.path))
    return int(found.group(1))


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("models", nargs="+", type=Path, metavar="MODEL.onnx")
    parser.add_argument("--board", default="mps2-an500")
    parser.add_argument("--io", default="", choices=["caller", "arena"])
    parser.add_argument("--objective", choices=["latency", "memory", "energy"])
    parser.add_argument("--formats", nargs="+", default=FORMATS, choices=(*FORMATS, "int16"))
    given = parser.parse_args()
    heads = "".join(f"{head:>{len(head) + 8}}" for head in COLUMNS)
    print(f"{given.board:32}{'results':8}{heads}")
    with tempfile.TemporaryDirectory() as temporary:
        plugin = build_plugin(Path(temporary))
        for number, model in enumerate(given.models):
            for form in given.formats:
                options = CompileOptions(
                    model,
                    given.board,
                    name="net",
                    storage={"*:output": form},
                    io=given.io,
                    objective=given.objective,
                )
                found = counted(options, plugin, Path(temporary) / f"{number}_{form}")
                print(f"{model.stem:32}{form:8}{found}", flush=True)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except EdgeconvError as error:
        sys.exit(f"firmware_counts: {error.one_line()}")
