"""Options of a compiler that change what float arithmetic computes are refused, in board files, in
CC and, as far as a compiler tells, by emitted C."""

from __future__ import annotations

import subprocess
from contextlib import suppress
from pathlib import Path

import pytest

from edgeconv.base.errors import UsageError
from edgeconv.run.build.toolchain import find_compiler
from edgeconv.target import board as boards
from edgeconv.target.board import exactness
from tests.command import BOARD, Command
from tests.tools import available

# What gcc -Q --help=optimizers and clang -### have of -ffast-math, and other ways to write it.
OPTIONS = (
    *("-ffast-math", "-Ofast", "-funsafe-math-optimizations", "-ffinite-math-only"),
    *("-fassociative-math", "-freciprocal-math", "-fno-signed-zeros"),
    *("-fsingle-precision-constant", "-fno-honor-nans", "-fno-honor-infinities"),
    *("-ffp-model=fast", "-ffp-model=aggressive", "-fdenormal-fp-math=preserve-sign", "-mdaz-ftz"),
    *("-ffp-mode=fast", "--optimize=fast"),
)
KEPT = (
    *("-O3", "-ffp-contract=fast", "-fno-fast-math", "-fsigned-zeros", "-fno-math-errno"),
    *("-fno-trapping-math", "-frounding-math", "-ffp-model=strict", "-fdenormal-fp-math=ieee"),
)


@pytest.mark.parametrize("option", OPTIONS)
def test_options_that_change_arithmetic(option: str) -> None:
    assert exactness.inexact(["-O2", option, "-g"]) == option


def test_others_do_not() -> None:
    assert exactness.inexact(KEPT) is None


def test_the_compiler_that_cc_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "cc -O2 -Ofast")
    with pytest.raises(UsageError, match="variable CC: got '-Ofast'; emitted C relies on IEEE"):
        find_compiler(boards.load("host"))


def compiled(source: Path, *words: str) -> str:
    """What the compiler says of ``source``; nothing where it takes it."""
    command = [*words, "-c", source.name, "-o", "/dev/null"]
    where = source.parent
    done = subprocess.run(command, check=False, cwd=where, capture_output=True, text=True)
    assert bool(done.returncode) == bool(done.stderr), done.stderr
    return done.stderr


def is_cpp(compiler: str) -> bool:
    """Whether it compiles C++: GCC has a package of its own for that."""
    words = [compiler, "-x", "c++", "-c", "-", "-o", "/dev/null"]
    with suppress(FileNotFoundError):
        return not subprocess.run(words, check=False, input=b"", capture_output=True).returncode
    return False


@pytest.fixture
def source(edgeconv: Command, residual_model: Path) -> Path:
    out = residual_model.parent / "out"
    edgeconv.ok("compile", residual_model, "--board", BOARD, "-o", out)
    return out / "net.c"


def test_emitted_c_notices(source: Path) -> None:
    """GCC tells of every one, Clang of -ffinite-math-only and all together."""
    available(BOARD, to_run=False)
    asked = ["-ffast-math", "-Ofast", "-funsafe-math-optimizations", "-ffinite-math-only"]
    asked += ["-freciprocal-math", "-fno-signed-zeros"]
    for option in asked:
        assert "relies on IEEE 754" in compiled(source, "gcc", "-O0", option), option
    assert compiled(source, "gcc", "-O0") == ""


def test_emitted_c_is_no_cpp(source: Path) -> None:
    """The first error says so."""
    compiler = next(filter(is_cpp, ("gcc", "clang")), "")
    if not compiler:
        pytest.skip("no compiler of C++ (apt-get install g++)")
    said = compiled(source, compiler, "-O0", "-x", "c++")
    first = next(line for line in said.splitlines() if "error:" in line)
    assert '"compile net.c as C; net.h can be included from C++"' in first
