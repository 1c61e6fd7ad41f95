"""The table of all boards, which docs/boards.md has."""

from __future__ import annotations

from pathlib import Path

import pytest

from edgeconv.report.board_index import markdown
from edgeconv.target import board as boards
from tests import ROOT
from tests.board_example import FIRMWARE, X86
from tests.command import Command

PAGE = ROOT / "docs" / "boards.md"


def test_the_page_has_what_the_command_prints(edgeconv: Command) -> None:
    printed = edgeconv.ok("boards", "list", "--markdown").stdout
    assert PAGE.read_text(encoding="utf-8").endswith("\n" + printed)
    for name in boards.names():
        own = boards.load(name).path.read_text()
        assert (f"| `{name}` |" in printed) == ('arch = "host"' not in own)


def test_a_line(tmp_path: Path) -> None:
    path = tmp_path / "tiny.toml"
    path.write_text(FIRMWARE)
    *_, line = markdown([boards.check(path, X86)])
    assert line == (
        "| `tiny` | armv7e-m | 480 MHz | 128 KiB | 2.00 MiB | scalar, dsp, dual issue, maxima | "
        "arm-none-eabi-gcc | itself |"
    )


@pytest.mark.parametrize(
    ("run", "place"),
    [
        ('kind = "none"\nsiblings = ["mps2-an500"]', "as `mps2-an500`"),
        ('kind = "probe"\ncommand = ["pyocd", "{image}"]', "itself, through a probe"),
        ('kind = "qemu-system"\ncommand = ["qemu", "-M", "some"]', "qemu, `some`"),
        ('kind = "qemu-system"\ncommand = ["renode"]', "renode"),
    ],
)
def test_where_its_programs_run(tmp_path: Path, run: str, place: str) -> None:
    path = tmp_path / "tiny.toml"
    path.write_text(FIRMWARE.replace('kind = "none"', run))
    *_, line = markdown([boards.check(path, X86)])
    assert line.endswith(f"| {place} |")
