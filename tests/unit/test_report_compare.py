"""Two reports side by side: as text, as JSON, as a page."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest

from edgeconv.report import compare
from edgeconv.report.html import compared
from tests.command import BOARD, Command
from tests.html_page import Page, filled, planned_report

Report = dict[str, Any]


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> tuple[Report, Report]:
    """One, and the same with a layer less, another in int8, and half the weights."""
    first = filled(planned_report(tmp_path_factory.mktemp("model")))
    second = copy.deepcopy(first)
    second["flash"]["weights"] //= 2
    second["time"]["measured_ms"] = None
    second["layers"][0]["storage"]["weights"] = "int8"
    del second["layers"][-1]
    return first, second


def test_numbers_and_their_change(two: tuple[Report, Report]) -> None:
    rows = {row.key: row for row in compare.rows(*two)}
    assert rows["flash.weights"].change == "-50.0 %"
    assert rows["ram.total"].change == ""
    assert rows["time.measured_ms"].second is None
    assert rows["time.measured_ms"].shown()[1:] == ("-", "")


def test_layers_that_differ(two: tuple[Report, Report]) -> None:
    first, _ = two
    differing = [pair.name for pair in compare.layers(*two) if pair.differs()]
    assert differing == [first["layers"][0]["name"], first["layers"][-1]["name"]]
    document = compare.to_json(*two)
    assert document["layers"][-1]["second"] is None
    assert document["layers"][0]["second"]["storage"]["weights"] == "int8"


def test_page_of_two(two: tuple[Report, Report]) -> None:
    text = compared.render(*two, ("a", "b <i>"))
    shown = Page(text)
    numbers, layers = shown.tables["numbers-table"], shown.tables["compared-table"]
    assert [cell.text for cell in numbers[0]] == ["", "a", "b <i>", "change"]
    assert [row[0].text for row in numbers if row[-1].text == "-50.0 %"] == ["flash: weights"]
    assert len(layers) == 1 + len(two[0]["layers"])
    assert len(text) < 1_000_000
    assert "<i>" not in text


def test_report_of_two_projects(edgeconv: Command, residual_model: Path) -> None:
    folder = residual_model.parent
    plain, small = folder / "plain", folder / "small"
    edgeconv.ok("compile", residual_model, "--board", BOARD, "-o", plain)
    edgeconv.ok("compile", residual_model, "--board", BOARD, "-o", small, "--storage", "*=int8")
    text = edgeconv.ok("report", plain, small).stdout
    assert "flash: weights" in text
    assert "int8" in text
    document = edgeconv.ok("report", plain, small, "--json").json()
    first, second = document["numbers"]["flash.weights"]
    assert second < first
    assert "every layer is the same" in edgeconv.ok("report", plain, plain).stdout
    page = folder / "both.html"
    edgeconv.ok("report", plain, small, "--html", page)
    assert page.is_file()
    assert edgeconv("report", plain, folder / "absent").status == 2
