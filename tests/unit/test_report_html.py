"""The HTML report: its numbers are report.json's, its text is escaped, its bytes are the same."""

from __future__ import annotations

import copy
import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeconv.report import numbers
from edgeconv.report.html import page
from edgeconv.report.html.verdict import verdict
from edgeconv.report.occupancy import covered, occupancies
from tests.command import BOARD
from tests.html_page import LEVELS, PEAK, Page, filled, planned_report, without_new_keys

Report = dict[str, Any]
NASTY = """</script><img src=x onerror=alert(1)><b>{{ 7*7 }}{% raw %}&amp;"'`%{x}"""


@pytest.fixture(scope="module")
def planned(tmp_path_factory: pytest.TempPathFactory) -> Report:
    """The report of a network that has been compiled, and nothing else."""
    return planned_report(tmp_path_factory.mktemp("model"))


@pytest.fixture(scope="module")
def full(planned: Report) -> Report:
    """The same with every number."""
    return filled(planned)


def lookup(layer: Mapping[str, Any], key: str) -> Any:
    value: Any = layer
    for part in key.split("."):
        value = value[part]
    return value


def test_the_report_is_embedded_whole(full: Report) -> None:
    assert json.loads(Page(page.render(full)).scripts["report"]) == full


def test_table_of_layers_has_every_number(full: Report) -> None:
    shown = Page(page.render(full))
    total = sum(layer["measured_ms"] for layer in full["layers"])
    keys = [attrs["data-key"] for tag, attrs in shown.tags if tag == "th" and "data-key" in attrs]
    numeric = {
        *("macs", "weight_bytes", "output_bytes", "workspace_bytes", "predicted_ms"),
        *("measured_ms", "predicted_mj", "traffic_lower_bound_bytes"),
        *("traffic_bytes.L2", "traffic_bytes.DRAM"),
    }
    assert numeric <= set(keys)
    _, *rows = shown.tables["layer-table"]
    assert len(rows) == len(full["layers"])
    for step, (row, layer) in enumerate(zip(rows, full["layers"], strict=True)):
        assert row[0].value == str(step)
        assert row[1].text == layer["name"]
        for cell, key in zip(row[2:], keys, strict=True):
            if key == "time_share":
                share = layer["measured_ms"] / total
                assert float(cell.value or "nan") == pytest.approx(share)
                assert cell.text == f"{100 * share:.1f} %"
                continue
            value = lookup(layer, key or "")
            if key in numeric:
                assert float(cell.value or "nan") == value
                assert float(cell.text.replace(",", "")) == pytest.approx(value, rel=1e-3)
            elif isinstance(value, str):
                assert cell.text == value


def test_charts_draw_the_numbers_of_the_layers(full: Report) -> None:
    shown = Page(page.render(full))
    layers = full["layers"]
    for kind in ("predicted", "measured"):
        assert shown.traces("time")[kind]["y"] == [layer[f"{kind}_ms"] for layer in layers]
    assert shown.traces("energy")["predicted"]["y"] == [one["predicted_mj"] for one in layers]
    traffic = shown.traces("traffic")
    assert traffic["DRAM traffic, predicted"]["y"] == [
        one["traffic_bytes"]["DRAM"] for one in layers
    ]
    assert traffic["lower bound"]["y"] == [one["traffic_lower_bound_bytes"] for one in layers]


