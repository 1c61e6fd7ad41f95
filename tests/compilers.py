"""The compilers that the suite holds for: those of ``OLDEST`` and later ones.

Counts of instructions are a compiler's own: tests list what earlier ones have more.
"""

from __future__ import annotations

import functools
import re
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from edgeconv.app import writing
from edgeconv.run.build import compile as compiling
from edgeconv.run.build import compile_project
from edgeconv.run.build.compile import Binary
from edgeconv.run.build.project import Project
from edgeconv.run.build.toolchain import program_named

# Debian 12's, which tools/setup_toolchains.sh installs there.
OLDEST = {"gcc": 12, "clang": 14}
# GCC's address and undefined-behaviour sanitizers.  Checks as calls rather than in line, and lines
# without variables for the debugger, halve the time to compile, and without optimisation it is a
# third of that; every access is checked then, and errors are described all the same.
SANITIZERS = (
    *("-O0", "-fno-guess-branch-probability"),
    *("-g1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"),
    *("--param", "asan-instrumentation-with-call-threshold=0"),
)
# GCC guesses how often branches are taken, which takes it a fifth of the time; Clang has no such
# option.
UNGUESSED = "-fno-guess-branch-probability"
# What later compilers refuse: GCC from 14, Clang from 16 on.
UNDECLARED = "-Werror=implicit-function-declaration"
# Counts of spills, moves and instructions are those of this Clang and later; of earlier ones the
# tests have lists of what is more.
COUNTED_CLANG = 19


@functools.cache
def major_version(command: str) -> int:
    """Of the compiler at a path; 0 when it does not say."""
    done = subprocess.run([command, "--version"], capture_output=True, text=True, check=False)
    found = re.search(r"\b(\d+)\.\d+", done.stdout)
    return int(found[1]) if found else 0


@functools.cache
def is_gcc(command: str) -> bool:
    """Whatever it is called."""
    done = subprocess.run([command, "--version"], capture_output=True, text=True, check=False)
    return "Free Software Foundation" in done.stdout


def sanitized(project: Project, out: Path) -> Binary:
    """Its program, compiled with SANITIZERS to ``out``."""
    return compile_project(
        project.directory,
        project.board(),
        sources=project.sources,
        out=out,
        extra_flags=SANITIZERS,
    )


@contextmanager
def sanitizing() -> Iterator[None]:
    """All emitted programs are compiled with SANITIZERS, for tests of what they compute: what
    verifies them runs under these too.  Networks then call functions that nobody has promised."""
    others = (word for word in compiling.BASE_FLAGS if not word.startswith("-O"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compiling, "BASE_FLAGS", (*others, *SANITIZERS))
        patch.setattr(writing, "check_network", lambda *_, **__: None)
        yield


@contextmanager
def lightly(level: str = "-O1") -> Iterator[None]:
    """Emitted programs are compiled with ``level`` in the place of -O3, for tests of what they
    compute, which is not how fast they are or what GCC makes of them.  With -O0 they take half as
    long to compile as with -O1, and several times as much memory and time."""
    light = tuple(level if word == "-O3" else word for word in compiling.BASE_FLAGS)
    assert light != compiling.BASE_FLAGS
    call = compiling._call

    def unguessing(command: Sequence[str], directory: Path, log: Path, failure: str) -> None:
        shipped = "-O3" in command  # after which the level counts for nothing
        further = [UNGUESSED] if is_gcc(command[0]) and not shipped else []
        call([*command[:1], *further, UNDECLARED, *command[1:]], directory, log, failure)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compiling, "BASE_FLAGS", light)
        patch.setattr(compiling, "_call", unguessing)
        yield


def is_earlier_clang(command: Sequence[str]) -> bool:
    """A Clang to which the lists of earlier ones apply."""
    return "clang" in command[0] and major_version(command[0]) < COUNTED_CLANG


def describe() -> str:
    """One line: what is here, and what is promised."""
    found = []
    for name, oldest in OLDEST.items():
        path = program_named(name)
        version = major_version(path) if path else 0
        here = f"{name} {version}" if path else f"no {name}"
        found.append(f"{here}{' (too old)' if path and version < oldest else ''}")
    promised = ", ".join(f"{name} {oldest}" for name, oldest in OLDEST.items())
    return f"compilers: {', '.join(found)}; the suite holds from {promised} on"
