"""A report as files: report.json, and report.txt and report.html for people."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from edgeconv.base import regular_file, whole_file
from edgeconv.base.errors import EdgeconvError, UsageError, refused
from edgeconv.base.output_folder.manifest import MANIFEST
from edgeconv.base.visible import VisibleConsole
from edgeconv.report.against.figures import Figures
from edgeconv.report.text import render as to_text
from edgeconv.run.build import report_file
from edgeconv.run.build.project import REPORT
from edgeconv.run.build.project import render as to_json
from edgeconv.search.budget.frontier import Point

WIDTH = 100
TEXT, PAGE = "report.txt", "report.html"
# What files of ours begin with.
TITLE = "Report of edgeconv"
_GENERATOR = b'<meta name="generator" content="edgeconv">'
_BEGINNING = 4096  # bytes


def write(report: Mapping[str, Any], directory: Path) -> None:
    """Write the three files.

    Raises EdgeconvError (exit status 2) when ``directory`` cannot be written, or as ``check``.
    """
    text = io.StringIO()
    console = VisibleConsole(file=text, width=WIDTH, highlight=False, emoji=False)
    console.print(TITLE)
    console.print(to_text(report))
    check(directory, report)
    with refused(
        "cannot write the report", directory, "give a writable directory with --report", UsageError
    ):
        directory.mkdir(parents=True, exist_ok=True)
        if not _same(directory / REPORT, to_json(report)):  # that of the project may lie there
            whole_file.replace(directory / REPORT, to_json(report))
        whole_file.replace(directory / TEXT, text.getvalue())
        write_html(report, directory / PAGE)


def write_html(report: Mapping[str, Any], path: Path) -> None:
    """Write the page alone, at once.

    Raises EdgeconvError (exit status 2) when it cannot be written, or as ``check_page``.
    """
    check_page(path)
    from edgeconv.report.html import page  # noqa: PLC0415 - plotly, which no other command needs

    page.replace(path, page.render(report))


def write_compared(
    first: Mapping[str, Any], second: Mapping[str, Any], path: Path, *, names: tuple[str, str]
) -> None:
    """Write two reports as one page; raises as ``write_html``."""
    check_page(path)
    from edgeconv.report.html import compared, page  # noqa: PLC0415 - as above

    page.replace(path, compared.render(first, second, names))


def write_against(programs: Sequence[Figures], path: Path) -> None:
    """Write programs side by side as a page; raises as ``write_html``."""
    check_page(path)
    from edgeconv.report.html import against, page  # noqa: PLC0415 - as above

    page.replace(path, against.render(programs))


def write_frontier(points: Sequence[Point], path: Path, *, model: str, board: str) -> None:
    """Write the frontier as a page; raises as ``write_html``."""
    check_page(path)
    from edgeconv.report.html import frontier, page  # noqa: PLC0415 - as above

    page.replace(path, frontier.render(points, model=model, board=board))


def check(directory: Path, report: Mapping[str, Any] | None = None) -> None:
    """Raise EdgeconvError (exit status 2) for a file in the way that is not edgeconv's.

    ``report``: the one that is to be written, which may be there already as that of its project.
    """
    path = directory / REPORT
    same = report is not None and _same(path, to_json(report))
    if _there(path) and not same:
        if _there(directory / MANIFEST):
            raise whole_file.not_ours(path, "it is that of a project")
        try:
            report_file.read(path)
        except EdgeconvError as error:
            raise whole_file.not_ours(path, "it is no report of edgeconv's") from error
    for name, sign in ((TEXT, TITLE.encode()), (PAGE, _GENERATOR)):
        _check_sign(directory / name, sign)


def check_page(path: Path) -> None:
    """Raise EdgeconvError (exit status 2) where a file is there that is no page of edgeconv's."""
    _check_sign(path, _GENERATOR)


def _check_sign(path: Path, sign: bytes) -> None:
    if not _there(path) or path.is_dir():  # which the attempt to write will say
        return
    try:
        with regular_file.opened(path) as stream:
            begins = stream.read(_BEGINNING)
    except OSError as error:
        raise whole_file.not_ours(path, str(error.strerror)) from error
    if begins and sign not in begins:
        raise whole_file.not_ours(path)


def _there(path: Path) -> bool:
    try:
        path.lstat()
    except OSError:  # which the attempt to write will say
        return False
    return True


def _same(path: Path, text: str) -> bool:
    try:
        return path.read_text(encoding="utf-8") == text
    except (OSError, UnicodeDecodeError):
        return False