def test_arena_is_drawn_to_scale(full: Report) -> None:
    entries = [
        {
            "name": "a",
            "bank": "arena",
            "offset": 0,
            "bytes": 64,
            "first": 0,
            "last": 2,
            "layer": "l",
        },
        {
            "name": "b",
            "bank": "arena",
            "offset": 64,
            "bytes": 32,
            "first": 1,
            "last": 1,
            "layer": "m",
        },
        {"name": "workspace of m", "bank": "arena", "offset": 96, "bytes": 8, "first": 1, "last": 1}
        | {"layer": "m"},
        {
            "name": "c",
            "bank": "arena",
            "offset": 0,
            "bytes": 16,
            "first": 3,
            "last": 3,
            "layer": "n",
        },
    ]
    shown = Page(page.render({**full, "arena_map": entries}))
    drawn = sorted(
        (x - width / 2, x + width / 2, base, base + height)
        for trace in shown.figures()["arena"]["data"]
        if "width" in trace and trace["name"] != "names"
        for x, width, base, height in zip(
            trace["x"], trace["width"], trace["base"], trace["y"], strict=True
        )
    )
    assert drawn == sorted(
        (e["first"] - 0.5, e["last"] + 0.5, e["offset"], e["offset"] + e["bytes"])  # type: ignore[operator]
        for e in entries
    )
    assert len(shown.traces("arena")["live at the memory peak"]["x"]) == 2
    assert shown.figures()["arena"]["layout"]["shapes"][0]["y0"] == full["ram"]["arena_lower_bound"]
    _, *rows = shown.tables["arena-table"]
    assert [[cell.value for cell in row[3:]] for row in rows] == [
        [str(e[key]) for key in ("bytes", "offset", "first", "last")] for e in entries
    ]


def test_every_bank_has_its_panel(full: Report) -> None:
    one = {"offset": 0, "bytes": 64, "first": 0, "last": 0, "layer": "l"}
    entries = [{"name": bank, "bank": bank, **one} for bank in ("DTCM", "SRAM", "SDRAM")]
    layout = Page(page.render({**full, "arena_map": entries})).figures()["arena"]["layout"]
    titles = [layout[axis]["title"]["text"] for axis in ("yaxis", "yaxis2", "yaxis3")]
    assert titles == ["address in DTCM", "address in SRAM", "address in SDRAM"]


def test_roofline_places_layers_by_their_numbers(full: Report) -> None:
    traces = Page(page.render(full)).traces("roofline")
    points = traces["measured"]
    expected = {
        step: (
            2 * layer["macs"] / layer["traffic_bytes"]["DRAM"],
            2 * layer["macs"] / (layer["measured_ms"] / 1e3) / 1e9,
        )
        for step, layer in enumerate(full["layers"])
        if layer["macs"]
    }
    assert points["customdata"] == list(expected)
    for step, x, y in zip(points["customdata"], points["x"], points["y"], strict=True):
        assert (x, y) == pytest.approx(expected[step])
    for name, speed in LEVELS.items():
        roof = next(trace for title, trace in traces.items() if title.startswith(f"{name} "))
        for x, y in zip(roof["x"], roof["y"], strict=True):
            assert y == pytest.approx(min(PEAK, speed * x))


def test_roofs_are_of_the_regions_in_use(full: Report) -> None:
    report = copy.deepcopy(full)
    region = {"kind": "sram", "base": 0, "size": 4096, "arena": 64, "io": 0, "data": 0, "stack": 0}
    report["ram"]["regions"] = [{**region, "name": "near", "used": 64}] + [
        {**region, "name": "idle", "arena": 0, "used": 0}
    ]
    report["roofline"]["levels"] = [
        {"name": name, "gbytes_per_second": speed}
        for name, speed in (("near", 8.0), ("idle", 1.0), ("unknown", None))
    ]
    titles = set(Page(page.render(report)).traces("roofline"))
    assert titles == {"near 8.00 GB/s", "predicted", "measured"}


def test_memory_table_names_every_region(full: Report) -> None:
    flash = {"name": "FLASH", "kind": "flash", "base": 0x0800_0000, "size": 4096, "used": 3001}
    region = {"name": "DTCM", "kind": "tcm", "base": 0x2000_0000, "size": 2048, "used": 600}
    report = copy.deepcopy(full)
    report["ram"]["regions"] = [{**region, "arena": 512, "io": 0, "data": None, "stack": 88}]
    report["flash"]["regions"] = [{**flash, "weights": 3000, "code": 1, "rodata": 0}]
    shown = Page(page.render(report))
    values = {row[-3].text: row[-2].value for row in shown.tables["memory-table"] if len(row) > 2}
    values |= {row[-2].text: row[-1].value for row in shown.tables["memory-table"] if len(row) == 2}
    assert values["arena"] == "512"
    assert values["stack"] == "88"
    assert values["used of 2,048"] == "600"
    assert values["weights"] == "3000"
    assert values["code"] == "1"
    assert values["used of 4,096"] == "3001"
    assert "constants" not in values  # takes nothing
    assert "Data: not built yet: edgeconv compile net.onnx" in shown.words
    bars = shown.traces("regions")
    assert bars["arena"]["x"] == [25.0, 0.0]
    assert bars["weights"]["x"] == [0.0, 100 * 3000 / 4096]


