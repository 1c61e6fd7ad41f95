"""report.json: complete, valid, and consistent with the memory map it was made from."""

from __future__ import annotations

import copy
import io
import json
import math
import re
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from jsonschema import Draft202012Validator
from rich.console import Console

from edgeconv.app import pipeline
from edgeconv.app.deciding import Decider
from edgeconv.app.pipeline import CompileOptions, Decision
from edgeconv.report import document, files, text
from edgeconv.report.regions import sizes_of
from edgeconv.report.text import budget_lines
from edgeconv.run.bench import LayerTime, Timing
from edgeconv.run.build.footprint import Footprint
from edgeconv.run.verify import Verification, compare
from tests.command import BOARD


@pytest.fixture
def decided(residual_model: Path) -> Decision:
    return pipeline.decide(CompileOptions(residual_model, BOARD))


@pytest.fixture
def validator() -> Draft202012Validator:
    schema = json.loads((resources.files("edgeconv.report") / "schema.json").read_text())
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


def test_report_is_valid_from_the_start_and_once_all_is_known(
    decided: Decision, validator: Draft202012Validator
) -> None:
    report = decided.report
    validator.validate(report)
    filled = document.with_footprint(report, Footprint(100, 24, 8, 200, "200 bytes: net_run 200"))
    filled = document.with_times(filled, timing(len(report["layers"])))
    filled = document.with_accuracy(filled, verification(math.nan))
    validator.validate(filled)
    json.dumps(filled, allow_nan=False)
    assert filled["flash"]["code"] == 100
    assert filled["flash"]["rodata"] == 24
    assert filled["flash"]["total"] == report["flash"]["weights"] + 124
    assert (filled["ram"]["data"], filled["ram"]["stack_bound"]) == (8, 200)
    assert filled["ram"]["total"] == report["ram"]["total"] + 208
    assert filled["time"]["measured_ms"] == 2.0
    assert [layer["measured_ms"] for layer in filled["layers"]] == [0.5] * len(report["layers"])
    assert filled["accuracy"] == {
        "sqnr_db": None, "max_abs_error": None, "top1_drop": None, "samples": 1,
        "passed": False,
    }  # fmt: skip
    sequence = document.with_accuracy(report, replace(verification(1e-7), steps=8))
    validator.validate(sequence)
    console = Console(width=200, record=True, file=io.StringIO())
    console.print(text.summary(sequence))
    assert "on 8 steps in sequence" in console.export_text()


@pytest.mark.parametrize(
    "path",
    [("model", "sha256"), ("ram", "arena_lower_bound"), ("budget", "fits"), ("layers", 0, "plan")],
)
def test_schema_misses_nothing(
    decided: Decision, validator: Draft202012Validator, path: tuple[str | int, ...]
) -> None:
    damaged: Any = copy.deepcopy(decided.report)
    part = damaged
    for key in path[:-1]:
        part = part[key]
    del part[path[-1]]
    assert not validator.is_valid(damaged)


def test_numbers_agree_with_one_another(decided: Decision) -> None:
    report, memory = decided.report, decided.memory
    ram = report["ram"]
    assert ram["arena"] == memory.arena_bytes
    assert ram["arena"] >= ram["arena_lower_bound"] > 0
    # image 3x9x9 in; features 8x4x4 and p 6 out: float32
    assert ram["io"] == 4 * (3 * 9 * 9 + 8 * 4 * 4 + 6)
    assert ram["total"] == ram["arena"] + ram["io"] + ram["model_struct"]
    assert report["model"]["macs"] == sum(layer["macs"] for layer in report["layers"])
    names = [decided.choice.layers[index].node.name for index in memory.order]
    assert [layer["name"] for layer in report["layers"]] == names
    weights = sum(layer["weight_bytes"] for layer in report["layers"])
    assert weights <= report["flash"]["weights"]
    stem = next(layer for layer in report["layers"] if layer["name"] == "stem")
    assert stem["macs"] == 8 * 4 * 4 * 3 * 3 * 3
    assert stem["output_shape"] == [1, 8, 4, 4]
    assert stem["storage"] == {"weights": "float32", "output": "float32"}


