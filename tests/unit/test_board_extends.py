"""Board files that take over what they do not say from a class of boards, or from a board."""

from __future__ import annotations

from pathlib import Path

import pytest

from edgeconv.base.errors import EdgeconvError, Exit
from edgeconv.target import board as boards
from edgeconv.target.board.extends import classes
from edgeconv.target.board.file import read
from tests.board_example import X86
from tests.tools import representatives

OWN = """\
schema = 1
extends = "cortex-m4f"
name = "mine"
description = "A board"
clock = "64MHz"

[[memory]]
name = "flash"
kind = "flash"
base = 0x0000_0000
size = "512KiB"

[[memory]]
name = "RAM"
kind = "sram"
base = 0x2000_0000
size = "64KiB"
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("EDGECONV_BOARDS", str(tmp_path))
    return tmp_path


def written(folder: Path, text: str, name: str = "mine") -> Path:
    path = folder / f"{name}.toml"
    path.write_text(text)
    return path


def test_keys_that_the_file_leaves_out_are_those_of_the_class(folder: Path) -> None:
    board = boards.check(written(folder, OWN), X86)
    assert (board.name, board.description) == ("mine", "A board")
    assert (board.cpu, board.fpu, board.float_abi) == ("Cortex-M4", "fpv4-sp-d16", "hard")
    assert board.toolchain.flags == ("-mcpu=cortex-m4", "-mthumb")
    assert board.firmware
    assert board.firmware.stack == 4096, "of the class that the class extends"


def test_tables_are_merged_and_lists_replaced(folder: Path) -> None:
    more = '[firmware]\ninterrupts = 9\n[toolchain]\nflags = ["-mcpu=cortex-m4", "-mthumb", "-g"]\n'
    board = boards.check(written(folder, OWN + more), X86)
    assert board.firmware
    assert (board.firmware.stack, board.firmware.interrupts) == (4096, 9)
    assert board.toolchain.flags[-1] == "-g"
    assert board.toolchain.cc == ("arm-none-eabi-gcc",)


def test_a_board_extends_a_board(folder: Path) -> None:
    written(folder, OWN)
    other = 'schema = 1\nextends = "mine"\nname = "other"\ndescription = "Another"\n'
    board = boards.check(written(folder, other, "other"), X86)
    assert board.memory == boards.load("mine", X86).memory
    assert board.path.name == "other.toml"


def test_its_own_name_and_description_are_not_taken_over(folder: Path) -> None:
    text = OWN.replace('description = "A board"\n', "")
    with pytest.raises(EdgeconvError, match="description: is missing; one line for people"):
        boards.check(written(folder, text), X86)


@pytest.mark.parametrize(
    ("extends", "expected"),
    [
        ('"cortex-m4g"', ": extends: got 'cortex-m4g'; there is no such class, and no such board;"),
        ('"mine"', ": extends: got 'mine'; it extends itself; leave it out of one of them"),
        ("4", ": extends: got 4; the name of a class or board is expected"),
        ('"../secret"', ": extends: got '../secret'; there is no such class"),
    ],
)
def test_mistakes(folder: Path, extends: str, expected: str) -> None:
    path = written(folder, OWN.replace('"cortex-m4f"', extends))
    with pytest.raises(EdgeconvError) as caught:
        boards.check(path, X86)
    assert caught.value.code is Exit.USAGE
    assert str(caught.value).partition(str(path))[2].startswith(expected)


def test_a_circle_of_two(folder: Path) -> None:
    for name, other in (("mine", "other"), ("other", "mine")):
        written(folder, OWN.replace("cortex-m4f", other).replace('"mine"', f'"{name}"'), name)
    with pytest.raises(EdgeconvError, match="it extends itself"):
        read(folder / "mine.toml")


def test_no_class_has_the_name_of_a_board() -> None:
    assert classes()
    assert not classes().keys() & set(boards.names())


@pytest.mark.parametrize("name", sorted(classes()))
def test_every_class_is_extended(name: str) -> None:
    files = [*classes().values(), *(boards.load(each).path for each in boards.names())]
    assert any(f'extends = "{name}"' in path.read_text() for path in files)
    text = classes()[name].read_text()
    assert f'name = "{name}"' in text, "the file has the name of the class"


def test_one_board_of_each_core_stands_for_the_others() -> None:
    every, some = boards.names(), representatives(boards.names())
    assert set(some) < set(every)
    assert {boards.load(name).flags for name in some} == {boards.load(n).flags for n in every}


def test_siblings_are_boards_that_an_emulator_boots() -> None:
    for board in map(boards.load, boards.names()):
        for sibling in map(boards.load, board.run.siblings):
            assert sibling.run.kind is boards.RunKind.QEMU_SYSTEM, board.name
            assert sibling.architecture.machine == board.architecture.machine
