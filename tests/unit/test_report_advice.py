"""What to change to save most: the arithmetic behind every suggestion."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from edgeconv.app.pipeline import CompileOptions, decide
from edgeconv.report.advice import Certainty, Resource, Suggestion, suggestions
from edgeconv.report.network import Network
from tests import onnx_models

Report = dict[str, Any]


def layer(name: str, **more: Any) -> dict[str, Any]:
    plain = {
        "name": name,
        "op": "Conv",
        "output": f"{name}_out",
        "macs": 0,
        "weight_bytes": 0,
        "traffic_bytes": {"L2": None, "L3": None, "DRAM": None},
        "traffic_lower_bound_bytes": None,
        "predicted_ms": None,
        "measured_ms": None,
    }
    return plain | more


def entry(name: str, offset: int, size: int, first: int, last: int) -> dict[str, Any]:
    place = {"bank": "arena", "offset": offset, "bytes": size, "first": first, "last": last}
    return {"name": name, **place, "layer": name.removeprefix("workspace of ")}


@pytest.fixture
def report() -> Report:
    """Nothing to save: every test adds its own reason."""
    return {
        "model": {"file": "net.onnx", "name": "net"},
        "program": {"io": "arena"},
        "board": "b",
        "inputs": [{"name": "in", "shape": [1, 10], "dtype": "float32"}],
        "outputs": [{"name": "c_out", "shape": [1, 5], "dtype": "float32"}],
        "ram": {"arena": 1000, "arena_lower_bound": 1000, "io": 0, "total": 1000},
        "flash": {"weights": 0, "total": 100},
        "budget": {"ram": None, "flash": None, "fits": True},
        "layers": [layer("a"), layer("b"), layer("c"), layer("d")],
    }


def only(report: Report) -> Suggestion:
    (found,) = suggestions(Network.of(report))
    return found


def test_nothing_to_save_is_no_suggestion(report: Report) -> None:
    assert suggestions(Network.of(report)) == ()


@pytest.mark.parametrize(
    ("sizes", "saved"),
    [
        ((100, 900, 100), 60),  # both ends have room for input and output
        ((990, 1000, 100), 30),  # 990 live beside 40 bytes of input: the arena grows by 30
        ((100, 1000, 995), 45),  # 995 live beside 20 bytes of output
    ],
)
def test_io_in_the_arena(report: Report, sizes: tuple[int, ...], saved: int) -> None:
    report["program"]["io"], report["ram"] = "caller", report["ram"] | {"io": 60, "total": 1060}
    report["layers"] = report["layers"][:3]
    names = [one["output"] for one in report["layers"]]
    report["arena_map"] = [
        entry(name, 0, size, i, i) for i, (name, size) in enumerate(zip(names, sizes, strict=True))
    ]
    found = next(one for one in suggestions(Network.of(report)) if "--io arena" in one.command)
    assert (found.amount, found.resource, found.certainty) == (
        saved,
        Resource.RAM,
        Certainty.ESTIMATE,
    )
    assert found.saving == f"about {saved} bytes of RAM"
    assert found.command == "edgeconv compile net.onnx --board b --io arena"


def test_io_in_the_arena_without_a_map_is_a_bound(report: Report) -> None:
    report["program"]["io"], report["ram"] = "caller", report["ram"] | {"io": 60, "total": 1060}
    found = only(report)
    assert (found.amount, found.certainty) == (60, Certainty.AT_MOST)


def test_io_in_the_arena_saves_what_compiling_with_it_saves(tmp_path: Path) -> None:
    model = onnx_models.save(onnx_models.residual(4, 20), tmp_path / "net.onnx")
    board = "stm32h743"  # not this machine, whose caches decide on workspaces
    reports = {
        io: json.loads(json.dumps(decide(CompileOptions(model, board, io=io)).report))
        for io in ("caller", "arena")
    }
    (found,) = (
        one
        for one in suggestions(Network.of(reports["caller"]))
        if one.command.endswith("--io arena")
    )
    saved = reports["caller"]["ram"]["total"] - reports["arena"]["ram"]["total"]
    assert found.amount == saved


def test_memory_peak(report: Report) -> None:
    report["arena_map"] = [
        entry("a", 0, 600, 0, 1),
        entry("b", 600, 400, 1, 2),
        entry("c", 0, 300, 2, 3),
    ]
    found = only(report)
    assert found.title == "Make the tensors of the memory peak smaller"
    assert found.amount == 300  # 1000 at step 1; without `a` at most 700, at step 2
    assert found.layers == (1,)
    assert "step 1 most is live, 1,000 bytes: a (600 bytes), b (400 bytes)" in found.why


def test_workspace_at_the_peak(report: Report) -> None:
    report["arena_map"] = [
        entry("a", 0, 500, 0, 1),
        entry("workspace of b", 500, 500, 1, 1),
        entry("c", 0, 800, 2, 3),
    ]
    found = next(one for one in suggestions(Network.of(report)) if "workspace" in one.title)
    assert found.amount == 200
    assert found.command == "edgeconv explain net.onnx --board b --layer b"


def test_gap_above_the_lower_bound(report: Report) -> None:
    report["ram"]["arena_lower_bound"] = 900
    assert only(report).amount == 100


def test_layers_that_hold_most_weights(report: Report) -> None:
    for one, size in zip(report["layers"], (10, 40, 20, 30), strict=True):
        one["weight_bytes"] = size
    report["flash"] = {"weights": 100, "total": 180}
    found = only(report)
    assert found.layers == (1, 3, 2)
    assert (found.amount, found.fraction) == (90, 0.5)
    assert "3 layers of 4 hold 90 bytes, 90.0 % of all weights" in found.why


def test_traffic_far_above_its_bound(report: Report) -> None:
    for one, moved in zip(report["layers"], (1000, 1400, 4000, 2000), strict=True):
        one["traffic_bytes"]["DRAM"], one["traffic_lower_bound_bytes"] = moved, 1000
    report["roofline"] = {
        "peak_gflops": 1.0,
        "levels": [{"name": "DRAM", "gbytes_per_second": 2.0}],
    }
    found = only(report)
    assert found.layers == (2, 3)  # 1400 of 1000 is not far
    assert (found.amount, found.resource) == (4000, Resource.TRAFFIC)
    assert found.fraction == pytest.approx(4000 / 8400)
    assert "up to 4.00 times" in found.why
    assert "At 2.00 GB/s the excess takes 0.00200 ms" in found.why


def test_conversions(report: Report) -> None:
    for one, time in zip(report["layers"], (1.0, 2.0, 3.0, 4.0), strict=True):
        one["predicted_ms"] = time
    report["layers"][1]["op"] = report["layers"][3]["op"] = "Convert"
    found = only(report)
    assert (found.amount, found.fraction, found.layers) == (6.0, 0.6, (1, 3))
    assert found.saving == "at most 6.00 ms"
    assert "predicted" in found.why


def test_efficiency_against_the_roofline(report: Report) -> None:
    report["roofline"] = {
        "peak_gflops": 2.0,
        "levels": [{"name": "DRAM", "gbytes_per_second": 1.0}],
    }
    # Arithmetic allows 1 ms; memory 4 ms of the second.
    for one, moved, time in zip(report["layers"], (0, 4_000_000, 0, 0), (1, 5, 3, 1), strict=True):
        one |= {"macs": 1_000_000, "measured_ms": float(time)}
        one["traffic_bytes"]["DRAM"] = one["traffic_lower_bound_bytes"] = moved
    found = only(report)
    assert found.layers == (2, 1)
    assert found.amount == pytest.approx((3 - 1) + (5 - 4))
    assert "33.3 %, 80.0 %" in found.why
    assert "measured" in found.why


def test_slower_than_predicted(report: Report) -> None:
    for one, measured in zip(report["layers"], (1.0, 1.2, 2.0, 9.0), strict=True):
        one |= {"predicted_ms": 1.0, "measured_ms": measured}
    found = only(report)
    assert found.layers == (3, 2)
    assert found.amount == pytest.approx(9.0)


def test_an_exceeded_budget_comes_first(report: Report) -> None:
    report["ram"]["arena_lower_bound"] = 999  # one byte: not worth reading, were it not needed
    report["layers"][0]["weight_bytes"] = report["flash"]["weights"] = 100
    calm = suggestions(Network.of(copy.deepcopy(report)))
    assert [one.resource for one in calm] == [Resource.FLASH]
    report["budget"] = {"ram": 999, "flash": None, "fits": False}
    assert [one.resource for one in suggestions(Network.of(report))] == [
        Resource.RAM,
        Resource.FLASH,
    ]
