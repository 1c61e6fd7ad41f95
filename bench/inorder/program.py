"""One kernel call as a program, and the cycles of it on the model of an in-order core."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cachesim.cases import Case
from counting.program import build_plugin, counted

from edgeconv.base.errors import EdgeconvError, Exit
from edgeconv.codegen.amalgamate import amalgamate
from edgeconv.codegen.functions import FunctionTable, environment
from edgeconv.codegen.routines import routines_header
from edgeconv.ir.choice import ArgKind
from edgeconv.ir.encoding import Encoding
from edgeconv.run.build import find_compiler
from edgeconv.run.build.compile import BASE_FLAGS
from edgeconv.run.build.run import run_command
from edgeconv.target.board import Board
from inorder.aarch64 import RULES, as_loads, row

HERE = Path(__file__).parent
LINE_BYTES = 64
_ARGUMENTS = ("table", "first", "second", "memory", "buffers", "streams")  # in core.c's order
SPARE = 16384  # bytes around operands, which prefetches may name
# As in a network: constants and results were last touched a run ago, the input just now.
_MAIN = """
static _Alignas(4096) char memory[{total}], other[{other}];
__attribute__((noinline)) void kernel(void)
{{
    {name}({places});
}}
int main(void)
{{
    memset(memory, 0, sizeof memory);
    memset(other, 1, sizeof other);
    {touched}
    kernel();
    return 0;
}}
"""


@dataclass(frozen=True, slots=True)
class Core:
    """``fills``: lines that may be on their way.  ``streams`` that a prefetcher in hardware
    follows, 0 for none, and how many lines it is ``ahead``."""

    fills: int = 3
    streams: int = 0
    ahead: int = 0


@dataclass(frozen=True, slots=True)
class Cycles:
    """Of a call: ``all`` of them, those if every line were near (``near``); instructions;
    prefetches, those of lines that were not near; loads that missed the first cache, lines from
    behind the second; cycles of waiting for a buffer."""

    instructions: int
    all: int
    near: int
    fetches: int
    useful: int
    missed: int
    far: int
    buffers: int

    @property
    def waiting(self) -> int:
        """Cycles that the core waits for memory."""
        return self.all - self.near


def source(case: Case, board: Board, scaled: Sequence[Encoding] = ()) -> str:
    """C of a program that calls the case's kernel once.  ``scaled``: the encodings of its tensors
    of int8, each once."""
    made = environment()
    table = FunctionTable(made, "bench", board.target.lanes)
    name = table.call_of(case.layer, (True,) * len(case.layer.aliases))[0].name
    places, end, touched = [], SPARE, []
    for arg, size in zip(case.layer.args, case.sizes, strict=True):
        places.append(f"(void *)(memory + {end})")
        if arg.kind is ArgKind.INPUT:
            # Not zeros: C libraries write those by lines, of which QEMU tells a plugin nothing.
            touched.append(f"memset(memory + {end}, 1, {size});")
        end += -(-size // LINE_BYTES) * LINE_BYTES
    main = _MAIN.format(
        total=end + SPARE,
        other=2 * max(cache.size for cache in board.caches),
        name=name,
        places=", ".join(places),
        touched=" ".join(touched),
    )
    headers = amalgamate(
        board.target.header,
        case.layer.headers,
        stored=bool(scaled),
        tensors=bool(scaled),
        scaled=scaled,
        routines=routines_header(made, case.layer.routines),
        integer_routines=routines_header(made, case.layer.routines, integers=True),
    )
    functions = (function.text for function in table.functions.values())
    return "\n".join(["#include <string.h>", *headers, *functions, main])


class Program:
    """A program of C, of which all but ``main`` runs on the model."""

    def __init__(self, text: str, board: Board, folder: Path) -> None:
        """Raises EdgeconvError where a tool is missing."""
        folder.mkdir(parents=True, exist_ok=True)
        self._board, self._folder, self._path = board, folder, folder / "kernel"
        (folder / "kernel.c").write_text(text, encoding="utf-8")
        command = [*find_compiler(board).command, *BASE_FLAGS, *board.flags, "-w"]
        subprocess.run([*command, "-S", "kernel.c", "-o", "kernel.s"], cwd=folder, check=True)
        assembly = (folder / "kernel.s").read_text(encoding="utf-8")
        (folder / "loads.s").write_text(as_loads(assembly), encoding="utf-8")
        linked = [*command, "-static", "loads.s", "-o", str(self._path)]
        subprocess.run(linked, cwd=folder, check=True)
        found = re.findall(r"^\s*\.type\s+([\w.]+),\s*[@%]function", assembly, re.MULTILINE)
        own = set(found)
        self._write_table(own - {"main"})

    def _write_table(self, own: set[str]) -> None:
        tool = shutil.which("aarch64-linux-gnu-objdump") or shutil.which("llvm-objdump")
        if tool is None:
            raise EdgeconvError("no objdump of AArch64", code=Exit.MISSING_TOOL)
        done = subprocess.run(
            [tool, "-d", "--no-show-raw-insn", str(self._path)],
            capture_output=True,
            text=True,
            check=True,
        )
        near, rules = self._board.caches[0].latency or 4, RULES[self._board.cpu]
        rows, taken = [], False
        for line in done.stdout.splitlines():
            if head := re.match(r"[0-9a-f]+ <([\w.]+)>:", line):
                taken = head[1] in own
            elif taken and (found := re.match(r"\s*([0-9a-f]+):\s+(\S.*)", line)):
                rows.append(str(row(int(found[1], 16), found[2], near, rules)))
        table = "\n".join([str(len(rows)), *rows, ""])
        (self._folder / "table").write_text(table, encoding="utf-8")

    def cycles(self, plugin: Path, core: Core) -> Cycles:
        """Of one call, by the board's caches and memory.  Raises EdgeconvError."""
        board = self._board
        first, second = board.caches[:2]
        clock, memory = board.clock_hz, board.ram[0]
        assert clock, board.name
        assert memory.bandwidth, board.name
        levels = [
            f"{c.size // c.line // (c.ways or 1)}:{c.ways or 1}:{c.latency or 1}"
            for c in (first, second)
        ]
        line = round(LINE_BYTES * clock / memory.bandwidth)
        arguments = [
            str(self._folder / "table"),
            *levels,
            f"{board.memory_cycles}:{line}",
            str(core.fills),
            f"{core.streams}:{core.ahead}",
        ]
        named = ",".join([str(plugin), *map("=".join, zip(_ARGUMENTS, arguments, strict=True))])
        return Cycles(*counted(run_command(self._path, board, ()), named, board, self._folder))


def build(folder: Path) -> Path:
    """The plugin.  Raises EdgeconvError without a C compiler."""
    return build_plugin(folder, "core", HERE)
