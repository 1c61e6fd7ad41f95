"""Folders with files that describe no board, and boards whose flags and processors disagree."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from edgeconv.base.errors import EdgeconvError, Exit
from edgeconv.run.build import find_compiler
from edgeconv.run.build.board_check import try_flags
from edgeconv.target import board as boards
from edgeconv.target.board.catalogue import load_all
from edgeconv.target.board_folders import FOLDERS_VARIABLE, shipped
from tests.command import Command
from tests.tools import available, representatives

LONG = "a" * 300
# File name -> its contents and what is said of it.
BAD = {
    "broken": (b"x = ", "not TOML"),
    "deep": (b"x = " + b"[" * 5000 + b"1" + b"]" * 5000, "board-depth"),
    "dotted": (b"a." * 300_000 + b"a = 1", "board-depth"),
    "nested": (b"x = " + b"{a = " * 20 + b"1" + b"}" * 20, "board-depth"),
    "huge": (b"#" * (2 << 20), "board-bytes"),
    "long": (b"a" * 900_000 + b" = 1", "no such key"),
    "latin": (b"name = '\xe9'", "not UTF-8"),
    "generic-c": (b"", "two boards of one name"),
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(FOLDERS_VARIABLE, str(tmp_path))
    return tmp_path


def own(folder: Path, name: str, **replaced: tuple[str, str]) -> Path:
    """odroid-xu3 under another name, each value's text replaced where it stands."""
    text = (shipped() / "odroid-xu3.toml").read_text().replace('"odroid-xu3"', f'"{name}"')
    for old, new in replaced.values():
        assert old in text
        text = text.replace(old, new)
    path = folder / f"{name}.toml"
    path.write_text(text)
    return path


def test_bad_files_hide_no_good_ones(folder: Path, edgeconv: Command) -> None:
    own(folder, "mine")
    for name, (content, _) in BAD.items():
        (folder / f"{name}.toml").write_bytes(content)
    os.mkfifo(folder / "pipe.toml")
    known = load_all()
    said = {error.where.partition(".toml")[0].rpartition("/")[2]: error for error in known.invalid}
    assert said.keys() == {*BAD, "pipe"}
    for name, (_, words) in BAD.items():
        assert words in str(said[name])
        assert len(str(said[name])) < 1000
    assert "a pipe" in str(said["pipe"])
    assert {"mine", "host", "stm32h743"} <= {board.name for board in known.boards}
    for command in ("boards list", "doctor"):
        done = edgeconv(*command.split())
        assert done.status == Exit.USAGE
        assert "mine" in done.stdout
        assert all(f"{name}.toml" in done.stderr for name in said)
    assert edgeconv("boards", "show", "mine").status == Exit.OK
    assert edgeconv("boards", "show", "generic-c").status == Exit.USAGE


@pytest.mark.skipif(os.getuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read_is_named(folder: Path) -> None:
    own(folder, "mine").chmod(0)
    (error,) = load_all().invalid
    assert "Permission denied" in str(error)


@pytest.mark.parametrize(
    "words",
    [
        ("boards", "show", LONG),
        ("boards", "check", LONG),
        ("boards", "check", f"{LONG}.toml"),
        ("boards", "new", LONG),
        ("boards", "new", "b", "-o", f"/tmp/{LONG}"),
        ("compile", "none.onnx", "--board", LONG),
    ],
)
def test_names_of_300_characters(words: tuple[str, ...], edgeconv: Command) -> None:
    done = edgeconv(*words)
    assert done.status in (Exit.USAGE, Exit.UNSATISFIED)
    assert "internal error" not in done.stderr


def test_a_folder_of_300_characters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(FOLDERS_VARIABLE, f"/tmp/{LONG}")
    with pytest.raises(EdgeconvError, match="no such folder of boards"):
        load_all()


def test_a_compiler_that_is_no_command_line(folder: Path) -> None:
    path = own(folder, "mine", cc=('cc = ["arm', "cc = ['cc \"open', \"arm"))
    with pytest.raises(EdgeconvError, match=r"toolchain.cc\[0\].*No closing quotation"):
        boards.check(path)


FLAGS = '"-march=armv7ve", "-mtune=cortex-a15"'


def test_the_boards_processor_wins_over_the_isas_architecture(folder: Path) -> None:
    """A 32-bit system on Cortex-A53, where uname -m says armv7l."""
    path = own(folder, "a53", flags=(FLAGS, '"-mcpu=cortex-a53"'))
    board = boards.check(path)
    assert "-march=armv7-a" not in board.flags
    assert {"-mfpu=neon-vfpv4", "-mcpu=cortex-a53"} <= set(board.flags)
    available("odroid-xu3", to_run=False)
    assert find_compiler(board).command
    try_flags(board)


@pytest.mark.parametrize(
    ("arch", "flags", "said"),
    [
        ("armv7l", '"-mcpu=no-such-core"', "no-such-core"),
        ("armv7l", '"-mcpu=cortex-a15", "-march=armv8-a"', "conflicts"),
        ("armv6l", '"-march=armv7-a"', "needs an architecture.*name a compiler with a C libr"),
        ("armv9x", '"-march=armv7-a"', "nothing is known of the board's arch"),
    ],
)
def test_check_refuses_what_a_build_would(folder: Path, arch: str, flags: str, said: str) -> None:
    available("odroid-xu3", to_run=False)
    changed = {"flags": (FLAGS, flags)}
    if arch != "armv7l":
        changed["arch"] = ('arch = "armv7l"', f'arch = "{arch}"')
        portable = 'isa = "portable"\nfpu = "vfp"\nfloat_abi = "hard"'
        changed["isa"] = ('isa = "neon_armv7"', portable)
    board = boards.check(own(folder, "mine", **changed))
    with pytest.raises(EdgeconvError, match=said) as caught:
        try_flags(board)
    assert caught.value.code is Exit.USAGE


@pytest.mark.parametrize("name", representatives(boards.names()))
def test_shipped_boards_take_their_own_flags(name: str) -> None:
    try_flags(available(name, to_run=False))
