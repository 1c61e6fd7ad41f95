"""The tables of ``edgeconv doctor``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from rich.console import Group
from rich.markup import escape
from rich.table import Table

from edgeconv.doctor import BoardCheck, Check

_YES, _NO = "[green]yes[/]", "[red]no[/]"


def render(checks: Sequence[Check], boards: Sequence[BoardCheck]) -> Group:
    """Two tables for a rich console: the tools, then the boards."""
    tools = Table(title="Tools", title_justify="left")
    for heading in ("kind", "for", "found", "how to get it"):
        tools.add_column(heading)
    for check in checks:
        wrong = f"[red]does not work[/]: {escape(check.problem)}" if check.problem else ""
        found = escape(check.found) or wrong or "[red]missing[/]"
        tools.add_row(
            check.kind, escape(check.what), found, "" if check.found else escape(check.install)
        )
    table = Table(title="Boards", title_justify="left")
    for heading in ("board", "ISA", "can build", "can run", "how"):
        table.add_column(heading)
    for board in boards:
        build, run = _YES if board.can_build else _NO, _YES if board.can_run else _NO
        table.add_row(board.name, board.isa, build, run, escape(board.runs))
    return Group(tools, table)


def to_json(checks: Sequence[Check], boards: Sequence[BoardCheck]) -> dict[str, Any]:
    """The same as one JSON document."""
    return {
        "tools": [asdict(check) for check in checks],
        "boards": [asdict(board) for board in boards],
    }
