"""``edgeconv doctor``."""

from __future__ import annotations

from edgeconv.cli.commands import Command
from edgeconv.doctor import diagnose, diagnose_boards
from edgeconv.errors import Exit
from edgeconv.report import doctor as tables
from edgeconv.terminal import Progress, show


def run(*, as_json: bool) -> Exit:
    """Look for tools."""
    with Progress() as step:
        step("looking for tools")
        checks, found = diagnose(), diagnose_boards()
    show(tables.render(checks, found), tables.to_json(checks, found), as_json=as_json)
    return Exit.OK


command = Command("doctor", "which toolchains, emulators and runtimes are here", callback=run)
