"""``edgeconv link``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.console import Group
from rich.markup import escape

from edgeconv.app.linking import Linked, link
from edgeconv.app.terminal import say, show
from edgeconv.base.errors import Exit
from edgeconv.report.narrow_tables import plain_table


def run(
    *,
    directories: Sequence[Path],
    name: str,
    directory: Path | None,
    arena: bool,
    together: Sequence[Sequence[str]],
    as_json: bool,
) -> Exit:
    """Link, and say where each network's bytes are."""
    done = link(directories, name, directory, arena=arena, together=together)
    for note in done.notes:
        say(f"note: {note}")
    show(_text(done), done.document, as_json=as_json)
    return Exit.OK


def _text(done: Linked) -> Group:
    found = done.document
    table = plain_table("network", ">offset", ">bytes", ">kept", "together with")
    for network in found["networks"]:
        for place in network["arenas"]:
            table.add_row(
                network["name"],
                f"{place['offset']:,}",
                f"{place['bytes']:,}",
                f"{network['kept']:,}",
                ", ".join(network["together"]) or "none",
            )
    total = sum(each["bytes"] for each in found["arenas"])
    title = f"[bold]{escape(found['name'])}[/] for board {escape(found['board'])}: "
    title += f"{total:,} bytes of arena, {found['alone']:,} if each had its own"
    return Group(title, table, f"folder: {escape(str(done.directory))}")
