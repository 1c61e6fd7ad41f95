"""``edgeconv doctor``."""

from __future__ import annotations

from edgeconv.board.catalogue import load_all
from edgeconv.doctor import diagnose, diagnose_boards
from edgeconv.errors import Exit
from edgeconv.report import doctor as tables
from edgeconv.terminal import Progress, say, show


def run(*, as_json: bool) -> Exit:
    """Look for tools."""
    with Progress() as step:
        step("looking for tools")
        known = load_all()
        checks, found = diagnose(known.boards), diagnose_boards(known.boards)
    show(tables.render(checks, found), tables.to_json(checks, found), as_json=as_json)
    for error in known.invalid:
        say(f"error: {error.one_line()}", *error.details)
    return known.status
