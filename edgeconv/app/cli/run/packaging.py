"""``edgeconv package``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.markup import escape

from edgeconv.app.packaging import package
from edgeconv.app.terminal import say, show
from edgeconv.base.errors import Exit
from edgeconv.report.narrow_tables import plain_table


def run(
    *,
    directory: Path,
    forms: Sequence[str],
    output: Path | None,
    package_version: str,
    as_json: bool,
) -> Exit:
    """Make the packages, and say where they are."""
    done = package(directory, forms, output, package_version)
    for note in done.notes:
        say(f"note: {note}")
    table = plain_table("package", "folder")
    for form, path in done.packages.items():
        table.add_row(form, escape(str(path)))
    show(table, done.to_json(), as_json=as_json)
    return Exit.OK