def test_unknown_numbers_name_the_command_that_finds_them(planned: Report) -> None:
    report = copy.deepcopy(planned)
    for layer in report["layers"]:
        layer |= {"predicted_ms": None, "measured_ms": None, "predicted_mj": None}
        layer |= {"traffic_bytes": {"L2": None, "L3": None, "DRAM": None}}
        layer |= {"traffic_lower_bound_bytes": None, "bound_by": None}
    report["time"] = {"predicted_ms": None, "measured_ms": None, "source": None}
    report["energy"] = {"predicted_mj": None, "source": "not predicted: no [energy]"}
    report["roofline"] = None
    shown = Page(page.render(report))
    assert set(shown.figures()) <= {"arena", "regions"}
    for text in (
        "not measured yet: edgeconv bench DIR measures it",
        "not measured yet: edgeconv bench DIR --layers measures every layer",
        "not verified yet: edgeconv verify DIR compares with the model",
        f"not built yet: edgeconv compile net.onnx --board {BOARD} --build",
        f"not predicted: edgeconv boards show {BOARD} shows what the board states",
        f"not predicted: no [energy]: edgeconv boards show {BOARD}",
    ):
        assert text in shown.words
    assert not re.search(r"\b(NaN|nan|None|null|undefined|inf)\b", shown.words)
    assert "0 ms" not in shown.words
    assert "0 mJ" not in shown.words


def test_firmware_is_timed_on_the_board(planned: Report) -> None:
    report = copy.deepcopy(planned)
    report["program"]["firmware"] = True
    shown = Page(page.render(report))
    assert "not measured: firmware_result.cycles of the flashed image counts a run" in shown.words
    assert "edgeconv bench" not in shown.words


def test_what_no_emulator_boots_names_other_ways(planned: Report, full: Report) -> None:
    report = copy.deepcopy(planned)
    report["program"] |= {"firmware": True, "emulated": False}
    report["layers"][0]["storage"]["weights"] = "int8"
    report["ram"]["stack_bound"] = full["ram"]["stack_bound"]
    shown = Page(page.render(report))
    assert "edgeconv verify" not in shown.words
    state = f"no emulator has board {BOARD}"
    for text in (
        f"{state}: edgeconv compile net.onnx --board generic-c --verify compares",
        f"{state}: edgeconv compile ... --calibration X.npz measures it on samples of yours",
        f"{state}: firmware_result.stack of the flashed image",
    ):
        assert text in shown.words
    report["program"]["emulated"] = True
    shown = Page(page.render(report))
    assert "no emulator" not in shown.words
    assert "edgeconv verify DIR compares with the model" in shown.words


def test_stack_without_a_bound_is_no_fit(full: Report) -> None:
    report = copy.deepcopy(full)
    report["ram"] |= {"stack_bound": None, "stack_source": "net_run calls itself"}
    report["budget"] = {"ram": 1 << 30, "flash": None, "fits": True}
    report["program"]["firmware"] = True
    shown = Page(page.render(report))
    assert "Fits without its stack" in shown.words
    assert "No bound of the stack: net_run calls itself." in shown.words
    assert "not built yet" not in shown.words
    report["program"]["firmware"] = False
    shown = Page(page.render(report))
    assert "Fits without its stack" not in shown.words
    assert "net_run calls itself. The operating system provides it." in shown.words


def test_stack_names_the_calls_that_take_it(full: Report) -> None:
    report = copy.deepcopy(full)
    report["ram"] |= {"stack_bound": 464, "stack_source": "464 bytes: main 32 > net_run 432"}
    report["ram"] |= {"stack_measured": 300, "stack_measured_bound": 500}
    words = Page(page.render(report)).words
    assert "in a program that takes at most 500 bytes" in words
    assert "Stack: at most 464 bytes (main 32 > net_run 432). Measured: 300 bytes, " in words


