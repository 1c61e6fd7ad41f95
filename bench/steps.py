"""What bounded steps cost on a microcontroller, and whether they keep to their budgets: under QEMU.

    python bench/steps.py MODEL.onnx [MODEL.onnx ...] [--board NAME ...] [--budgets 6]
                          [--state OUT=IN ...]

Of every model two images, without and with --resumable, each booted in QEMU with a plugin that
counts instructions.  First bytes of code and of the arena, and instructions of an inference, of
both.  Then by budget, from the least, a row of the most expensive layer, to all of a run, each as
many times the one before: how many steps there are, instructions of the whole run beside those
without --resumable, instructions of the longest step, and per unit of its budget.

Outputs of every budget are compared with those of one run, byte by byte, and the longest step with
its budget, of so many cycles: a core executes at most one instruction in each, or two where it
begins two.  The program ends with 1 where either is off.
"""

from __future__ import annotations

import argparse
import itertools
import math
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from counting.program import build_plugin
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

from edgeconv.app import pipeline
from edgeconv.app.pipeline import CompileOptions
from edgeconv.base.arguments import pair
from edgeconv.base.errors import EdgeconvError
from edgeconv.run.build import find_emulator
from edgeconv.run.build.project import Project
from edgeconv.run.build.run import QEMU_SYSTEM_ARGUMENTS
from edgeconv.run.verify.inputs import ensure
from edgeconv.target.targets import DUAL_ISSUE

_RUN = re.compile(r"status = net_run\(model(.*?)\);", re.DOTALL)
_BETWEEN = re.compile(r"^between ([0-9]+)$", re.MULTILINE)
_TENTH = 10  # a budget of this part of a run is always among those


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


def budgets(least: int, total: int, count: int) -> Sequence[int]:
    """``count`` of them from ``least`` to ``total`` by equal factors, and a tenth."""
    factor = (total / least) ** (1 / max(count - 1, 1))
    row = {min(total, math.ceil(least * factor**i)) for i in range(count)}
    return sorted({*row, least, total, max(least, -(-total // _TENTH))})


def report(options: CompileOptions, count: int, plugin: Path, folder: Path) -> None:
    """Prints what there is to know of one model, by so many budgets.  Raises EdgeconvError where
    outputs differ or a step takes longer than it may."""
    projects = []
    for resumable in (False, True):
        where = folder / f"{options.model.stem}-{options.board}-{resumable}"
        options = replace(options, resumable=resumable)
        pipeline.compile_model(options, where, build=True)
        projects.append(Project.open(where))
        ensure(projects[-1])
    resumed = projects[1]
    once = "status = net_run(modelARGS);\n"
    runs = [sum(counted(each, plugin, once, "net_run").instructions) for each in projects]
    most = 2 if DUAL_ISSUE in resumed.board().target.features else 1
    print(f"{options.model.stem}, {options.board}")
    sizes = [(each.report["flash"], each.report["ram"]) for each in projects]
    code = [flash["code"] + flash["rodata"] for flash, _ in sizes]
    print(f"  {'code':12} {code[0]:>10,} -> {code[1]:,} bytes")
    print(f"  {'arena':12} {sizes[0][1]['arena']:>10,} -> {sizes[1][1]['arena']:,} bytes")
    print(f"  {'run':12} {runs[0]:>10,} -> {runs[1]:,} instructions ({runs[1] / runs[0]:.4f})")
    found = resumed.report["resumable"]
    want = counted(resumed, plugin, once, "net_run").outputs
    print(f"  {'budget':>12} {'steps':>7} {'of a run':>9} {'longest':>11} {'per unit':>9}")
    for budget in budgets(found["least"], found["total"], count):
        steps = counted(resumed, plugin, stepping(budget), "net_step")
        if steps.outputs != want:
            raise EdgeconvError("other outputs", got=f"budget {budget}")
        longest, total = max(steps.instructions), sum(steps.instructions)
        print(
            f"  {budget:>12,} {len(steps.instructions):>7} {total / runs[0]:>9.4f} "
            f"{longest:>11,} {longest / budget:>9.3f}",
            flush=True,
        )
        if longest > most * budget:
            raise EdgeconvError("a step exceeds its budget", got=f"{longest} instructions")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("models", nargs="+", type=Path, metavar="MODEL.onnx")
    parser.add_argument("--board", nargs="+", default=["mps2-an386"])
    parser.add_argument("--budgets", type=int, default=6, metavar="N")
    parser.add_argument("--state", nargs="*", type=pair, default=[], metavar="OUT=IN")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        plugin = build_plugin(Path(temporary), "between")
        for model, board in itertools.product(given.models, given.board):
            options = CompileOptions(model, board, name="net", states=tuple(given.state))
            report(options, given.budgets, plugin, Path(temporary))
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except EdgeconvError as error:
        sys.exit(f"steps: {error.one_line()}")