def test_arena_io_counts_once(residual_model: Path) -> None:
    report = pipeline.decide(CompileOptions(residual_model, BOARD, io="arena")).report
    assert report["program"]["io"] == "arena"
    assert report["ram"]["io"] == 0
    assert report["ram"]["total"] == report["ram"]["arena"] + report["ram"]["model_struct"]


@pytest.mark.parametrize(
    ("ram", "flash", "exceeded"),
    [(0, None, ["ram"]), (None, 0, ["flash"]), (0, 0, ["ram", "flash"]), (1 << 30, 1 << 30, [])],
)
def test_budgets_are_judged(
    residual_model: Path, ram: int | None, flash: int | None, exceeded: list[str]
) -> None:
    found = Decider(CompileOptions(residual_model, BOARD, ram=ram, flash=flash)).plain()
    report = found.report
    assert report["budget"] == {"ram": ram, "flash": flash, "fits": not exceeded}
    for sizes in (found.sizes, sizes_of(report)):
        lines = budget_lines(sizes)
        assert [line.partition(":")[0] for line in lines] == exceeded
        assert all("bytes needed, 0 allowed" in line for line in lines)


def test_budget_is_judged_again_with_the_code(residual_model: Path) -> None:
    weights = pipeline.decide(CompileOptions(residual_model, BOARD)).report["flash"]["weights"]
    report = pipeline.decide(CompileOptions(residual_model, BOARD, flash=weights)).report
    assert report["budget"]["fits"]
    assert not document.with_footprint(report, Footprint(1, 0, 0, 0, ""))["budget"]["fits"]


def test_budget_is_judged_again_with_the_stack(residual_model: Path) -> None:
    ram = pipeline.decide(CompileOptions(residual_model, BOARD)).report["ram"]["total"]
    report = pipeline.decide(CompileOptions(residual_model, BOARD, ram=ram)).report
    assert report["budget"]["fits"]
    assert not document.with_footprint(report, Footprint(1, 0, 0, 8, ""))["budget"]["fits"]
    assert document.with_footprint(report, Footprint(1, 0, 0, None, "no bound"))["budget"]["fits"]


def test_boards_bring_their_budgets(residual_model: Path) -> None:
    report = pipeline.decide(CompileOptions(residual_model, "jetson-tx1")).report
    assert report["budget"]["ram"] == 4 << 30
    own = pipeline.decide(CompileOptions(residual_model, "jetson-tx1", ram=1 << 20)).report
    assert own["budget"]["ram"] == 1 << 20


def test_text_fits_a_hundred_columns(decided: Decision, tmp_path: Path) -> None:
    report = copy.deepcopy(decided.report)
    report["layers"][0]["name"] = "a" * 300
    report["layers"][1]["name"] = "[bold]markup[/] is text"
    files.write(report, tmp_path)
    text = (tmp_path / "report.txt").read_text()
    assert max(map(len, text.splitlines())) <= files.WIDTH
    assert "[bold]markup[/] is text" in text
    (shown,) = re.findall(r"^ *0 +(a+ \.\.\. a+) ", text, re.MULTILINE)
    assert len(shown) > 20
    assert json.loads((tmp_path / "report.json").read_text()) == report


def timing(layers: int) -> Timing:
    times = tuple(LayerTime("x", "Conv", 0.5, 1.0) for _ in range(layers))
    return Timing(BOARD, "portable", "cc 12.2.0", 20, 2.0, 1.5, 1.0, times)


@pytest.mark.parametrize(
    ("bound", "words"),
    [(300, "verified image 200 of 300"), (None, "verified image 200")],
)
def test_a_measured_stack_is_shown_with_its_bound_or_without(
    bound: int | None, words: str, decided: Decision
) -> None:
    """Of a verified image there may be no bound, though there is one of the image that ships."""
    report = document.with_footprint(decided.report, Footprint(100, 24, 8, 256, "net_run 256"))
    measured = replace(verification(1.0), stack_bytes=200, stack_bound=bound)
    report = document.with_accuracy(report, measured)
    console = Console(width=200, record=True, file=io.StringIO())
    console.print(text.summary(report))
    (line,) = [row for row in console.export_text().splitlines() if "RAM: stack" in row]
    assert line.rstrip().endswith(words)


def verification(value: float) -> Verification:
    difference = compare("y", np.full(3, value, np.float32), np.ones(3, np.float32))
    return Verification((difference,), (), 1e-4, "none", "natively")