def test_reports_of_the_first_version_are_shown(full: Report) -> None:
    shown = Page(page.render(without_new_keys(full)))
    assert "arena" not in shown.figures()
    assert "roofline" not in shown.figures()
    assert "The map of the arena: not in this report: edgeconv compile net.onnx" in shown.words
    assert "bound by (predicted): not in this report" in shown.words


def test_names_of_the_model_are_text_and_nothing_else(full: Report) -> None:
    report = copy.deepcopy(full)
    report["model"]["name"] = report["model"]["file"] = NASTY
    report["layers"][0] |= {"name": NASTY, "algorithm": NASTY, "plan": {NASTY: NASTY}}
    entry = {"name": NASTY, "bank": NASTY, "offset": 0, "bytes": 64, "first": 0, "last": 0}
    report["arena_map"] = [{**entry, "layer": NASTY}, {**entry, "bank": "<i>", "layer": None}]
    report["energy"]["source"] = NASTY
    shown = Page(page.render(report))
    assert json.loads(shown.scripts["report"]) == report
    assert not {tag for tag, _ in shown.tags} & {"img", "b", "i"}
    assert shown.tables["layer-table"][1][1].titles == (NASTY,)  # shortened, whole on hover
    assert NASTY in shown.words
    hover = shown.figures()["time"]["data"][0]["hovertext"][0]
    assert not re.search(r"<(?!/?b>|br>)", hover), "Plotly's own mark-up only"


def test_long_names_are_shortened_and_whole_on_hover(full: Report) -> None:
    report = copy.deepcopy(full)
    name = report["layers"][1]["name"] = "block/" * 40 + "conv"
    shown = Page(page.render(report))
    cell = shown.tables["layer-table"][2][1]
    assert len(cell.text) <= page.NAME_WIDTH
    assert cell.titles == (name,)
    assert max(map(len, shown.traces("time")["predicted"]["hovertext"][1].split("<br>"))) < 80


def test_the_same_report_gives_the_same_bytes(full: Report, tmp_path: Path) -> None:
    source = tmp_path / "report.json"
    source.write_text(json.dumps(full))
    code = (
        "import json, sys; from pathlib import Path; from edgeconv.report.html import page; "
        "page.replace(Path(sys.argv[2]), page.render(json.loads(Path(sys.argv[1]).read_text())))"
    )
    for seed in ("1", "2"):
        environment = {
            **os.environ,
            "PYTHONHASHSEED": seed,
            "PYTHONPATH": os.pathsep.join(sys.path),
        }
        command = [sys.executable, "-c", code, str(source), str(tmp_path / seed)]
        subprocess.run(command, env=environment, check=True)
    assert (tmp_path / "1").read_bytes() == (tmp_path / "2").read_bytes()
    assert (tmp_path / "1").read_text(encoding="utf-8") == page.render(full)


def test_nothing_is_loaded_from_anywhere(full: Report) -> None:
    shown = Page(page.render(full))
    links = {attrs[key] for _, attrs in shown.tags for key in ("src", "href") if key in attrs}
    assert all(link and link.startswith(("#", "data:")) for link in links)
    assert "default-src 'none'" in str([attrs for tag, attrs in shown.tags if tag == "meta"])
    assert not re.search(r"@import|url\(", shown.text[: shown.text.index("</style>")])
    ids = [attrs["id"] for _, attrs in shown.tags if "id" in attrs]
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize(
    ("ram", "flash", "built", "state", "said"),
    [
        (None, None, True, "open", "neither --ram nor --flash"),
        (10_000, 10_000, True, "fits", "RAM: 1000 B of 9.77 KiB, 8.79 KiB to spare."),
        (1_000, 1_000, True, "fits", "Flash: 1000 B of 1000 B, 0 B to spare."),
        (999, None, True, "exceeds", "RAM: 1,000 bytes needed, 999 allowed: 1 too many."),
        (None, 10, False, "exceeds", "Flash: 1,000 bytes needed, 10 allowed: 990 too many."),
        (10_000, 10_000, False, "open", "Not counted yet: data, stack, code, constants."),
    ],
)
def test_verdict(
    full: Report, ram: int | None, flash: int | None, built: bool, state: str, said: str
) -> None:
    report = copy.deepcopy(full)
    report["ram"]["total"] = report["flash"]["total"] = 1_000
    if not built:
        report["ram"] |= {"data": None, "stack_bound": None}
        report["flash"] |= {"code": None, "rodata": None}
    report["budget"] = {"ram": ram, "flash": flash, "fits": state != "exceeds"}
    report["program"]["firmware"] = True
    found = verdict(report)
    assert found.state == state
    assert said in " ".join(found.reasons)
    assert Page(page.render(report)).words.count(found.headline) == 1


