from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from edgeconv.base.errors import EdgeconvError, Exit
from edgeconv.target import board as boards
from edgeconv.target.backends import TARGETS
from edgeconv.target.board import Board, Run, RunKind
from edgeconv.target.board_folders import FOLDERS_VARIABLE
from edgeconv.target.cache import Cache
from edgeconv.target.host import Host
from edgeconv.target.targets import HALVES

SHIPPED = boards.names()
X86 = Host("x86_64", "Example CPU", frozenset({"sse2"}), None, 4, (Cache(1, 32768, 64),))
AVX2 = replace(X86, words=frozenset({"sse2", "avx2", "fma"}))
AVX512 = replace(X86, words=AVX2.words | frozenset(TARGETS["avx512"].cpu_flags))
ARM = Host("aarch64", "Example Arm", frozenset({"asimd", "fp"}), 2_000_000_000, 8, ())
ARMV7 = Host("armv7l", "32-bit Arm", frozenset({"neon", "vfpv4"}), None, 8, ())
POWER9 = Host("ppc64le", "POWER9", frozenset({"power9"}), None, 1, ())
POWER10 = replace(POWER9, words=frozenset({"power10"}))

MINIMAL = """\
schema = 1
name = "tiny"
description = "A board"
arch = "aarch64"
isa = "neon"
[toolchain]
cc = ["aarch64-linux-gnu-gcc"]
[run]
kind = "qemu-user"
command = ["qemu-aarch64"]
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user's folder of boards."""
    monkeypatch.setenv(FOLDERS_VARIABLE, str(tmp_path))
    return tmp_path


def write(folder: Path, text: str, name: str = "tiny") -> Path:
    path = folder / f"{name}.toml"
    path.write_text(text)
    return path


def message(path: Path, host: Host = X86) -> str:
    """The error of a board file: one line, wrong usage."""
    with pytest.raises(EdgeconvError) as caught:
        boards.check(path, host)
    assert caught.value.code is Exit.USAGE
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)
    return str(caught.value).partition(str(path))[2]


@pytest.mark.parametrize(
    "host", [X86, AVX2, AVX512, ARM, ARMV7, POWER9, POWER10], ids=lambda h: h.cpu
)
@pytest.mark.parametrize("name", SHIPPED)
def test_every_shipped_board_loads_anywhere(name: str, host: Host) -> None:
    board = boards.load(name, host)
    assert board.name == name
    assert board.target.arch in (board.arch, "any")
    levels = [cache.level for cache in board.caches]
    assert levels == sorted(set(levels))
    sizes = [cache.size for cache in board.caches]
    assert sizes == sorted(sizes), "a cache is larger than the one before it"
    emulated = board.run.kind in (RunKind.QEMU_USER, RunKind.QEMU_SYSTEM)
    assert emulated == bool(board.run.command)


def test_the_boards_of_the_first_release_are_there() -> None:
    assert {"generic-c", "host", "jetson-tx1", "power10-s1024", "raspberry-pi-4"} <= set(SHIPPED)


@pytest.mark.parametrize(
    ("host", "isa"),
    [
        (X86, "portable"),
        (AVX2, "avx2"),
        (AVX512, "avx512"),
        (replace(AVX2, words=frozenset({"avx2"})), "portable"),  # the kernels need FMA too
        (ARM, "neon"),
        (ARMV7, "neon_armv7"),
        (replace(ARMV7, words=frozenset({"neon", "vfpv3"})), "portable"),  # no fused multiply-add
        (POWER10, "power10"),
        (Host("riscv64", "any", frozenset(), None, 1, ()), "portable"),
    ],
    ids=lambda value: value.arch if isinstance(value, Host) else value,
)
def test_host_gets_the_widest_isa_it_has(host: Host, isa: str) -> None:
    board = boards.load("host", host)
    assert (board.arch, board.isa, board.cpu) == (host.arch, isa, host.cpu)
    assert (board.caches, board.clock_hz, board.cores) == (
        host.caches,
        host.clock_hz,
        host.cores,
    )
    assert board.run.kind is RunKind.NATIVE


def test_generic_c_is_portable_everywhere() -> None:
    assert boards.load("generic-c", AVX512).isa == "portable"
    assert boards.load("generic-c", ARM).isa == "portable"


def test_flags_are_those_of_the_isa_then_the_boards() -> None:
    assert boards.load("host", AVX512).flags == (*TARGETS["avx512"].flags, "-mtune=native")


