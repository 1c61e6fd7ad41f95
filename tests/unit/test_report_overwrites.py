"""--report and --html replace reports and pages of edgeconv, and no other files."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.command import BOARD, Command
from tests.unit.test_cli_compile import files

pytestmark = pytest.mark.usefixtures("compiled_lightly")  # as `built_project` is


@pytest.mark.parametrize("name", ["report.json", "report.txt", "report.html"])
@pytest.mark.parametrize("text", ['{"grades": [1, 2]}', "<html>my thesis</html>"])
def test_reports_of_others_stay(
    edgeconv: Command, residual_model: Path, tmp_path: Path, name: str, text: str
) -> None:
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / name).write_text(text)
    command = ("compile", residual_model, "--board", BOARD, "-o", tmp_path / "out")
    done = edgeconv(*command, "--report", mine)
    assert done.status == 2
    assert f"will not replace: {mine / name}" in done.stderr
    assert files(mine) == {name: text.encode()}
    assert not (tmp_path / "out").exists(), "that is said before anything long"


def test_reports_of_ours_are_replaced(
    edgeconv: Command, residual_model: Path, tmp_path: Path
) -> None:
    out, reports = tmp_path / "out", tmp_path / "reports"
    command = ("compile", residual_model, "--board", BOARD, "-o", out, "--report")
    edgeconv.ok(*command, reports)
    before = files(reports)
    edgeconv.ok(*command, reports, "--name", "eyes")
    assert {name for name, data in files(reports).items() if data != before[name]} >= {
        "report.json",
        "report.html",
    }
    edgeconv.ok(*command, out, "--verify")  # beside the project's own
    edgeconv.ok(*command, out)
    assert (out / "report.html").is_file()
    other = tmp_path / "other"
    edgeconv.ok("compile", residual_model, "--board", BOARD, "-o", other, "--io", "arena")
    project = files(other)
    done = edgeconv(*command, other)
    assert done.status == 2
    assert "that of a project" in done.stderr
    assert files(other) == project


def test_pages_of_others_stay(edgeconv: Command, built_project: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text("<html>mine</html>")
    done = edgeconv("report", built_project, "--html", page)
    assert done.status == 2
    assert page.read_text() == "<html>mine</html>"
    assert edgeconv("report", built_project, built_project, "--html", page).status == 2
    assert page.read_text() == "<html>mine</html>"
    page.write_text("")  # as mktemp makes it
    edgeconv.ok("report", built_project, "--html", page)
    edgeconv.ok("report", built_project, "--html", page)
    os.mkfifo(tmp_path / "pipe")
    assert edgeconv("report", built_project, "--html", tmp_path / "pipe").status == 2
    assert (tmp_path / "pipe").is_fifo()


def test_page_of_the_frontier_spares_others(
    edgeconv: Command, residual_model: Path, tmp_path: Path
) -> None:
    page = tmp_path / "page.html"
    page.write_text("mine")
    command = ("explain", residual_model, "--board", BOARD, "--pareto", "--html", page)
    assert edgeconv(*command).status == 2
    assert page.read_text() == "mine"
