"""What bounded steps cost on a microcontroller, and whether they keep to their budgets: under QEMU.

    python bench/steps.py MODEL.onnx [MODEL.onnx ...] [--board mps2-an386]

Of every model two images, without and with --resumable, each booted in QEMU with a plugin that
counts instructions.  First bytes of code and of the arena, and instructions of an inference, of
both.  Then by budget, from the least to all of a run: how many steps there are, instructions of the
whole run beside those without --resumable, instructions of the longest step, and per unit of its
budget.  Outputs of every budget are compared with those of one run, byte by byte.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from counting.program import build_plugin
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

from edgeconv.app import pipeline
from edgeconv.app.pipeline import CompileOptions
from edgeconv.base.errors import EdgeconvError
from edgeconv.run.build import find_emulator
from edgeconv.run.build.project import Project
from edgeconv.run.build.run import QEMU_SYSTEM_ARGUMENTS
from edgeconv.run.verify.inputs import ensure

_RUN = re.compile(r"status = net_run\(model(.*?)\);", re.DOTALL)
_BETWEEN = re.compile(r"^between ([0-9]+)$", re.MULTILINE)
_PARTS = (1000, 100, 30, 10, 3, 1)  # of a run, as budgets


@dataclass(frozen=True, slots=True)
class Steps:
    """Instructions of every call of a function in one run, and the outputs' bytes."""

    instructions: Sequence[int]
    outputs: bytes


def counted(project: Project, plugin: Path, call: str, function: str) -> Steps:
    """Those of ``function`` in a run that consists of ``call``, a statement of C in which ``ARGS``
    are the tensors; it runs twice, and the first one is counted."""
    main = project.directory / "main.c"
    text = main.read_text()
    made, places = _RUN.subn(lambda found: 2 * call.replace("ARGS", found[1]), text)
    if places != 1:
        raise EdgeconvError("no inference", where=str(main), got=f"{places} calls")
    main.write_text(made)
    try:
        binary = project.build(run_here=True)
    finally:
        main.write_text(text)
    with binary.path.open("rb") as image:
        symbols = ELFFile(image).get_section_by_name(".symtab")
        assert isinstance(symbols, SymbolTableSection)
        found = symbols.get_symbol_by_name(function)
        assert found
        at = found[0]["st_value"] & ~1
    command = [*find_emulator(binary.board), "-plugin", f"{plugin},at={at:#x}"]
    command += [*QEMU_SYSTEM_ARGUMENTS, str(binary.path.resolve())]
    shutil.copyfile(project.input_file, project.run_file)
    done = subprocess.run(
        command, cwd=project.build_directory, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise EdgeconvError("the image failed", where=str(binary.path), got=done.stdout[-200:])
    each = [int(number) for number in _BETWEEN.findall(done.stderr)][1:]
    count = (len(each) + 1) // 2
    written = project.build_directory / f"{project.name}_output.bin"
    return Steps(each[:count], written.read_bytes())


def stepping(budget: int) -> str:
    """A run in steps of so many units."""
    step = f"net_step((net_model *)(uintptr_t)model, UINT32_C({budget})ARGS)"
    return f"do status = {step}; while (status == NET_MORE);\n"


def report(model: Path, board: str, plugin: Path, folder: Path) -> None:
    """Prints what there is to know of one model."""
    projects = []
    for resumable in (False, True):
        options = CompileOptions(model, board, name="net", resumable=resumable)
        where = folder / f"{model.stem}-{resumable}"
        pipeline.compile_model(options, where, build=True)
        projects.append(Project.open(where))
        ensure(projects[-1])
    resumed = projects[1]
    once = "status = net_run(modelARGS);\n"
    runs = [sum(counted(each, plugin, once, "net_run").instructions) for each in projects]
    print(f"{model.stem}, {board}")
    sizes = [(each.report["flash"], each.report["ram"]) for each in projects]
    code = [flash["code"] + flash["rodata"] for flash, _ in sizes]
    print(f"  {'code':12} {code[0]:>10,} -> {code[1]:,} bytes")
    print(f"  {'arena':12} {sizes[0][1]['arena']:>10,} -> {sizes[1][1]['arena']:,} bytes")
    print(f"  {'run':12} {runs[0]:>10,} -> {runs[1]:,} instructions ({runs[1] / runs[0]:.4f})")
    found = resumed.report["resumable"]
    want = counted(resumed, plugin, once, "net_run").outputs
    print(f"  {'budget':>12} {'steps':>7} {'of a run':>9} {'longest':>11} {'per unit':>9}")
    budgets = {max(found["least"], -(-found["total"] // part)) for part in _PARTS}
    for budget in sorted({found["least"], *budgets}):
        steps = counted(resumed, plugin, stepping(budget), "net_step")
        if steps.outputs != want:
            raise EdgeconvError("other outputs", got=f"budget {budget}")
        longest, total = max(steps.instructions), sum(steps.instructions)
        print(
            f"  {budget:>12,} {len(steps.instructions):>7} {total / runs[0]:>9.4f} "
            f"{longest:>11,} {longest / budget:>9.3f}",
            flush=True,
        )


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("models", nargs="+", type=Path, metavar="MODEL.onnx")
    parser.add_argument("--board", default="mps2-an386")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        plugin = build_plugin(Path(temporary), "between")
        for model in given.models:
            report(model, given.board, plugin, Path(temporary))
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except EdgeconvError as error:
        sys.exit(f"steps: {error.one_line()}")
