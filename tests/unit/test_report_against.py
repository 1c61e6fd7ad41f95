"""A project against other tools: their files, the table, the page."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeconv.base.errors import EdgeconvError, Exit
from edgeconv.base.schema import schema_of
from edgeconv.base.visible import VisibleConsole
from edgeconv.report.against import text
from edgeconv.report.against.figures import MEASURES, Figures, beaten_by, of_report
from edgeconv.report.against.reading import SCHEMA, figures_at
from edgeconv.report.html import against
from tests.command import BOARD, Command
from tests.html_page import Page, filled, planned_report

Report = dict[str, Any]
TFLM = {
    "name": "TFLM",
    "board": "some-board",
    "source": "version 1, measured",
    "ram_bytes": 4096,
    "flash_bytes": 123456,
    "time_ms": 2.5,
    "energy_mj": 0.75,
    "sqnr_db": 31.5,
    "top1": 0.915,
    "layers": [{"name": "conv", "time_ms": 1.5}],
}


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> Report:
    return filled(planned_report(tmp_path_factory.mktemp("model")))


def written(folder: Path, document: object) -> Path:
    path = folder / "other.json"
    path.write_text(json.dumps(document))
    return path


def printed(programs: list[Figures], width: int) -> str:
    console = VisibleConsole(width=width, file=StringIO(), record=True)
    console.print(text.render(programs))
    return console.export_text()


def test_a_file_with_everything(tmp_path: Path) -> None:
    assert set(TFLM) == set(schema_of(SCHEMA)["properties"])
    found = figures_at(written(tmp_path, TFLM))
    assert found.values == {one.key: TFLM[one.key] for one in MEASURES}
    assert (found.name, found.board, found.layers) == ("TFLM", "some-board", {"conv": 1.5})


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"ram": 5}, "$.ram: got unknown key; did you mean"),
        ({"ram_bytes": -1}, "$.ram_bytes: got -1; is less than the minimum of 0"),
        ({"ram_bytes": 1.5}, "$.ram_bytes: got 1.5"),
        ({"time_ms": 0}, "$.time_ms: got 0"),
        ({"top1": 91.5}, "$.top1: got 91.5; is greater than the maximum of 1"),
        ({"layers": [{"name": "x"}]}, "$.layers[0].time_ms"),
        ({"name": 3}, "$.name: got 3"),
        ({"time_ms": 1e99}, "$.time_ms"),
    ],
)
def test_a_wrong_file_is_refused_by_key_value_and_rule(
    change: dict[str, object], said: str, tmp_path: Path
) -> None:
    with pytest.raises(EdgeconvError) as caught:
        figures_at(written(tmp_path, TFLM | change))
    assert caught.value.code is Exit.USAGE
    assert said in str(caught.value)
    assert "docs/comparing.md" in str(caught.value)


@pytest.mark.parametrize("document", [[], {"name": "x"}, {"ram_bytes": 3}, "x"])
def test_what_says_nothing_is_refused(document: object, tmp_path: Path) -> None:
    with pytest.raises(EdgeconvError, match="cannot read the figures"):
        figures_at(written(tmp_path, document))


@pytest.mark.parametrize("data", [b"{", b"\xff", b'{"name": "x", "time_ms": NaN}'])
def test_what_is_no_json_is_refused(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "other.json"
    path.write_bytes(data)
    with pytest.raises(EdgeconvError, match="cannot read the figures"):
        figures_at(path)
    with pytest.raises(EdgeconvError, match="a file of JSON, or the folder of a project"):
        figures_at(tmp_path / "absent.json")


def test_figures_of_a_report_are_its_own(full: Report) -> None:
    found = of_report(full, "p")
    assert found.values["ram_bytes"] == full["ram"]["total"]
    assert found.values["time_ms"] == full["time"]["measured_ms"]
    assert "time measured" in found.notes
    unmeasured = {**full, "time": {**full["time"], "measured_ms": None}}
    found = of_report(unmeasured, "p")
    assert found.values["time_ms"] == full["time"]["predicted_ms"]
    assert found.notes[0] == "time predicted"
    assert found.layers == {one["name"]: one["predicted_ms"] for one in full["layers"]}


@pytest.mark.parametrize("width", [40, 80, 120])
def test_every_figure_is_whole_at_any_width(width: int) -> None:
    mine = Figures("mine [bold]", {"ram_bytes": 2048, "flash_bytes": 41152, "time_ms": 5.0})
    others = [
        Figures(f"engine {n}", {"ram_bytes": 4096, "time_ms": 2.5, "top1": 0.91}) for n in "ab"
    ]
    shown = printed([mine, *others], width)
    for figure in ("2.00 KiB", "40.2 KiB", "5.00 ms", "4.00 KiB", "2.50 ms", "91.0 %"):
        assert figure in shown
    words = " ".join(shown.split())
    assert "engine a: 2.00 times the RAM, 0.500 times the time of mine [bold]" in words
    assert "…" not in shown


POSITIVE = st.dictionaries(st.sampled_from([one.key for one in MEASURES]), st.integers(1, 4))


@given(st.lists(POSITIVE, min_size=1, max_size=6))
def test_somebody_is_never_beaten(values: list[dict[str, int]]) -> None:
    programs = [Figures(str(number), each) for number, each in enumerate(values)]
    assert any(beaten_by(each, programs) is None for each in programs)
    for one in programs:
        better = beaten_by(one, programs)
        assert better is None or beaten_by(better, [one]) is None


def test_page_has_a_bar_for_every_figure(full: Report) -> None:
    mine = of_report(full, "mine <b>")
    others = [Figures("small", {"ram_bytes": 1, "time_ms": 1e3}, layers={"only here": 1.0})]
    shown = Page(against.render([mine, *others]))
    bars = [attrs for _, attrs in shown.tags if (attrs.get("class") or "").startswith("fill")]
    assert len(bars) == sum(len(each.values) for each in (mine, *others))
    assert "b" not in {tag for tag, _ in shown.tags}
    assert [row[0].text for row in shown.tables["figures-table"][1:]] == ["mine <b>", "small"]
    assert len(shown.tables["layer-times"]) == 1 + len(mine.layers) + 1
    assert json.loads(shown.scripts["against"]) == text.to_json([mine, *others])
    assert shown.figures() == {}, "two programs are not drawn"
    three = [mine, *others, Figures("third", {"ram_bytes": 3000, "time_ms": 3.0})]
    assert list(Page(against.render(three)).figures()) == ["ram-time"]


def test_report_against_a_file_and_a_folder(edgeconv: Command, residual_model: Path) -> None:
    folder = residual_model.parent
    edgeconv.ok("compile", residual_model, "--board", BOARD, "-o", folder / "plain")
    other = written(folder, TFLM)
    given = ("report", folder / "plain", "--against", other, "--against", folder / "plain")
    shown = edgeconv.ok(*given).stdout
    assert "121 KiB" in shown
    document = edgeconv.ok(*given, "--json").json()
    names = [each["name"] for each in document["programs"]]
    assert names == [str(folder / "plain"), "TFLM", str(folder / "plain")]
    assert document["programs"][2]["ratios"]["ram_bytes"] == 1
    edgeconv.ok(*given, "--html", folder / "against.html")
    assert (folder / "against.html").is_file()
    assert edgeconv("report", folder / "plain", "--against", folder / "no").status == 2
