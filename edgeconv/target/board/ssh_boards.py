"""Boards that are reached over ssh, though their files do not say so."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from edgeconv.base.errors import UsageError
from edgeconv.target.board.checks import BARE_METAL

SSH = "ssh"  # as ``run.kind`` has it
# [user@]host, or ssh://[user@]host[:port]: nothing that ssh would take for an option, and nothing
# that acts on a terminal.
_DESTINATION = re.compile(r"(?:ssh://)?[A-Za-z0-9_][A-Za-z0-9_.@:%\[\]-]*")


def over_ssh(path: Path, data: Mapping[str, Any], place: str) -> dict[str, Any]:
    """The table ``run`` of a board file for a board at ``place``.

    Where the file describes a connection, its folder and the words before programs stay.  Raises
    EdgeconvError (exit status 2): a place that ssh would not take for one, or a board without an
    operating system.
    """
    if data.get("os") == BARE_METAL:
        raise UsageError(
            "--ssh",
            where=f"board {data['name']}",
            rule="it has no operating system",
            hint='a debugger reaches it: run.kind = "probe", see docs/boards.md',
        )
    if not _DESTINATION.fullmatch(place):
        raise UsageError(
            "--ssh", got=repr(place), rule="a place reads [user@]host or ssh://[user@]host[:port]"
        )
    stated = data["run"] if data["run"]["kind"] == SSH else {}
    kept = {key: stated[key] for key in ("folder", "before") if key in stated}
    return {
        **kept,
        "kind": SSH,
        "command": [SSH, place],
        "install": "apt-get install openssh-client",
    }
