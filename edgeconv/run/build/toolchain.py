"""Which compiler builds for a board."""

from __future__ import annotations

import os
import re
import shlex
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from edgeconv.base.errors import EdgeconvError, Exit, UsageError
from edgeconv.run.build.compiler_check import Sample, sample_of, try_build
from edgeconv.run.build.output import output_of
from edgeconv.target.board import Board, RunKind, exactness

# A distribution may install Clang under its versioned name only.
_CLANG_VERSIONS = tuple(f"clang-{version}" for version in range(22, 13, -1))
COMPILER_VARIABLE = "CC"


@dataclass(frozen=True, slots=True)
class Compiler:
    """A compiler for a board.  ``command``: the program's path and the arguments that select the
    CPU architecture.  ``family``: "gcc" or "clang".  ``version``: such as "12.2.0"."""

    command: tuple[str, ...]
    family: str
    version: str

    def __str__(self) -> str:
        return f"{Path(self.command[0]).name} {self.version}"


def find_compiler(board: Board) -> Compiler:
    """The first of the board's compilers that is installed and builds a small program for it, with
    its flags and the header of its instruction set.

    A native build honours the environment variable CC.  Raises EdgeconvError: no compiler, with
    what is wrong with those that are installed (exit status 3); CC is no command line (2).
    """
    sample = sample_of(board)
    problems = []
    commands = list(command_lines(board))
    for command in commands:
        compiler, problem = _examine(command, sample)
        if compiler is not None:
            return compiler
        problems += [f"{shlex.join(command)}: {problem}"] if problem else []
    raise EdgeconvError(
        "no compiler",
        where=f"board {board.name}",
        got="; ".join(problems),
        rule=f"needs one of: {', '.join(map(shlex.join, commands))}"
        + ("" if board.bare_metal else ", with its C library"),
        hint=board.toolchain.install,
        code=Exit.MISSING_TOOL,
    )


def probe(command: str) -> Compiler | None:
    """The compiler that the command line ``command`` starts; None when it is not installed, or
    does not build and link a program for the machine that it compiles for."""
    return _examine(tuple(shlex.split(command)), Sample())[0]


def command_lines(board: Board) -> Iterator[tuple[str, ...]]:
    """The command lines of the compilers to try for ``board``, best first.  Raises EdgeconvError
    (exit status 2) where CC is none, or changes arithmetic."""
    chosen = os.environ.get(COMPILER_VARIABLE, "").strip()
    if chosen and board.run.kind is RunKind.NATIVE:
        yield _exact(_words(chosen))
    yield from (tuple(shlex.split(command)) for command in board.toolchain.cc)


def _words(chosen: str) -> tuple[str, ...]:
    try:
        return tuple(shlex.split(chosen))
    except ValueError as error:
        raise UsageError(
            "cannot read a compiler's command line",
            where=f"environment variable {COMPILER_VARIABLE}",
            got=repr(chosen),
            rule=str(error),
            hint="quote it as in a shell",
        ) from error


def _exact(words: tuple[str, ...]) -> tuple[str, ...]:
    if found := exactness.inexact(words):
        raise UsageError(
            "a compiler's option changes arithmetic",
            where=f"environment variable {COMPILER_VARIABLE}",
            got=repr(found),
            rule=exactness.RULE,
            hint=exactness.HINT,
        )
    return words


def _examine(command: tuple[str, ...], sample: Sample) -> tuple[Compiler | None, str]:
    """The compiler, or what is wrong with it: "" where it is not installed."""
    program, *arguments = command
    path = program_named(program)
    if path is None:
        return None, ""
    command = (path, *arguments)
    problem = try_build(command, sample)
    if problem:
        return None, problem
    text = output_of((path, "--version")).stdout
    if not text:
        return None, "prints no version"
    family = "clang" if "clang" in text.lower() else "gcc"
    version = re.search(r"\b(\d+\.\d+(?:\.\d+)?)\b", text)
    return Compiler(command, family, version[1] if version else "unknown"), ""


def program_named(program: str) -> str | None:
    """The path of a compiler; Clang is found under its versioned names too.  None without one."""
    names = (program, *_CLANG_VERSIONS) if program == "clang" else (program,)
    return next((path for name in names if (path := shutil.which(name))), None)
