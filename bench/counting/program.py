"""Kernel calls as one program that QEMU runs, and the instructions that each of them executes."""

from __future__ import annotations

import platform
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from convtime.cases import Candidate
from convtime.program import Program

from edgeconv.base.errors import EdgeconvError, Exit
from edgeconv.ir.choice import Arg, ArgKind
from edgeconv.run.build import compile_project, find_compiler
from edgeconv.run.build.run import run_command
from edgeconv.target.board import Board, RunKind

HERE = Path(__file__).parent
_COUNTED = re.compile(r"^(executed|missed)((?: [0-9]+)+)$", re.MULTILINE)

# Operands are zeros: how many instructions a kernel executes does not depend on them.
_MAIN = """
#include <stdlib.h>
enum {{ MOST = {most} }};
static const struct {{
    void (*call)(void *const *);
    size_t bytes[MOST];
}} kernels[] = {{
{rows}
}};
int main(int argc, char **argv)
{{
    void *operands[MOST];
    const int which = argc > 2 ? atoi(argv[1]) : 0, calls = argc > 2 ? atoi(argv[2]) : 0;
    for (int i = 0; i < MOST; i++) {{
        const size_t bytes = (kernels[which].bytes[i] + 127) / 64 * 64;
        operands[i] = aligned_alloc(64, bytes);
        memset(operands[i], 0, bytes);
    }}
    for (int i = 0; i < calls; i++)
        kernels[which].call(operands);
    return 0;
}}
"""


def build_plugin(folder: Path, name: str = "plugin", source: Path = HERE) -> Path:
    """The plugin of QEMU that counts instructions, or the one of that name in ``source``.  Raises
    EdgeconvError without a C compiler to build it."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if not compiler:
        raise EdgeconvError("no C compiler to build QEMU's plugin with", code=Exit.MISSING_TOOL)
    plugin = folder / f"{name}.so"
    command = [compiler, "-O2", "-shared", "-fPIC", str(source / f"{name}.c"), "-o", str(plugin)]
    subprocess.run(command, check=True)
    return plugin


def executed(command: Sequence[str], plugin: Path, board: Board, folder: Path) -> int:
    """Instructions of a program that ``command`` runs, as `counted`."""
    return counted(command, str(plugin), board, folder)[0]


def counted(command: Sequence[str], plugin: str, board: Board, folder: Path) -> list[int]:
    """What ``plugin``, its arguments behind commas, counts of a program that ``command`` runs:
    under the board's emulator, or that of this machine's processors where the board has none.
    Raises EdgeconvError."""
    if board.run.kind is RunKind.NATIVE:
        command = (f"qemu-{platform.machine()}", "-cpu", "max", *command)
    emulator, *rest = command
    if shutil.which(emulator) is None:
        raise EdgeconvError("no emulator", where=f"board {board.name}", rule=f"needs {emulator}")
    done = subprocess.run(
        [emulator, "-plugin", plugin, *rest],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    found = _COUNTED.search(done.stderr)
    if done.returncode or not found:
        raise EdgeconvError(
            "the program failed under QEMU",
            where=f"board {board.name}",
            got=done.stderr.strip().partition("\n")[0] or f"exit status {done.returncode}",
            rule="the emulator must have plugins, and know the board's instructions",
            code=Exit.UNSATISFIED,
        )
    return [int(count) for count in found.group(2).split()]


def _bytes(candidate: Candidate, arg: Arg) -> int:
    layer = candidate.layer
    if arg.kind is ArgKind.WEIGHTS:
        return next(blob.bytes for blob in layer.blobs if blob.name == arg.ref)
    if arg.kind is ArgKind.WORKSPACE:
        return layer.workspace_bytes
    return 4 * candidate.graph[arg.ref].elements


class Counter:
    """The candidates' kernels, built for a board that QEMU stands in for."""

    def __init__(self, board: Board, candidates: Sequence[Candidate], folder: Path) -> None:
        self._board, self._plugin = board, build_plugin(folder)
        graphs = (candidate.graph.tensors.values() for candidate in candidates)
        stored = dict.fromkeys(tensor.storage for tensors in graphs for tensor in tensors)
        program = Program(board, [form for form in stored if form.affine and form.is_per_tensor])
        names = [program.add(candidate.layer) for candidate in candidates]
        rows = []
        for name, candidate in zip(names, candidates, strict=True):
            sizes = ", ".join(str(_bytes(candidate, arg)) for arg in candidate.layer.args)
            rows.append(f"    {{{name}, {{{sizes}}}}},")
        most = max(len(candidate.layer.args) for candidate in candidates)
        main = _MAIN.format(most=most, rows="\n".join(rows))
        (folder / "count.c").write_text(program.source() + main, encoding="utf-8")
        self._path = compile_project(
            folder,
            board,
            sources=["count.c"],
            out=folder / "count",
            extra_flags=("-static", "-w"),
            compiler=find_compiler(board),
        ).path

    def instructions(self, which: int) -> int:
        """Of one call of candidate ``which``: two calls less one.  Raises EdgeconvError."""
        once, twice = (self._run(which, calls) for calls in (1, 2))
        return twice - once

    def _run(self, which: int, calls: int) -> int:
        command = run_command(self._path, self._board, (str(which), str(calls)))
        return executed(command, self._plugin, self._board, self._path.parent)