@pytest.mark.parametrize(("name", "halves"), [("zen4", True), ("core-i7-11700k", False)])
def test_zen_4_computes_vectors_in_halves(name: str, halves: bool) -> None:
    board = boards.load(name, X86)
    assert (HALVES in board.target.features) == halves
    assert ("-DEC_HALF_VECTORS" in board.flags) == halves
    assert "-DEC_HALF_VECTORS" not in replace(board, isa="avx2").flags  # which has no such kernels


def test_a_board_without_the_instructions_is_emulated() -> None:
    board = boards.load("x86-64-v3", X86)
    assert (board.isa, board.run.kind) == ("avx2", RunKind.QEMU_USER)
    assert board.run.command[:3] == ("qemu-x86_64", "-cpu", "max")
    assert boards.load("x86-64-v3", AVX2).run.kind is RunKind.NATIVE
    assert boards.load("x86-64-v3", AVX512).isa == "avx2"


def test_another_architecture_is_cross_compiled_and_emulated() -> None:
    board = boards.load("jetson-tx1", X86)
    assert board.toolchain.cc[0] == "aarch64-linux-gnu-gcc"
    assert board.toolchain.static
    assert board.run.kind is RunKind.QEMU_USER
    assert board.run.command[:3] == ("qemu-aarch64", "-cpu", "cortex-a57")


def test_the_same_architecture_is_native() -> None:
    board = boards.load("jetson-tx1", ARM)
    assert board.toolchain.cc[0] == "cc"
    assert not board.toolchain.static
    assert (board.run.kind, board.run.command) == (RunKind.NATIVE, ())


def test_the_same_architecture_without_the_features_is_emulated() -> None:
    assert boards.load("power10-s1024", POWER9).run.kind is RunKind.QEMU_USER
    assert boards.load("power10-s1024", POWER10).run.kind is RunKind.NATIVE
    assert boards.load("odroid-xu3", replace(ARMV7, words=frozenset())).run.command[0] == "qemu-arm"
    assert boards.load("odroid-xu3", ARMV7).run.kind is RunKind.NATIVE


def test_numbers_of_a_board() -> None:
    board = boards.load("jetson-tx1", X86)
    first, second = board.caches
    assert first == Cache(1, 32 * 1024, 64, latency=4, ways=2, bandwidth=16.0)
    assert (second.level, second.size, second.line) == (2, 2 * 1024**2, 64)
    assert board.ram_bytes == 4 * 1024**3
    assert (board.clock_hz, board.macs_per_cycle) == (1_730_000_000, 4.0)


def test_unknown_board_suggests(folder: Path) -> None:
    write(folder, MINIMAL)
    with pytest.raises(EdgeconvError, match=r"unknown board: got 'raspbery-pi'; .* raspberry-pi-4"):
        boards.load("raspbery-pi")


def test_user_folders_are_searched(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    second = folder / "second"
    second.mkdir()
    write(folder, MINIMAL)
    write(second, MINIMAL.replace("tiny", "small"), "small")
    monkeypatch.setenv(FOLDERS_VARIABLE, os.pathsep.join([str(folder), str(second)]))
    assert {"tiny", "small", *SHIPPED} == set(boards.names())
    board = boards.load("tiny", X86)
    assert (board.caches, board.memory, board.ram_bytes, board.clock_hz) == ((), (), None, None)


def test_a_name_in_two_folders_is_an_error(folder: Path) -> None:
    path = write(folder, MINIMAL, "host")
    with pytest.raises(EdgeconvError, match="two boards of one name") as caught:
        boards.load("host")
    assert str(path) in str(caught.value)
    assert boards.load("generic-c").name == "generic-c", "others are not affected"


def test_missing_user_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(FOLDERS_VARIABLE, str(tmp_path / "absent"))
    with pytest.raises(EdgeconvError, match="no such folder of boards.*absent"):
        boards.names()


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (('isa = "neon"', ""), ": isa: is missing; a row of the ISA table"),
        (('arch = "aarch64"', "arch = 64"), ": arch: got 64; must be of type string"),
        (("schema = 1", "schema = 2"), ": schema: got 2; must be 1"),
        (("schema = 1", "schema = 1\nspeed = 3"), ": speed: no such key; "),
        (('kind = "qemu-user"', 'kind = "qemu"'), ': run.kind: got "qemu"; must be one of native'),
        (
            ('command = ["qemu-aarch64"]', ""),
            ": run.command: is missing; the emulator and its arguments",
        ),
        (('cc = ["aarch64-linux-gnu-gcc"]', "cc = []"), ": toolchain.cc: got []; must have a len"),
        (("[run]", 'flags = ["O2"]\n[run]'), ': toolchain.flags[0]: got "O2"; must match ^-'),
        (('isa = "neon"', 'isa = "avx512"'), ": isa: got 'avx512'; it is for x86_64"),
        (('isa = "neon"', 'isa = "auto"'), ': isa: got "auto"; only a board of arch "host"'),
    ],
)
def test_violation_names_the_field(tmp_path: Path, change: tuple[str, str], expected: str) -> None:
    assert change[0] in MINIMAL
    assert expected in message(write(tmp_path, MINIMAL.replace(*change)))


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        ('level = 1\nsize = "32KB"\nline = "64B"', ": cache[0].size: got '32KB'; KB may mean"),
        ('level = 1\nsize = "big"\nline = "64B"', ": cache[0].size: got 'big'; a size is"),
        ('level = 1\nsize = 0\nline = "64B"', ": cache[0].size: got 0; a size needs its unit"),
        ('level = 1\nsize = "-1KiB"\nline = "64B"', ": cache[0].size: got '-1KiB'; a size is exp"),
        ('level = 1\nsize = "1024"\nline = "64B"', ": cache[0].size: got '1024'; a size needs its"),
        ('level = 9\nsize = "1KiB"\nline = "64B"', ": cache[0].level: got 9; must be at most 4"),
        ('level = 1\nsize = "1KiB"', ": cache[0].line: is missing; what one miss brings"),
    ],
)
def test_violation_in_a_list_has_its_index(tmp_path: Path, entry: str, expected: str) -> None:
    text = MINIMAL.replace("[toolchain]", f"[[cache]]\n{entry}\n[toolchain]")
    assert expected in message(write(tmp_path, text))


