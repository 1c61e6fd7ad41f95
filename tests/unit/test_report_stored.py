"""Storage formats in the report: what they cost, what they would save, and what was promised."""

from __future__ import annotations

import copy
import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from edgeconv.app.pipeline import CompileOptions, decide
from edgeconv.base.names import shortened
from edgeconv.ir.filters import WEIGHTED
from edgeconv.model.frontend.cut import Cut
from edgeconv.report import accuracy, missing, stored
from edgeconv.report.advice import Resource, suggestions
from edgeconv.report.html import page
from edgeconv.report.html.rounding import outputs, rounding
from edgeconv.report.measured_accuracy import measured_notes
from edgeconv.report.network import Network
from edgeconv.search.calibration.sqnr import Accuracy
from tests import onnx_models
from tests.command import BOARD, parse
from tests.html_page import Page, filled, planned_report

Report = dict[str, Any]
SAMPLES = "20 samples of mine.npz"


@pytest.fixture(scope="module")
def planned(tmp_path_factory: pytest.TempPathFactory) -> Report:
    """The report of a float32 network."""
    return planned_report(tmp_path_factory.mktemp("model"))


@pytest.fixture
def chosen(planned: Report) -> Report:
    """The same as if formats had been chosen for it: int8 filters, one result in flyte16."""
    report = copy.deepcopy(filled(planned))
    for number, layer in enumerate(report["layers"]):
        layer["sqnr_db"] = 60.0 - number
        if layer["op"] in WEIGHTED:
            layer["storage"] = {"weights": "int8", "output": "float32"}
    report["layers"][0]["sqnr_db"] = None
    report["layers"][0]["storage"]["output"] = "flyte16"
    report["accuracy"] = {
        "sqnr_db": 31.25,
        "max_abs_error": 0.5,
        "top1_drop": 0.005,
        "top1": 0.95,
        "agreement": 0.9,
        "at_risk": 0.01,
        "samples": 20,
        "source": SAMPLES,
        "promised": True,
    }
    report["choice"] = {
        "objective": "memory",
        "min_sqnr": 30.0,
        "max_drop": None,
        "gap": 0.0,
        "finished": True,
    }
    report["budget"] = {"ram": 300_000, "flash": None, "fits": True}
    return report


def shown(report: Report) -> Page:
    return Page(page.render(report))


def facts(found: Page, table: str) -> dict[str, str]:
    return {title.text: value.text for title, value in found.tables[table]}


def test_a_float32_network_has_no_section(planned: Report) -> None:
    found = shown(filled(planned))
    assert rounding(Network.of(planned)) is None
    assert "accuracy-table" not in found.tables
    assert "sqnr" not in found.figures()
    assert "SQNR, dB" not in found.words


def test_accuracy_on_samples(chosen: Report) -> None:
    found = facts(shown(chosen), "accuracy-table")
    assert found["SQNR at the output"] == "31.2 dB"
    assert found["top-1"] == "95.0 %"
    assert found["top-1 lost against float32"] == "0.5 % of the samples"
    assert found["samples"] == SAMPLES
    assert found["beside rounding"].startswith("not verified yet: edgeconv verify DIR")
    chosen["accuracy"]["verified"] = 1.5e-7
    assert facts(shown(chosen), "accuracy-table")["beside rounding"].startswith(
        "relative error 1.5e-07"
    )


def test_without_noise(chosen: Report) -> None:
    chosen["accuracy"] |= {"sqnr_db": None, "max_abs_error": 0.0}
    found = facts(shown(chosen), "accuracy-table")
    assert found["SQNR at the output"] == "no noise at all"
    assert found["largest error of an output"] == "0"


@pytest.mark.parametrize("promised", [True, False])
def test_what_is_promised_is_said(chosen: Report, promised: bool) -> None:
    chosen["accuracy"]["promised"] = promised
    words = shown(chosen).words
    assert ("Measured on samples of yours" in words) == promised
    assert ("Nothing is promised of other inputs" in words) != promised


def test_labels_that_are_missing_are_explained(chosen: Report) -> None:
    chosen["accuracy"] |= {"top1": None, "top1_drop": None}
    words = facts(shown(chosen), "accuracy-table")["top-1"]
    assert words.startswith("not known without right answers: edgeconv verify DIR --samples X.npz")


def test_formats_that_nobody_measured_name_the_command(chosen: Report) -> None:
    chosen["accuracy"] = None
    del chosen["choice"]
    for layer in chosen["layers"]:
        del layer["sqnr_db"]
    found = shown(chosen)
    assert "SQNR, dB: not measured: edgeconv verify DIR --samples X.npz" in found.words
    assert "Outputs: not verified yet" in found.words
    assert "sqnr" not in found.figures()
    assert "choice-table" not in found.tables


