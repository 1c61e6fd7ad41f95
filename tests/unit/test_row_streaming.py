"""Layers that stream rows, from the choice to the running program, by an algorithm of the tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from edgeconv.run import bench
from edgeconv.run.build import report_file, run_binary, times
from edgeconv.run.build.output import Completed
from edgeconv.run.build.project import Project
from edgeconv.run.verify.program import run_program
from tests import onnx_models
from tests.command import BOARD, Command
from tests.row_streaming import convolutions, one_by_one, stream
from tests.toy import added

pytestmark = pytest.mark.usefixtures("unoptimised")

THREE = (
    {"out": 4, "kernel": 3, "pad": 1},
    {"out": 3, "kernel": 3, "pad": 1, "stride": 2},
    {"out": 2, "kernel": 5, "pad": 2},
)


@pytest.fixture(autouse=True)
def toy(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    one_by_one(monkeypatch)
    with added(monkeypatch):
        yield


def compiled(edgeconv: Command, tmp_path: Path, name: str) -> Path:
    model = onnx_models.save(convolutions(THREE, 3, (13, 9)), tmp_path / "net.onnx")
    options = ("--board", BOARD, "--algorithm", "*=toy", "--io", "arena", "-o", tmp_path / name)
    edgeconv.ok("compile", model, *options, "--verify")
    return tmp_path / name


def output_of(folder: Path) -> npt.NDArray[Any]:
    project = Project.open(folder)
    return run_program(project, project.build())[0]["y"]


def report_of(project: Path) -> Any:
    return report_file.read(project / "report.json")


@pytest.mark.parametrize("stream_rows", [1, 2, 5, 100])
def test_three_layers_stream_rows(
    edgeconv: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stream_rows: int
) -> None:
    """The same bytes as one after the other, in a smaller arena, seen layer by layer."""
    whole = compiled(edgeconv, tmp_path, "whole")
    stream(monkeypatch, {"l0": 3}, stream_rows)
    streaming = compiled(edgeconv, tmp_path, "turns")
    done = edgeconv.ok("verify", streaming, "--layers", "--json").json()
    assert [layer["name"] for layer in done["layers"]] == ["l0", "l1", "l2"]
    assert all(layer["difference"]["relative"] < 1e-6 for layer in done["layers"])
    assert np.array_equal(output_of(whole), output_of(streaming))
    arenas = [report_of(project)["ram"]["arena"] for project in (whole, streaming)]
    assert (arenas[1] < arenas[0]) == (stream_rows < 5)


def test_bench_adds_up_the_rounds_of_a_layer(
    edgeconv: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Layers are timed in a program that reads the clock between them, the whole in one that does
    not: of a short network the clock takes most of the time."""
    stream(monkeypatch, {"l0": 2}, 2)
    project = compiled(edgeconv, tmp_path, "turns")
    printed = []

    def run(*arguments: Any, **more: Any) -> Completed:
        printed.append(run_binary(*arguments, **more))
        return printed[-1]

    monkeypatch.setattr(bench, "run_binary", run)
    found = edgeconv.ok("bench", project, "--runs", "5", "--layers", "--json").json()
    assert [layer["name"] for layer in found["layers"]] == ["l0", "l1", "l2"]
    whole, traced = (done.stdout for done in printed)
    assert not times.of_layers(whole)[0]
    assert found["median_ms"] == 1e3 * median(times.of_runs(whole)[bench.WARM_UP :])
    for number, layer in enumerate(found["layers"]):
        streaming = [[s for n, s in run if n == number] for run in times.of_layers(traced)]
        assert {len(each) > 1 for each in streaming} == {number < 2}
        assert layer["median_ms"] == 1e3 * median(map(sum, streaming[bench.WARM_UP :]))


def test_the_report_says_who_streams_rows(
    edgeconv: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "steps" not in report_of(compiled(edgeconv, tmp_path, "whole"))
    stream(monkeypatch, {"l1": 2}, 1)
    assert report_of(compiled(edgeconv, tmp_path, "turns"))["steps"] == [
        {
            "stream_rows": 1,
            "layers": [
                {"layer": 1, "rows": 7, "ring": 5, "reach": 3, "stride": 2, "pad": 1},
                {"layer": 2, "rows": 7, "ring": 7, "reach": 5, "stride": 1, "pad": 2},
            ],
        }
    ]


def test_the_code_reads_like_a_loop(
    edgeconv: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream(monkeypatch, {"l0": 2}, 2)
    text = (compiled(edgeconv, tmp_path, "turns") / "net.c").read_text()
    assert "for (int y = 0, made_0 = 0; y < 7; y += 2) {" in text
    assert "const int need_0 = ec_min_i(y1 * 2, 13);" in text
    assert "while (made_0 < need_0) {" in text
    assert "made_0, to);" in text


@pytest.mark.parametrize(
    ("place", "value", "rule"),
    [
        (("layers", 1, "layer"), 2, "behind the one before"),
        (("layers", 0, "layer"), 7, "behind the one before"),
        (("layers", 0, "rows"), 10**9, "are those of"),
        (("layers", 0, "ring"), 14, "a part of the rows"),
        (("layers", 0, "accumulates"), True, "last layer of several"),
        (("layers", 1, "accumulates"), True, "are those of"),
        (("stream_rows",), 0, "less than the minimum"),
    ],
)
def test_a_damaged_report_is_refused(
    edgeconv: Command,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    place: tuple[Any, ...],
    value: int,
    rule: str,
) -> None:
    stream(monkeypatch, {"l0": 2}, 2)
    report = report_of(compiled(edgeconv, tmp_path, "turns"))
    inner = report["steps"][0]
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    (problem, *_) = report_file.problems(report)
    assert rule in problem.rule


def test_layers_stream_rows_where_ram_is_short(edgeconv: Command, tmp_path: Path) -> None:
    """Without being asked: in the RAM that one layer after the other needs they do not."""
    model = onnx_models.save(convolutions(THREE, 3, (13, 9)), tmp_path / "net.onnx")
    options = ("--board", BOARD, "--algorithm", "*=toy", "--io", "arena", "-o")
    edgeconv.ok("compile", model, *options, tmp_path / "whole")
    enough = report_of(tmp_path / "whole")["ram"]["total"]
    edgeconv.ok("compile", model, *options, tmp_path / "enough", "--ram", str(enough))
    assert "steps" not in report_of(tmp_path / "enough")
    done = edgeconv.ok(
        "compile", model, *options, tmp_path / "less", "--ram", str(enough - 1), "--verify"
    )
    assert "layers stream rows" in done.stderr
    less = report_of(tmp_path / "less")
    assert less["ram"]["total"] < enough
    assert less["steps"]
    edgeconv.ok("compile", model, *options, tmp_path / "least", "--objective", "memory")
    assert report_of(tmp_path / "least")["ram"]["total"] <= less["ram"]["total"]