def test_where_an_operating_system_is_the_time_is_the_headline(full: Report) -> None:
    report = copy.deepcopy(full)
    report["ram"]["total"] = 3 << 20
    report["time"] |= {"measured_ms": 0.85, "predicted_ms": 1.0}
    found = verdict(report)
    assert (found.state, found.headline) == ("fits", "850 µs a run in 3.00 MiB of RAM")
    report["time"]["measured_ms"] = None
    assert verdict(report).headline == "1.00 ms a run in 3.00 MiB of RAM, predicted"
    report["time"]["predicted_ms"] = None
    untimed = verdict(report)
    assert (untimed.state, untimed.headline) == ("open", "3.00 MiB of RAM, not timed yet")
    assert untimed.missing is not None
    report["accuracy"] = {**report["accuracy"], "passed": False}
    assert verdict(report).state == "exceeds"
    assert verdict(report).headline == "Differs from its model"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (numbers.milliseconds(3210.0), "3.21 s"),
        (numbers.milliseconds(999.6), "1.00 s"),
        (numbers.milliseconds(91.07), "91.1 ms"),
        (numbers.milliseconds(0.00085), "850 ns"),
        (numbers.millijoules(1050.0), "1.05 J"),
        (numbers.millijoules(0.0), "0 mJ"),
        (numbers.count(2_656_768), "2.66 million"),
        (numbers.count(12_345), "12,345"),
        (numbers.share(16, 1 << 31), "< 0.01 %"),
        (numbers.share(1, 1000), "0.10 %"),
        (numbers.share(86, 1000), "8.6 %"),
        (numbers.share(5, 5), "100 %"),
        (numbers.share(0, 5), "0 %"),
        (numbers.share(5, 0), ""),
    ],
)
def test_numbers_read_as_people_write_them(text: str, shown: str) -> None:
    assert text == shown


@pytest.mark.parametrize(
    ("value", "text"),
    [
        *((0.0, "0"), (1.0, "1.00"), (0.001234, "0.00123"), (999.6, "1,000"), (14_231.0, "14,200")),
        *((0.09996, "0.100"), (-2.5, "-2.50"), (9.996, "10.0"), (2.5e-9, "0.00000000250")),
    ],
)
def test_numbers_have_no_exponents(value: float, text: str) -> None:
    assert numbers.significant(value) == text


ENTRIES = st.lists(
    st.builds(
        lambda bank, offset, size, first, length: {
            "name": "t",
            "bank": bank,
            "offset": offset,
            "bytes": size,
            "first": first,
            "last": first + length,
            "layer": None,
        },
        st.sampled_from("ab"),
        *(st.integers(0, 40), st.integers(1, 20), st.integers(-1, 6), st.integers(0, 4)),
    ),
    max_size=12,
)


@given(ENTRIES)
def test_shared_bytes_count_once(entries: list[dict[str, Any]]) -> None:
    found = occupancies(entries)
    assert set(found) == {entry["bank"] for entry in entries}
    for bank, used in found.items():
        addresses: dict[int, set[int]] = {}
        for entry in entries:
            for step in range(entry["first"], entry["last"] + 1):
                if entry["bank"] == bank:
                    span = range(entry["offset"], entry["offset"] + entry["bytes"])
                    addresses.setdefault(step, set()).update(span)
        sizes = {step: len(taken) for step, taken in addresses.items()}
        assert used.bytes_at == sizes
        assert used.peak_bytes == max(sizes.values())
        assert used.peak_step == min(s for s in sizes if sizes[s] == used.peak_bytes)
        assert covered(used.at_peak) == used.peak_bytes
