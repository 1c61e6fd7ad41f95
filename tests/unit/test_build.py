from __future__ import annotations

import os
import re
import shutil
import stat
from dataclasses import replace
from pathlib import Path

import pytest

from edgeconv.base.errors import EdgeconvError, Exit
from edgeconv.run.build import (
    Sections,
    compile_project,
    find_compiler,
    find_emulator,
    read_sections,
    run_binary,
    undefined_symbols,
)
from edgeconv.run.build.toolchain import probe
from edgeconv.run.doctor import diagnose, diagnose_boards
from edgeconv.target import board as boards
from edgeconv.target.board import Board, Run, RunKind
from edgeconv.target.board.catalogue import load_all
from tests.tools import available, representatives

MAIN = """\
#include <stdio.h>
#include "blob.h"

static const int table[256] = {1, 2, 3};
int counter[1000];

int main(int argc, char **argv) {
    (void)argv;
    printf("%c %d %d\\n", blob[0], table[argc], counter[argc]);
    return argc - 1;
}
"""
BLOB_S = """\
    .section .rodata
    .globl blob
blob:
    .incbin "blob.bin"
    .section .note.GNU-stack,"",%progbits
"""


@pytest.fixture
def host() -> Board:
    return boards.load("host")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A C program that reads an included binary file."""
    (tmp_path / "main.c").write_text(MAIN)
    (tmp_path / "blob.h").write_text("extern const unsigned char blob[];\n")
    (tmp_path / "blob.S").write_text(BLOB_S)
    (tmp_path / "blob.bin").write_bytes(b"x" * 5000)
    return tmp_path


@pytest.mark.parametrize(
    "name", [n for n in representatives(boards.names()) if not boards.load(n).bare_metal]
)
def test_build_and_run_for_every_board(name: str, project: Path) -> None:
    board = available(name)
    binary = compile_project(
        project,
        board,
        sources=["main.c", "blob.S"],
        out=project / "out" / "program",
        warnings_as_errors=True,
    )
    done = run_binary(binary.path, board, ["one", "two"], timeout=60)
    assert (done.status, done.stdout) == (2, "x 0 0\n")


def test_sections_per_source_and_of_the_program(project: Path, host: Board) -> None:
    binary = compile_project(project, host, sources=["main.c", "blob.S"], out=project / "program")
    code, data = binary.sections(["main.c"]), binary.sections(["blob.S"])
    assert code.text > 0
    assert code.rodata >= 256 * 4
    assert code.bss >= 4000
    assert data.text == 0
    assert 5000 <= data.rodata < 5100
    assert binary.sections(["main.c", "blob.S"]) == code + data
    assert binary.sections().rodata >= code.rodata + data.rodata
    assert binary.sections().flash >= (code + data).flash


def test_undefined_symbols(project: Path, host: Board) -> None:
    binary = compile_project(project, host, sources=["main.c", "blob.S"], out=project / "program")
    assert undefined_symbols(binary.objects["main.c"]) == ("blob", "printf")
    assert undefined_symbols(binary.objects["blob.S"]) == ()


def test_compile_error_names_the_line_and_the_log(project: Path, host: Board) -> None:
    (project / "main.c").write_text("int main(void) { return undeclared; }\n")
    expected = r"main\.c does not compile: got main\.c:1.*undeclared"
    with pytest.raises(EdgeconvError, match=expected) as caught:
        compile_project(project, host, sources=["main.c"], out=project / "program")
    assert caught.value.code is Exit.UNSATISFIED
    log = project / "program.log"
    assert str(log) in str(caught.value)
    assert "-std=c11" in log.read_text()
    assert not (project / "program").exists()


def test_link_error_names_the_symbol(project: Path, host: Board) -> None:
    with pytest.raises(EdgeconvError, match="program does not link: got .*blob"):
        compile_project(project, host, sources=["main.c"], out=project / "program")


def test_warnings_are_errors_on_demand(project: Path, host: Board) -> None:
    (project / "main.c").write_text("int main(void) { int unused; return 0; }\n")
    out = project / "program"
    compile_project(project, host, sources=["main.c"], out=out)
    with pytest.raises(EdgeconvError, match="unused"):
        compile_project(project, host, sources=["main.c"], out=out, warnings_as_errors=True)


def test_extra_flags_reach_compiler_and_linker(project: Path, host: Board) -> None:
    (project / "main.c").write_text("int main(void) { return STATUS; }\n")
    binary = compile_project(
        project, host, sources=["main.c"], out=project / "program", extra_flags=["-DSTATUS=7"]
    )
    assert run_binary(binary.path, host).status == 7


def test_given_compiler_is_used(project: Path, host: Board) -> None:
    clang = probe("clang")
    if clang is None:
        pytest.skip("clang is not installed")
    assert clang.family == "clang"
    binary = compile_project(
        project, host, sources=["main.c", "blob.S"], out=project / "program", compiler=clang
    )
    assert binary.compiler == clang
    assert run_binary(binary.path, host).status == 0


def test_probe_tells_gcc_and_its_version() -> None:
    gcc = probe("gcc")
    if gcc is None:
        pytest.skip("gcc is not installed")
    assert gcc.family == "gcc"
    assert gcc.version[0].isdigit()
    assert str(gcc) == f"gcc {gcc.version}"


def script(path: Path, text: str) -> str:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


def with_cc(board: Board, *candidates: str) -> Board:
    return replace(board, toolchain=replace(board.toolchain, cc=candidates))


def test_compiler_that_cannot_link_is_passed_over(
    tmp_path: Path, host: Board, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CC", raising=False)
    broken = script(tmp_path / "broken-cc", "exit 1")
    found = find_compiler(with_cc(host, broken, "absent-cc", "cc"))
    assert found.command == (shutil.which("cc"),)


def test_cc_variable_comes_first_for_native_builds(
    tmp_path: Path, host: Board, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = script(tmp_path / "my-cc", 'exec cc "$@"')
    monkeypatch.setenv("CC", f"{mine} -pipe")
    assert find_compiler(host).command == (mine, "-pipe")
    foreign = replace(host, run=Run(RunKind.NONE, (), ""))
    assert find_compiler(foreign).command != (mine, "-pipe")


def test_cc_variable_that_is_no_command_line(host: Board, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", 'no such "quote')
    with pytest.raises(EdgeconvError, match="variable CC: got .*quote.*No closing") as caught:
        find_compiler(host)
    assert caught.value.code is Exit.USAGE
    monkeypatch.setenv("CC", "  ")
    assert find_compiler(host).command


# Compilers that are here and do not build: without headers, and without the library of the core.
_PARTIAL = {
    "no headers": ("-nostdinc", "stdint.h|stddef.h"),
    "no library": ("-nodefaultlibs -Wl,--no-such-option", "no-such-option"),
}


@pytest.mark.parametrize("lack", _PARTIAL)
def test_compiler_that_builds_nothing_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lack: str
) -> None:
    """Whose command is there, and answers --version: what is wrong with it is said."""
    board = available("mps2-an386", to_run=False)
    option, said = _PARTIAL[lack]
    real = find_compiler(board).command[0]
    script(tmp_path / "arm-none-eabi-gcc", f'exec {real} "$@" {option}')
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    with pytest.raises(EdgeconvError, match=f"arm-none-eabi-gcc: .*({said})") as caught:
        find_compiler(board)
    assert caught.value.code is Exit.MISSING_TOOL
    assert not next(
        check for check in diagnose_boards(load_all().boards) if check.name == board.name
    ).can_build
    found = next(
        check
        for check in diagnose(load_all().boards)
        if check.what == f"C compiler for {board.arch}"
    )
    assert not found.found
    assert re.search(said, found.problem)


def test_compiler_too_old_for_the_processor_is_none(
    host: Board, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CC", raising=False)
    flags = ("-march=no-such-processor",)
    later = replace(host, toolchain=replace(host.toolchain, flags=flags, cc=("cc",)))
    with pytest.raises(EdgeconvError, match="cc: .*no-such-processor"):
        find_compiler(later)


def test_no_compiler(host: Board, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CC", raising=False)
    with pytest.raises(EdgeconvError, match="needs one of: absent-cc.*apt-get") as caught:
        find_compiler(with_cc(host, "absent-cc"))
    assert caught.value.code is Exit.MISSING_TOOL


def test_no_emulator(host: Board, tmp_path: Path) -> None:
    run = Run(RunKind.QEMU_USER, ("qemu-absent", "-cpu", "max"), "apt-get install qemu-user")
    with pytest.raises(EdgeconvError, match="needs qemu-absent; apt-get install qemu") as caught:
        run_binary(tmp_path / "program", replace(host, run=run))
    assert caught.value.code is Exit.MISSING_TOOL


def test_board_that_cannot_run_here(host: Board) -> None:
    board = replace(host, arch="riscv64", run=Run(RunKind.NONE, (), ""))
    with pytest.raises(EdgeconvError, match="run on a riscv64 machine") as caught:
        find_emulator(board)
    assert caught.value.code is Exit.MISSING_TOOL


def test_emulator_gets_the_program_and_its_arguments(host: Board, tmp_path: Path) -> None:
    emulator = script(tmp_path / "emulator", 'echo "$@"')
    board = replace(host, run=Run(RunKind.QEMU_USER, (emulator, "-cpu", "max"), ""))
    done = run_binary(tmp_path / "program", board, ["-n", "3"])
    assert done.stdout == f"-cpu max {tmp_path / 'program'} -n 3\n"


@pytest.mark.parametrize(
    ("body", "expected"),
    [("kill -SEGV $$", "SIGSEGV"), ("while :; do :; done", "still running after 0.2 s")],
)
def test_crash_and_hang_are_errors(host: Board, tmp_path: Path, body: str, expected: str) -> None:
    program = script(tmp_path / "program", body)
    with pytest.raises(EdgeconvError, match=expected):
        run_binary(Path(program), host, timeout=0.2 if "while" in body else 60)


def test_program_that_is_not_there(host: Board, tmp_path: Path) -> None:
    with pytest.raises(EdgeconvError, match="No such file"):
        run_binary(tmp_path / "absent", host)


def test_not_an_elf_file(tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_text("not an ELF file")
    with pytest.raises(EdgeconvError, match="not an ELF file"):
        read_sections(path)


def test_sections_add_up() -> None:
    total = Sections(1, 2, 3, 4) + Sections(10, 20, 30, 40)
    assert total == Sections(11, 22, 33, 44)
    assert total.flash == 11 + 22 + 33