def test_chart_and_table_have_every_layers_sqnr(chosen: Report) -> None:
    found = shown(chosen)
    values = [layer["sqnr_db"] for layer in chosen["layers"]]
    traces = found.traces("sqnr")
    assert traces["SQNR"]["y"] == values
    assert "filters int8, result float32" in traces["SQNR"]["hovertext"][1]
    (limit,) = (trace for name, trace in traces.items() if name.startswith("--min-sqnr 30"))
    assert limit["y"] == [30.0, 30.0]
    heading, *rows = found.tables["layer-table"]
    column = [cell.text for cell in heading].index("SQNR, dB")
    assert [row[column].value for row in rows] == ["", *map(repr, values[1:])]


def test_formats_in_use_are_counted(chosen: Report) -> None:
    weighted = [one for one in chosen["layers"] if one["op"] in WEIGHTED]
    weighted[0]["storage"]["exact"] = True
    _, *rows = shown(chosen).tables["formats-table"]
    found = {name.text: [cell.value for cell in cells] for name, *cells in rows}
    results = [one["output_bytes"] for one in chosen["layers"][1:]]
    sizes = sum(one["weight_bytes"] for one in weighted)
    assert list(found) == ["float32", "flyte16", "int8"]
    assert found["int8"] == [str(len(weighted)), str(sizes), "0", "0"]
    assert found["flyte16"][2:] == ["1", str(chosen["layers"][0]["output_bytes"])]
    assert found["float32"][2:] == [str(len(results)), str(sum(results))]
    assert "(1 not rounded)" in shown(chosen).words


def test_the_choice_and_its_limits(chosen: Report) -> None:
    found = facts(shown(chosen), "choice-table")
    assert found["made smallest"] == "memory"
    assert found["limit: RAM"] == "300,000 bytes"
    assert found["limit: flash"] == "none"
    assert found["limit: SQNR at the output, at least"] == "30 dB"
    assert found["another choice is better"].startswith("by at most 0.1 %")
    assert "search" not in found
    chosen["choice"] |= {"min_sqnr": None, "gap": 0.25, "finished": False}
    found = facts(shown(chosen), "choice-table")
    assert found["made smallest"] == "error at the outputs, of equal ones memory"
    assert found["another choice is better"].startswith("by at most 25.0 %")
    assert "cut short" in found["search"]


def test_outputs_of_a_verification(planned: Report) -> None:
    words, gone = outputs(filled(planned))
    assert words == (
        "Outputs compared with the model on 1 input: largest error 1e-06, SQNR 130.5 dB."
    )
    assert gone is None
    assert outputs(planned) == ("", missing.unverified(planned))


def test_outputs_of_a_choice(chosen: Report) -> None:
    words, gone = outputs(chosen)
    assert "compared with the model" not in words
    assert f"measured on {SAMPLES}: largest error 0.5, SQNR 31.2 dB, top-1 95.0 %." in words
    assert gone == missing.unverified(chosen)
    chosen["accuracy"]["verified"] = 2e-7
    words, gone = outputs(chosen)
    assert words.endswith("in float32 on 1 input: relative error 2e-07.")
    assert gone is None


def test_a_large_error_is_named() -> None:
    """Whether or not anybody has set a limit of accuracy."""
    found = Accuracy({"y": 9.2}, {}, 2.8, None, None, None, None, 8, promised=False)
    noted = "; ".join(measured_notes(found, "8 seeded inputs"))
    assert "SQNR 9.2 dB" in noted
    assert "outputs were off by up to 2.8; below 15 dB try the program" in noted
    fine = measured_notes(replace(found, outputs={"y": 40.0}), "8 seeded inputs")
    assert not any("off by" in each for each in fine)


def test_commands_carry_all_that_the_project_was_compiled_with(chosen: Report) -> None:
    options = CompileOptions(
        Path("net.onnx"),
        BOARD,
        ram=300_000,
        io="arena",
        weights_as_c=True,
        calibration=Path("far/mine.npz"),
        min_sqnr=30.0,
        objective="memory",
        rounding="truncate",
        cut=Cut(("from here",), ("to there",)),
        renames={"image": "camera"},
    )
    chosen["program"]["command"] = options.command()
    command = missing.compile_command(chosen, "--build")
    assert command == f"{options.command()} --build"
    for part in ("--ram 300000", "--calibration mine.npz", "--input 'from here'", "--weights c"):
        assert part in command
    parse(shlex.split(command)[1:])


@pytest.mark.parametrize("told", [None, "", "rm -r /", "edgeconv compile 'net"])
def test_command_that_is_none_of_ours(planned: Report, told: str | None) -> None:
    report = copy.deepcopy(planned)
    report["program"] |= {"command": told}
    if told is None:  # as reports of earlier versions
        del report["program"]["command"]
    assert missing.compile_command(report) == f"edgeconv compile net.onnx --board {BOARD}"


def test_suggested_options_replace_those_of_the_command(planned: Report) -> None:
    report = copy.deepcopy(planned)
    storage = {"*": "int8", "*:output": "flyte8", "conv": "int4"}
    options = CompileOptions(Path("net.onnx"), BOARD, storage=storage, io="arena", selftest=True)
    report["program"]["command"] = options.command()
    command = missing.compile_command(
        report, "--storage", "*=float32", "--storage", "*:output=float32", "--io", "caller"
    )
    assert command == (
        f"edgeconv compile net.onnx --board {BOARD} --storage conv=int4 --selftest "
        "--storage '*=float32' --storage '*:output=float32' --io caller"
    )
    parse(shlex.split(command)[1:])


