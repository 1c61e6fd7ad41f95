"""All cases as one C program, and the misses of one call in simulated caches.

Each case is a run of its own in which the caches start empty.  All operands lie one after the
other in one zeroed array that nothing else touches; what the program costs without a call is taken
off.
"""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

from cachesim.cases import Case
from edgeconv.base.errors import EdgeconvError, Exit
from edgeconv.codegen.amalgamate import amalgamate
from edgeconv.codegen.functions import FunctionTable, environment
from edgeconv.kernels.lowering.calls import merge_headers
from edgeconv.run.build import Compiler, compile_project
from edgeconv.target.board import Board
from edgeconv.target.cache import Cache

LINE_BYTES = 64
FLOAT_BYTES = 4


def _option(cache: Cache) -> str:
    """A cache as cachegrind wants it: size, ways and line."""
    return f"{cache.size},{cache.ways or cache.size // cache.line},{cache.line}"


def source(cases: Sequence[Case], board: Board) -> str:
    """The C program: its argument is the number of a case, or -1."""
    table = FunctionTable(environment(), "bench", board.target.lanes)
    calls, largest = [], 0
    for number, case in enumerate(cases):
        name = table.call_of(case.layer, (True,) * len(case.layer.aliases))[0].name
        places, end = [], 0
        for size in case.sizes:
            places.append(f"memory + {end // FLOAT_BYTES}")
            end += -(-size // LINE_BYTES) * LINE_BYTES
        calls.append(f"    case {number}: {name}({', '.join(places)}); break;")
        largest = max(largest, end)
    headers = merge_headers([case.layer.headers for case in cases])
    return "\n".join(
        [
            "#include <stdlib.h>",
            *amalgamate(board.target.header, headers),
            *(function.text for function in table.functions.values()),
            f"static _Alignas(4096) float memory[{largest // FLOAT_BYTES}];",
            "int main(int argc, char **argv)",
            "{",
            "    switch (argc > 1 ? atoi(argv[1]) : -1) {",
            *calls,
            "    }",
            "    return 0;",
            "}",
            "",
        ]
    )


class Program:
    """The built program."""

    def __init__(
        self, cases: Sequence[Case], board: Board, compiler: Compiler, folder: Path
    ) -> None:
        """Raises EdgeconvError when the C does not compile."""
        (folder / "traffic.c").write_text(source(cases, board), encoding="utf-8")
        self._folder = folder
        self._idle: dict[tuple[Cache, Cache], tuple[int, int]] = {}  # misses without a call
        self._binary = compile_project(
            folder,
            board,
            sources=["traffic.c"],
            out=folder / "traffic",
            extra_flags=("-w",),
            compiler=compiler,
        ).path

    def misses(self, number: int, near: Cache, far: Cache) -> tuple[int, int]:
        """Lines of data that one call of case ``number`` brings into each of the two caches."""
        if (near, far) not in self._idle:
            self._idle[near, far] = self._run(-1, near, far)
        with_call, without = self._run(number, near, far), self._idle[near, far]
        return with_call[0] - without[0], with_call[1] - without[1]

    def _run(self, number: int, near: Cache, far: Cache) -> tuple[int, int]:
        """Misses of a whole run, reads and writes of data together."""
        out = self._folder / "cachegrind.out"
        command = [
            *("valgrind", "--tool=cachegrind", "--cache-sim=yes"),
            *(f"--D1={_option(near)}", f"--LL={_option(far)}", f"--cachegrind-out-file={out}"),
            *(str(self._binary), str(number)),
        ]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise EdgeconvError(
                "cachegrind failed",
                where=" ".join(command),
                rule=done.stderr.strip().splitlines()[-1],
                code=Exit.UNSATISFIED,
            )
        lines = [line.partition(": ") for line in out.read_text().splitlines()]
        found = {key: value.split() for key, _, value in lines if key in ("events", "summary")}
        events = dict(zip(found["events"], map(int, found["summary"]), strict=True))
        return events["D1mr"] + events["D1mw"], events["DLmr"] + events["DLmw"]
