"""Rows of report.json for the memory regions of a board, once the linker has filled them."""

from __future__ import annotations

from io import StringIO
from typing import Any

import pytest

from edgeconv.base.visible import VisibleConsole
from edgeconv.report.regions import placed
from edgeconv.report.text import region_table
from edgeconv.search.memory.sizes import FLASH_PARTS, RAM_PARTS


def row(name: str, **parts: int | None) -> dict[str, Any]:
    return {"name": name, "kind": "sram", "base": 0, "size": 4096, **parts}


def test_rows_as_the_linker_filled_them() -> None:
    """What was kept free for variables and the stack is theirs now; ``used`` is the sum."""
    planned = {"arena": 512, "io": 0, "padding": None}
    rows = [
        row("FAST", **planned, data=None, stack=None, used=512, kept_free=1024),
        row("SLOW", **planned, data=0, stack=0, used=512, kept_free=0),
    ]
    parts = {"FAST": {"arena": 500, "data": 40, "stack": 300, "padding": 4}, "SLOW": {"io": 7}}
    fast = {"arena": 500, "io": 0, "data": 40, "stack": 300, "padding": 4}
    slow = {"arena": 0, "io": 7, "data": 0, "stack": 0, "padding": 0}
    assert placed(rows, parts, RAM_PARTS) == [
        row("FAST", **fast, used=844, kept_free=0),
        row("SLOW", **slow, used=7, kept_free=0),
    ]


def test_nothing_is_kept_free_in_flash() -> None:
    rows = [row("FLASH", weights=100, code=None, rodata=None, padding=None, used=100)]
    parts = {"FLASH": {"weights": 100, "code": 60, "rodata": 8}}
    filled = {"weights": 100, "code": 60, "rodata": 8, "padding": 0}
    assert placed(rows, parts, FLASH_PARTS) == [row("FLASH", **filled, used=168)]


ROWS = {
    "arena": 110_592, "io": 110_608, "data": 24, "stack": 496, "weights": 843_648, "code": 20_996,
    "rodata": 1_740, "padding": 40,
}  # fmt: skip


def shown(width: int) -> str:
    """The table of six regions, as the mps3-an547 has them, on a console of ``width`` columns."""
    names = ("ITCM", "QSPI", "DTCM", "ISRAM", "FPGA SRAM", "DDR4")
    rows = [{"name": n, "size": 16_777_216, "used": 1_087_144, **ROWS} for n in names]
    text = StringIO()
    console = VisibleConsole(file=text, width=width, highlight=False)
    table = region_table({"ram": {"regions": rows}, "flash": {"regions": []}})
    for part in table:
        console.print(part, crop=False)
    return text.getvalue()


@pytest.mark.parametrize("width", [40, 60, 72, 80, 90, 100, 120])
def test_no_digit_is_cut_on_a_narrow_console(width: int) -> None:
    text = shown(width)
    free = 16_777_216 - 1_087_144
    for number in (*ROWS.values(), free):
        assert text.split().count(f"{number:,}") == 6, text
    assert text.count("16.0 MiB") == 6
    assert "…" not in text
    if width >= 80:
        assert max(map(len, text.splitlines())) <= width
    assert (text.split()[1] == "arena") == (width >= 100), "regions are columns where that fits"
