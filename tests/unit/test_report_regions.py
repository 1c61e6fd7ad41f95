"""Rows of report.json for the memory regions of a board, once the linker has filled them."""

from __future__ import annotations

from typing import Any

from edgeconv.memory.sizes import FLASH_PARTS, RAM_PARTS
from edgeconv.report.regions import placed


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
