"""The HTML report as a file: how it is written, from which command, in which colours."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from importlib import resources
from pathlib import Path
from typing import Any

import pytest

from edgeconv.base.errors import EdgeconvError
from edgeconv.report.html import page
from tests.command import BOARD, Command
from tests.html_page import Page, filled, planned_report

pytestmark = pytest.mark.usefixtures("compiled_lightly")  # as `built_project` is

Report = dict[str, Any]


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> Report:
    """A report with every number."""
    return filled(planned_report(tmp_path_factory.mktemp("model")))


def test_report_writes_the_page(edgeconv: Command, built_project: Path, tmp_path: Path) -> None:
    target = tmp_path / "new folder" / "page.html"
    done = edgeconv.ok("report", built_project, "--html", target)
    assert "".join(done.stdout.split()) == "".join(f"report: {target}".split())
    report = json.loads((built_project / "report.json").read_text())
    assert target.read_text(encoding="utf-8") == page.render(report)
    assert edgeconv.ok("report", built_project, "--html", target, "--json").json() == report
    assert list(target.parent.iterdir()) == [target]


def test_page_that_cannot_be_written_is_an_error(
    edgeconv: Command, built_project: Path, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("in the way")
    for target in (tmp_path / "file" / "page.html", tmp_path):
        done = edgeconv("report", built_project, "--html", target)
        assert done.status == 2
        assert done.stderr.startswith(
            f"edgeconv: error: cannot write the HTML report: {target}: got"
        )
        assert done.stderr.count("\n") == 1


def test_failure_leaves_the_old_page(
    full: Report, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "page.html"
    target.write_text("old")

    def refuse(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", refuse)
    with pytest.raises(EdgeconvError, match="No space left"):
        page.replace(target, page.render(full))
    assert [path.read_text() for path in tmp_path.iterdir()] == ["old"]


def test_compile_report_has_the_page_too(
    edgeconv: Command, residual_model: Path, tmp_path: Path
) -> None:
    out, folder = tmp_path / "out", tmp_path / "reports"
    edgeconv.ok("compile", residual_model, "--board", BOARD, "-o", out, "--report", folder)
    assert {path.name for path in folder.iterdir()} == {"report.json", "report.txt", "report.html"}
    shown = Page((folder / "report.html").read_text(encoding="utf-8"))
    assert json.loads(shown.scripts["report"]) == json.loads((folder / "report.json").read_text())


def test_compile_pareto_is_in_the_report_and_on_its_page(
    edgeconv: Command, residual_model: Path, tmp_path: Path
) -> None:
    out, folder = tmp_path / "out", tmp_path / "reports"
    given = ("compile", residual_model, "--board", "stm32f407", "-o", out, "--report", folder)
    report = edgeconv.ok(*given, "--pareto", "--json").json()
    front = report["frontier"]
    assert front["program"]["ram"] == report["ram"]["total"]
    measures = ("ram", "flash", "predicted_ms", "sqnr_db")
    found = [tuple(point[key] for key in measures) for point in front["points"]]
    assert tuple(front["program"][key] for key in measures) in found
    assert json.loads((out / "report.json").read_text()) == report
    shown = Page((folder / "report.html").read_text(encoding="utf-8"))
    assert len(shown.tables["points-table"]) == len(found) + 1
    assert [row[1].text for row in shown.tables["picks-table"]][1] == "this program"
    edgeconv.ok(*given)
    again = Page((folder / "report.html").read_text(encoding="utf-8"))
    assert "points-table" not in again.tables


def test_other_commands_do_not_wait_for_plotly() -> None:
    code = "import sys, edgeconv.app.cli; print([m for m in sys.modules if m.startswith('plotly')])"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, check=True, capture_output=True, text=True
    )
    assert done.stdout.strip() == "[]"


# ---- the palette ----


def palettes() -> list[dict[str, str]]:
    """The colours of style.css, light and dark."""
    style = resources.files("edgeconv.report.html").joinpath("style.css").read_text()
    blocks = re.findall(r":root[^{]*\{([^}]*--page[^}]*)\}", style)
    found = [dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6});", block)) for block in blocks]
    assert len(found) == 2
    return found


def luminance(colour: str) -> float:
    """Relative luminance of WCAG 2.2."""
    channels = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_colours_stand_out(scheme: int) -> None:
    colours = palettes()[scheme]
    assert set(colours) == set(palettes()[0])
    for name in ("text", "muted", "link", "good", "bad", "open"):
        for background in ("page", "raised"):
            assert contrast(colours[name], colours[background]) >= 4.5, (name, background)
    marks = [name for name in colours if name.startswith("part-")]
    for name in (*marks, "predicted", "measured", "bound", "calm", "peak", "workspace"):
        assert contrast(colours[name], colours["page"]) >= 3, name


def test_charts_use_colours_that_exist(full: Report) -> None:
    used = set(re.findall(r"var\(--([\w-]+)\)", json.dumps(Page(page.render(full)).figures())))
    assert {"predicted", "measured", "bound"} <= used <= set(palettes()[0])


def test_page_is_small(tmp_path: Path) -> None:
    """One bundle of all charts would be five times as much."""
    path = tmp_path / "report.html"
    page.replace(path, page.render(planned_report(tmp_path)))
    assert path.stat().st_size < 1_000_000
