"""Which compiler builds for a board."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from edgeconv.board import Board, RunKind
from edgeconv.errors import EdgeconvError, Exit

# A distribution may install Clang under its versioned name only.
_CLANG_VERSIONS = tuple(f"clang-{version}" for version in range(22, 12, -1))
_TRY_CODE = '#include <stdio.h>\nint main(void) { return puts("") < 0; }\n'
_TRY_FREESTANDING = "int main(void) { return 0; }\n"


@dataclass(frozen=True, slots=True)
class Compiler:
    """``command``: the program's path and the arguments that select the CPU architecture.
    ``family``: "gcc" or "clang".  ``version``: such as "12.2.0"."""

    command: tuple[str, ...]
    family: str
    version: str

    def __str__(self) -> str:
        return f"{Path(self.command[0]).name} {self.version}"


def find_compiler(board: Board) -> Compiler:
    """The first of the board's compilers that is installed and can link a program.

    A native build honours the environment variable CC.  Raises EdgeconvError (exit status 3).
    """
    candidates = list(board.toolchain.cc)
    if board.run.kind is RunKind.NATIVE and os.environ.get("CC"):
        candidates.insert(0, os.environ["CC"])
    for candidate in candidates:
        compiler = probe(candidate, static=board.toolchain.static, freestanding=board.bare_metal)
        if compiler is not None:
            return compiler
    raise EdgeconvError(
        "no compiler",
        where=f"board {board.name}",
        rule=f"needs one of: {', '.join(candidates)}"
        + ("" if board.bare_metal else ", with its C library"),
        hint=board.toolchain.install,
        code=Exit.MISSING_TOOL,
    )


def probe(candidate: str, *, static: bool = False, freestanding: bool = False) -> Compiler | None:
    """The compiler that the command line ``candidate`` starts; None when it is not installed or
    cannot link (a cross compiler without its C library; ``freestanding``: which is not needed)."""
    program, *arguments = shlex.split(candidate)
    path = _which(program)
    if path is None:
        return None
    command = (path, *arguments)
    how = ("-nostdlib", "-nostartfiles", "-r") if freestanding else ("-static",) * static
    link = (*command, "-x", "c", "-", *how, "-o", os.devnull)
    if _output(link, _TRY_FREESTANDING if freestanding else _TRY_CODE) is None:
        return None
    text = _output((path, "--version"), "")
    if text is None:
        return None
    family = "clang" if "clang" in text.lower() else "gcc"
    version = re.search(r"\b(\d+\.\d+(?:\.\d+)?)\b", text)
    return Compiler(command, family, version[1] if version else "unknown")


def _which(program: str) -> str | None:
    names = (program, *_CLANG_VERSIONS) if program == "clang" else (program,)
    return next((path for name in names if (path := shutil.which(name))), None)


def _output(command: tuple[str, ...], stdin: str) -> str | None:
    """What the command prints; None when it cannot be started, fails or hangs."""
    try:
        done = subprocess.run(
            command, input=stdin, capture_output=True, text=True, timeout=60, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None
