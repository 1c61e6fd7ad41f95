"""A report as files: report.json, and report.txt and report.html for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from edgeconv.budget.frontier import Point
from edgeconv.build.project import REPORT
from edgeconv.build.project import render as to_json
from edgeconv.errors import EdgeconvError, Exit
from edgeconv.report.text import render as to_text
from edgeconv.visible import VisibleConsole

WIDTH = 100


def write(report: Mapping[str, Any], directory: Path) -> None:
    """Write the three files; EdgeconvError (exit status 2) when ``directory`` cannot be written."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        (directory / REPORT).write_text(to_json(report), encoding="utf-8")
        with (directory / "report.txt").open("w", encoding="utf-8") as stream:
            console = VisibleConsole(file=stream, width=WIDTH, highlight=False, emoji=False)
            console.print(to_text(report))
        write_html(report, directory / "report.html")
    except OSError as error:
        raise EdgeconvError(
            "cannot write the report",
            where=str(directory),
            got=str(error.strerror),
            hint="give a writable directory with --report",
            code=Exit.USAGE,
        ) from error


def write_html(report: Mapping[str, Any], path: Path) -> None:
    """Write the page alone, at once; EdgeconvError (exit status 2) when it cannot be written."""
    from edgeconv.report.html import page  # noqa: PLC0415 - plotly, which no other command needs

    page.write(report, path)


def write_frontier(points: Sequence[Point], path: Path, *, model: str, board: str) -> None:
    """Write the frontier as a page; EdgeconvError (exit status 2) when it cannot be written."""
    from edgeconv.report.html import frontier, page  # noqa: PLC0415 - as above

    page.replace(path, frontier.render(points, model=model, board=board))