def test_command_is_one_for_a_shell(planned: Report) -> None:
    report = copy.deepcopy(planned)
    report["program"]["command"] = "edgeconv compile a.onnx; rm -r $HOME"
    assert missing.compile_command(report) == "edgeconv compile 'a.onnx;' rm -r '$HOME'"


def near(report: Report, **exceeded: int) -> list[Any]:
    """What to store in fewer bits where budgets are exceeded by so many bytes."""
    report = copy.deepcopy(report)
    for kind, size in exceeded.items():
        report["budget"][kind] = report[kind]["total"] - size
    return [one for one in suggestions(Network.of(report)) if one.title.startswith("Store ")]


def test_advice_only_where_a_budget_is_nearly_full(planned: Report) -> None:
    assert near(planned) == []
    room = -planned["flash"]["total"]
    assert near(planned, flash=room) == []
    (found,) = near(planned, flash=0)
    assert (found.resource, found.title) == (Resource.FLASH, "Store filters as flyte16")


def test_advice_takes_the_most_bits_that_suffice(planned: Report) -> None:
    layers = planned["layers"]
    for form, less in (("flyte16", "int8"), ("int8", "int4")):
        saved = stored.saved_by_filters(layers, form)
        assert near(planned, flash=saved)[0].title == f"Store filters as {form}"
        assert near(planned, flash=saved + 1)[0].title == f"Store filters as {less}"
    (found,) = near(planned, flash=stored.saved_by_filters(layers, "int4") + 1)
    assert "more than that saves" in found.why


def test_advice_about_filters_saves_what_compiling_so_saves(tmp_path: Path) -> None:
    model = onnx_models.save(onnx_models.residual(), tmp_path / "net.onnx")
    plain = decide(CompileOptions(model, BOARD)).report
    for form in ("flyte16", "int8", "int4"):
        other = decide(CompileOptions(model, BOARD, storage={"*": form})).report
        saved = plain["flash"]["weights"] - other["flash"]["weights"]
        layers = sum(bool(stored.of_filters(one)) for one in plain["layers"])
        said = stored.saved_by_filters(plain["layers"], form)
        assert said == pytest.approx(saved, abs=128 * layers)  # every constant is aligned to 64


def test_advice_about_results(planned: Report) -> None:
    """Of all that is live at a step the tensors between layers shrink, the rest stays."""
    report = copy.deepcopy(planned)
    inner, last = report["layers"][0]["output"], report["outputs"][0]["name"]
    place = {"bank": "arena", "first": 0, "last": 0, "layer": "l"}
    report["arena_map"] = [
        {**place, "name": inner, "offset": 0, "bytes": 800},
        {**place, "name": last, "offset": 800, "bytes": 200},
    ]
    (found,) = near(report, ram=400)
    assert (found.title, found.amount) == ("Store results of layers as flyte16", 400)
    assert found.command.endswith("--calibration X.npz --storage '*:output=flyte16'")
    parse(shlex.split(found.command)[1:])
    assert near(report, ram=401)[0].amount == 600


def test_no_advice_where_formats_are_in_use(chosen: Report) -> None:
    assert near(chosen, flash=100, ram=100) == []


def test_names_in_the_section_are_text(chosen: Report) -> None:
    nasty = "<script>alert(1)</script>"
    chosen["accuracy"]["source"] = chosen["layers"][1]["name"] = nasty
    found = shown(chosen)
    assert facts(found, "accuracy-table")["samples"] == nasty
    assert shortened(nasty, 30) in found.words
    assert all(text.count("<") <= 5 for text in found.traces("sqnr")["SQNR"]["hovertext"])


def test_truncation_and_other_factors_are_said(chosen: Report) -> None:
    assert "Arithmetic is float32;" in shown(chosen).words
    chosen["program"]["rounding"] = "truncate"
    chosen["layers"][0]["compute"] = "bfloat16"
    found = shown(chosen)
    assert "Sums are float32, and factors where it is not bfloat16;" in found.words
    assert facts(found, "choice-table")["rounding"] == "toward zero"


@pytest.mark.parametrize(
    ("top1", "drop", "words"),
    [
        (0.95, 0.005, "top-1 95.0% (float32: 95.5%)"),
        (0.95, -0.01, "top-1 95.0% (float32: 94.0%)"),  # rounding may happen to help
        (None, None, "the same top class as float32 for 90.0%"),
    ],
)
def test_top1_of_samples_is_beside_that_of_float32(
    top1: float | None, drop: float | None, words: str
) -> None:
    found = Accuracy({"y": 31.0}, {}, 0.5, 0.9, top1, drop, None, 200, promised=True)
    said = accuracy.tried(found, "natively").renderables[-1]
    assert said == f"SQNR 31.0 dB, {words}, on 200 samples; the program ran natively"