@pytest.mark.parametrize(
    ("run", "expected"),
    [
        ('kind = "ssh"', ": run.command: is missing"),
        ('kind = "ssh"\ncommand = ["ssh", "b"]\nfolder = "tmp"', ": run.folder: got"),
        ('kind = "probe"\ncommand = ["openocd"]', ": run.kind: got 'probe'; probes are for"),
        ('kind = "none"\nfolder = "/tmp"', ": run.folder: got '/tmp'; of boards whose run.kind"),
    ],
)
def test_how_boards_are_reached(tmp_path: Path, run: str, expected: str) -> None:
    text = MINIMAL.partition("[run]")[0] + f"[run]\n{run}\n"
    assert expected in message(write(tmp_path, text))


def test_programs_of_a_board_behind_ssh_run_there_even_if_they_could_here(tmp_path: Path) -> None:
    run = '[run]\nkind = "ssh"\ncommand = ["ssh", "b"]\nbefore = ["nice"]\n'
    board = boards.check(write(tmp_path, MINIMAL.partition("[run]")[0] + run), ARM)
    assert board.run == Run(RunKind.SSH, ("ssh", "b"), "", "/tmp", ("nice",))
    assert board.toolchain.cc == ("aarch64-linux-gnu-gcc",)


def test_unknown_isa_suggests(tmp_path: Path) -> None:
    path = write(tmp_path, MINIMAL.replace('isa = "neon"', 'isa = "neo"'))
    with pytest.raises(
        EdgeconvError, match="isa: got 'neo'; no such instruction set; did you mean neon"
    ):
        boards.check(path, X86)


def test_name_must_be_the_files(tmp_path: Path) -> None:
    assert "name: got 'tiny'; the file is called other.toml" in message(
        write(tmp_path, MINIMAL, "other")
    )


def test_not_toml(tmp_path: Path) -> None:
    assert "line 1" in message(write(tmp_path, "name = x y\n"))


def test_not_text(tmp_path: Path) -> None:
    path = tmp_path / "tiny.toml"
    path.write_bytes(b"\xff\xfe\x00")
    assert "not UTF-8" in message(path)


def test_no_such_file(tmp_path: Path) -> None:
    assert "No such file" in message(tmp_path / "tiny.toml")


def test_foreign_board_without_emulator_loads(tmp_path: Path) -> None:
    text = MINIMAL.replace("qemu-user", "native").replace('command = ["qemu-aarch64"]', "")
    board: Board = boards.check(write(tmp_path, text), X86)
    assert board.run.kind is RunKind.NONE


def test_build_only_board(tmp_path: Path) -> None:
    text = MINIMAL.replace("qemu-user", "none").replace('command = ["qemu-aarch64"]', "")
    assert boards.check(write(tmp_path, text), X86).run.kind is RunKind.NONE


def test_the_documented_example_is_valid(tmp_path: Path) -> None:
    page = Path(__file__).resolve().parents[2] / "docs" / "boards.md"
    _, _, rest = page.read_text().partition("```toml\n")
    board = boards.check(write(tmp_path, rest.partition("```")[0], "my-board"), X86)
    assert (board.cores, board.ram_bytes, board.caches[0].latency) == (4, 1024**3, 4)
