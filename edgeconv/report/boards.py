"""The tables of ``edgeconv boards``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Group
from rich.markup import escape
from rich.table import Table

from edgeconv.board import Board
from edgeconv.report.text import plain_table
from edgeconv.sizes import human


def board_table(boards: Sequence[Board]) -> Table:
    """One line per board."""
    table = plain_table("board", "ISA", "runs here", "description")
    for board in boards:
        table.add_row(board.name, board.isa, _runs(board), escape(board.description))
    return table


def board_details(board: Board) -> Group:
    """Everything about one board."""
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in board_json(board).items():
        if name in ("name", "description") or value in (None, [], ""):
            continue
        for number, text in enumerate(_texts(value)):
            table.add_row(name if number == 0 else "", escape(text))
    return Group(f"[bold]{board.name}[/]: {escape(board.description)}", table)


def board_json(board: Board) -> dict[str, Any]:
    """The same as one JSON document."""
    return {
        "name": board.name,
        "description": board.description,
        "arch": board.arch,
        "isa": board.isa,
        "lanes": board.target.lanes,
        "cpu": board.cpu,
        "cores": board.cores,
        "clock_hz": board.clock_hz,
        "caches": [
            {"level": c.level, "size": c.size, "line": c.line, "latency": c.latency}
            for c in board.caches
        ],
        "memory": [{"name": m.name, "kind": m.kind, "size": m.size} for m in board.memory],
        "compilers": list(board.toolchain.cc),
        "flags": list(board.flags),
        "link_flags": ["-static"] if board.toolchain.static else [],
        "emulator": list(board.run.command),
        "runs": _runs(board),
    }


def _runs(board: Board) -> str:
    return board.run.command[0] if board.run.command else board.run.kind.value


def _texts(value: Any) -> list[str]:
    """One line of text per item of a list of objects, one in all otherwise."""
    if isinstance(value, list) and isinstance(value[0], dict):
        return [
            ", ".join(
                f"{key} {human(item) if key == 'size' else item}"
                for key, item in entry.items()
                if item is not None
            )
            for entry in value
        ]
    return [" ".join(map(str, value)) if isinstance(value, list) else str(value)]
