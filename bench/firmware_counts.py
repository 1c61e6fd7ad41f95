"""What results as int8 take and save on a microcontroller: instructions counted in the emulator.

    python bench/firmware_counts.py MODEL.onnx [MODEL.onnx ...] [--board mps2-an500]

Of every quantised model two images, its results in int8 and in float32: both verified, then booted
once more in QEMU with a plugin that counts what one inference executes, start and checksum of the
weights included.  One line per model: bytes of the arena, of code and constants, and millions of
instructions, of float32 and of int8.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from counting.program import build_plugin

from edgeconv import pipeline
from edgeconv.build import find_emulator
from edgeconv.build.project import Project
from edgeconv.build.run import QEMU_SYSTEM_ARGUMENTS
from edgeconv.errors import EdgeconvError
from edgeconv.pipeline import CompileOptions

FORMATS = ("float32", "int8")
_EXECUTED = re.compile(r"^executed ([0-9]+)$", re.MULTILINE)


def counted(model: Path, board: str, form: str, plugin: Path, folder: Path) -> tuple[int, int, int]:
    """Bytes of arena and of code with constants, and instructions, with results in ``form``."""
    options = CompileOptions(model, board, name="net", storage={"*:output": form})
    pipeline.compile_model(options, folder, build=True)
    result = pipeline.verify_project(folder, model=model)
    if not result.passed:
        raise EdgeconvError("verification failed", where=str(model), got=f"results in {form}")
    project = Project.open(folder)
    binary = project.build(run_here=True)
    command = [*find_emulator(binary.board), "-plugin", str(plugin), "-d", "plugin"]
    command += [*QEMU_SYSTEM_ARGUMENTS, str(binary.path.resolve())]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    found = _EXECUTED.search(done.stdout + done.stderr)
    if not found:
        raise EdgeconvError("the plugin counted nothing", where=str(binary.path))
    flash = project.report["flash"]
    code = flash["code"] + flash["rodata"]
    return project.report["ram"]["arena"], code, int(found.group(1))


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("models", nargs="+", type=Path, metavar="MODEL.onnx")
    parser.add_argument("--board", default="mps2-an500")
    given = parser.parse_args()
    heads = [f"{what}, {form}" for what in ("arena", "code", "10^6") for form in FORMATS]
    print(f"{given.board:32}" + "".join(f"{head:>16}" for head in heads) + f"{'ratio':>8}")
    with tempfile.TemporaryDirectory() as temporary:
        plugin = build_plugin(Path(temporary))
        for number, model in enumerate(given.models):
            both = [
                counted(model, given.board, form, plugin, Path(temporary) / f"{number}_{form}")
                for form in FORMATS
            ]
            arenas, codes, executed = zip(*both, strict=True)
            bytes_ = "".join(f"{size:16,}" for size in (*arenas, *codes))
            work = "".join(f"{1e-6 * count:16.2f}" for count in executed)
            print(f"{model.stem:32}{bytes_}{work}{executed[1] / executed[0]:8.3f}", flush=True)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except EdgeconvError as error:
        sys.exit(f"firmware_counts: {error.one_line()}")
