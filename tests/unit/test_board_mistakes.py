"""Mistakes in board files: each is one line that names the field, the rule and a way out."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from edgeconv.app.cli import main
from edgeconv.base.errors import EdgeconvError, Exit
from edgeconv.target import board as boards
from edgeconv.target.board import arch
from edgeconv.target.board_folders import FOLDERS_VARIABLE
from tests.board_example import FIRMWARE, FOLDER, X86, changed, message


def second_cache(level: int, size: str, line: str = "32B") -> str:
    """To come before the first region of FIRMWARE."""
    return (
        f'[[cache]]\nlevel = {level}\nsize = "{size}"\nline = "{line}"\n[[memory]]\nname = "flash"'
    )


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("= 1.0", "= nan", ": macs_per_cycle: got nan; must be finite; write what"),
        ("= 1.0", "= inf", ": macs_per_cycle: got Infinity; must be at most 1000000; float32"),
        ("= 1.0", "= 1e308", ": macs_per_cycle: got 1e+308; must be at most 1000000; float32"),
        ("= 1.0", "= 1e-320", ": macs_per_cycle: got 1e-320; must be at least 1e-06; float32"),
        ("= 1.0", "= 1.0\nload_cycles = 1e308", ": load_cycles: got 1e+308; must be at most"),
        ("= 1.0", "= 1.0\nloads_per_cycle = 1e308", ": loads_per_cycle: got 1e+308; must be at"),
        ("= 1.0", "= -inf", ": macs_per_cycle: got -Infinity; must be more than 0; float32"),
        ('"480MHz"', '"1e999GHz"', ": clock: got '1e999GHz'; is too large; write it like"),
        ('"480MHz"', '"0.2Hz"', ": clock: got '0.2Hz'; a clock has at least 1Hz"),
        ('"2MiB"', f'"{"9" * 400}B"', ": memory[0].size: got '9999"),
        (
            '"4KiB"',
            '"256KiB"',
            (
                ": firmware.stack: got '256KiB'; with variables beside it, it lies in the first "
                "region of RAM, 'RAM', which has 128KiB; correct one of the two"
            ),
        ),
        ('"4KiB"', '"128KiB"', ": firmware.stack: got '128KiB'; with variables beside"),
        (
            "0x2000_0000",
            "0xFFFF_0000",
            (
                ": memory[1].base: got 0xffff0000; with a size of 128KiB it ends beyond 4 GiB, at "
                "0x10000ffff; correct base or size"
            ),
        ),
        (
            "0x2000_0000",
            "0x2000_0004",
            (
                ": memory[1].base: got 0x20000004; RAM starts at a multiple of 8; correct it, or "
                "start at 0x20000008 with a size 4 bytes smaller"
            ),
        ),
        (
            "interrupts = 150",
            (
                "interrupts = 16\n[[memory]]\nname = 'more'\nkind = 'flash'\nbase = 0x0900_0040\n"
                "size = '1MiB'"
            ),
            ": memory[2].base: got 0x9000040; flash starts at a multiple of 128; correct",
        ),
        (
            "0x0800_0000",
            "0x0800_0200",  # 166 entries of four bytes need 1024
            ": memory[0].base: got 0x8000200; the vector table is here, at a multiple of 1024; cor",
        ),
        ('"128KiB"', '"60B"', ": memory[1].size: got '60B'; a region has at least 64 bytes; cor"),
        (
            "0x2000_0000",
            "536870912.0",
            ": memory[1].base: got 536870912.0; must be of type integer",
        ),
        (
            '"armv7e-m"',
            '"cortex-m4"',
            (
                ": arch: got 'cortex-m4'; no architecture of a microcontroller that edgeconv knows"
                "; known: armv6-m, armv7-m, armv7e-m, armv8-m.base, armv8-m.main, armv8.1-m.main"
            ),
        ),
        (
            '"armv7e-m"',
            '"armv7m-e"',
            (
                ": arch: got 'armv7m-e'; no architecture of a microcontroller that edgeconv knows; "
                "did you mean armv7-m, "
            ),
        ),
        ('"armv7e-m"', '"armv7l"', ": arch: got 'armv7l'; no architecture of a microcontr"),
        ('line = "32B"', 'line = "48B"', ": cache[0].line: got '48B'; the size of a line is a po"),
        (
            'line = "32B"',
            'line = "32B"\nways = 3',
            ": cache[0].ways: got 3; it does not divide the 512 lines of the cache into sets; cor",
        ),
        ('"16KiB"', '"16.01KiB"', ": cache[0].size: got '16.01KiB'; a size is a whole number"),
        ('"16KiB"', '"1000B"', ": cache[0].size: got '1000B'; it is no whole number of lines"),
        ("level = 1", "level = 2", ": cache[0].level: got 2; there is no cache of level 1; de"),
        (
            '[[memory]]\nname = "flash"',
            second_cache(3, "1MiB"),
            ": cache[1].level: got 3; there is no cache of level 2; describe that one too",
        ),
        (
            '[[memory]]\nname = "flash"',
            second_cache(1, "1MiB"),
            ": cache[1].level: got 1; another cache is of this level; correct one of the two",
        ),
        (
            '[[memory]]\nname = "flash"',
            second_cache(2, "8KiB"),
            ": cache[1].size: got '8KiB'; level 2 is smaller than level 1, of 16KiB; correct one",
        ),
        ("base = 0x2000_0000", "bse = 0", ": memory[1].bse: no such key; did you mean base, "),
        ("level = 1", "level = 1\nspeed = 2", ": cache[0].speed: no such key; known: bandwidth, "),
        ("L2 =", '"L\\n4" =', ': energy.byte."L\\n4": no such key; known: L1, L2, '),
        ('name = "RAM"\n', "", ": memory[1].name: is missing; a letter, then letters,"),
        ('kind = "none"\n', "", ": run.kind: is missing; without the board at hand"),
        ("[[cache]]", "[cache]", ': cache: got {"level": 1, "size'),
        (
            "0x2000_0000",
            "0x0810_0000",
            ": memory[1].base: got 0x8100000; 'RAM' overlaps 'flash' at",
        ),
    ],
)
def test_a_mistake_has_a_way_out(tmp_path: Path, old: str, new: str, expected: str) -> None:
    text = message(tmp_path, changed(old, new))
    assert text.startswith(expected)
    assert re.search(r"; (?!got)|: is missing; .", text), "no rule and no way out"


def test_the_way_out_of_an_overlap_and_of_a_lone_table(tmp_path: Path) -> None:
    overlap = message(tmp_path, changed("0x2000_0000", "0x0810_0000"))
    assert overlap.endswith("at 0x8000000 to 0x81fffff; correct base or size of one of the two")
    assert message(tmp_path, changed("[[cache]]", "[cache]")).endswith("array; write [[cache]]")


def test_every_required_key_is_described() -> None:
    """What is missing is explained with the description of its schema."""

    def missing(part: dict[str, object], path: str) -> Iterator[str]:
        entries = part.get("properties", {})
        assert isinstance(entries, dict)
        for key, entry in entries.items():
            if "description" not in entry and path != "energy.byte":
                yield f"{path}.{key}".lstrip(".")
            yield from missing(entry, f"{path}.{key}".lstrip("."))
            yield from missing(entry.get("items", {}), f"{path}.{key}".lstrip("."))

    assert list(missing(json.loads((FOLDER / "schema.json").read_text()), "")) == []


def test_memory_that_just_fits_is_valid(tmp_path: Path) -> None:
    path = tmp_path / "tiny.toml"
    path.write_text(
        changed("0x2000_0000", "0xFFFE_0000")
        .replace("0x0800_0000", "0x0800_0400")
        .replace('"4KiB"', '"127KiB"')
        .replace('line = "32B"', 'line = "32B"\nways = 4')
    )
    board = boards.check(path, X86)
    assert board.ram[0].base == 0xFFFE_0000
    assert board.caches[0].ways == 4


def test_architectures_are_found_without_punctuation(tmp_path: Path) -> None:
    path = tmp_path / "tiny.toml"
    for name in arch.MICROCONTROLLERS:
        text = changed("armv7e-m", name.replace("-", "").replace(".", ""))
        if name.startswith("rv32"):  # which says whether there is an FPU
            text = re.sub(r"(?m)^(fpu|float_abi) .*\n", "", text)
        path.write_text(text)
        found = arch.find(boards.check(path, X86).arch)
        assert found
        assert found.name == name
    assert {board.arch for board in map(boards.load, boards.names()) if board.bare_metal} <= set(
        arch.MICROCONTROLLERS
    )


def test_a_byte_order_mark_is_skipped(tmp_path: Path) -> None:
    path = tmp_path / "tiny.toml"
    path.write_bytes(b"\xef\xbb\xbf" + FIRMWARE.encode())
    assert boards.check(path, X86).name == "tiny"


def test_a_name_of_a_shipped_board_is_taken(tmp_path: Path) -> None:
    shipped = FOLDER / "stm32f407.toml"
    assert boards.check_new(shipped, X86).name == "stm32f407"
    copy = tmp_path / shipped.name
    shutil.copy(shipped, copy)
    assert boards.check(copy, X86).name == "stm32f407"
    with pytest.raises(EdgeconvError) as caught:
        boards.check_new(copy, X86)
    assert caught.value.code is Exit.USAGE
    assert str(caught.value) == (
        f"invalid board file: {copy}: name: got 'stm32f407'; a shipped board has it: no command "
        "runs with this folder in EDGECONV_BOARDS; rename the file and the board in it"
    )


@pytest.mark.parametrize(
    ("name", "folders", "expected"),
    [
        ("my-laptop", "", "; my-laptop.toml is there: set EDGECONV_BOARDS=."),
        (
            "my-laptop.toml",
            "",
            "; my-laptop.toml is there: set EDGECONV_BOARDS=. and name the board my-laptop",
        ),
        (
            "more/own.toml",
            "",
            "; more/own.toml is there: set EDGECONV_BOARDS=more and name the board own",
        ),
        ("my-laptop", "more", f"; my-laptop.toml is there: set EDGECONV_BOARDS=more{os.pathsep}."),
        (
            "my-lptop",
            "",
            "; neither shipped nor in a folder of EDGECONV_BOARDS, which is not set; ",
        ),
        ("own" * 200, "", "; neither shipped nor"),
        ("other/host.toml", "", "; did you mean host?"),
    ],
)
def test_an_unknown_board_whose_file_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, folders: str, expected: str
) -> None:
    """One and the same for every command that takes a board or a project."""
    for folder in ("more", "other"):
        (tmp_path / folder).mkdir()
    for path in ("my-laptop.toml", "more/own.toml", "other/host.toml"):
        (tmp_path / path).write_text("")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(FOLDERS_VARIABLE, folders)
    with pytest.raises(EdgeconvError, match="^unknown board: got ") as caught:
        boards.load(name, X86)
    assert caught.value.code is Exit.USAGE
    text = str(caught.value)
    assert text.endswith(expected) if "is there" in expected else expected in text
    assert ("is there" in text) == ("is there" in expected)


def test_boards_check_says_that_a_file_is_valid(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "tiny.toml"
    path.write_text(FIRMWARE)
    assert main(["boards", "check", str(path)]) == 0
    first, _, rest = capsys.readouterr().out.partition("tiny: A microcontroller\n")
    # A long path breaks the line anywhere.
    assert "".join(first.split()) == f"{path}isavalidboardfile"
    assert rest
    assert main(["boards", "check", str(path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["name"] == "tiny"


def test_boards_check_says_what_keys_that_are_left_out_cost(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, rate = tmp_path / "tiny.toml", "macs_per_cycle = 1.0\n"
    costs = {}
    for number, first in enumerate(("", rate)):
        path.write_text(first + "\n".join(_without_rate(FIRMWARE)))
        assert main(["boards", "check", str(path), "--json"]) == 0
        found = json.loads(capsys.readouterr().out)["left_out"]
        costs[number] = {each["key"]: each["costs"] for each in found}
    assert "whether integers or float32 are faster may be told wrong" in costs[0]["macs_per_cycle"]
    assert costs[0].keys() - costs[1].keys() == {"macs_per_cycle"}
    path.write_text(
        "\n".join(x for x in FIRMWARE.splitlines() if not x.startswith(("fpu", "float_abi")))
    )
    assert main(["boards", "check", str(path), "--json"]) == 0
    assert "fpu" in {each["key"] for each in json.loads(capsys.readouterr().out)["left_out"]}
    assert main(["boards", "check", str(path)]) == 0
    assert "left out: bandwidth of [[memory]]: a memory is taken" in capsys.readouterr().out


def _without_rate(text: str) -> list[str]:
    return [line for line in text.splitlines() if not line.startswith("macs_per_cycle")]
