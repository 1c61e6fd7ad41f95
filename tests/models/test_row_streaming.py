"""Layers that stream rows compute the bytes that they compute one after the other."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from onnx import helper

from edgeconv.app.deciding import decide
from edgeconv.app.pipeline import bench_project, compile_model, verify_project
from edgeconv.kernels.algorithms.problem import problem_of
from edgeconv.model import frontend
from edgeconv.run.build import compile_project, find_compiler
from edgeconv.run.build.project import Project
from edgeconv.run.verify.inputs import ensure
from edgeconv.run.verify.layers import Unread, first_difference, unread
from edgeconv.run.verify.program import run_program
from edgeconv.search.options import CompileOptions
from tests import onnx_models
from tests.row_streaming import convolutions, one_by_one, stream
from tests.tools import available

pytestmark = pytest.mark.usefixtures("unoptimised")

Kinds = tuple[dict[str, Any], ...]
DEPTHWISE = {"depthwise": True, "kernel": 3, "pad": 1, "relu": True}
HALVED = {**DEPTHWISE, "stride": 2}
DILATED = {**DEPTHWISE, "pad": 2, "dilation": 2}
MAX = {"pool": "MaxPool", "kernel": 3, "pad": 1, "stride": 2}
MEAN = {"pool": "AveragePool", "kernel": 2, "stride": 2}
FIVE = {"out": 24, "kernel": 5, "pad": 2, "relu": True}
THREE = {"out": 20, "kernel": 3, "pad": 1}
POINT = {"out": 36, "kernel": 1, "relu": True}
CHAINS: dict[str, Kinds] = {
    "convolutions": (FIVE, POINT, {**THREE, "stride": 2, "dilation": 2, "pad": 2}),
    "mobile": (THREE, DEPTHWISE, POINT, HALVED, {**POINT, "stride": 2}),
    "added": (THREE, POINT, THREE | {"added": 0}),
    "borders": ({**THREE, "pad": 0}, {**FIVE, "stride": 3}, {**FIVE, "pad": 1}),
    "depthwise": (DEPTHWISE, HALVED, DILATED),
    "mixed": (DEPTHWISE, MAX, MEAN),
    "pools": (MAX, {**MAX, "pool": "AveragePool"}, MEAN),
    "sums": (DEPTHWISE, HALVED, {"pool": "GlobalAveragePool", "relu": True}),
    "largest": (DEPTHWISE, {"pool": "GlobalMaxPool"}),
}
STREAM_ROWS = {"generic-c": 1, "x86-64-v3": 3, "zen4": 2}


def output(
    model: Path, board: str, kinds: Kinds, folder: Path, threads: int = 1
) -> npt.NDArray[Any]:
    """Of the program compiled to ``folder``."""
    sums = (i for i, kind in enumerate(kinds) if "out" in kind)  # SConv computes all rows at once
    direct = {f"l{i}": "direct" for i in sums}
    options = CompileOptions(model, board, name="net", algorithms=direct, threads=threads)
    compile_model(options, folder)
    project = Project.open(folder)
    ensure(project)
    return run_program(project, project.build())[0]["y"]


def chains() -> list[object]:
    """Every chain in portable C, and in every run with one of the vector units."""
    return [
        pytest.param(chain, board, marks=[pytest.mark.slow] if j and (i + j) % 2 else [])
        for i, chain in enumerate(CHAINS)
        for j, board in enumerate(STREAM_ROWS)
    ]


@pytest.mark.parametrize(("chain", "board"), chains())
def test_the_same_bytes(
    chain: str, board: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    available(board)
    one_by_one(monkeypatch)
    kinds, first = CHAINS[chain], 1 if chain == "added" else 0  # what is added is a whole tensor
    model = onnx_models.save(convolutions(kinds, 20, (25, 19)), tmp_path / "net.onnx")
    whole = output(model, board, kinds, tmp_path / "whole")
    stream(monkeypatch, {f"l{first}": len(kinds) - first}, STREAM_ROWS[board])
    found = output(model, board, kinds, tmp_path / "turns")
    assert (tmp_path / "turns" / "report.json").read_text().count('"stream_rows"') == 1
    assert np.array_equal(found.view(np.uint32), whole.view(np.uint32))


@pytest.mark.parametrize(("chain", "workers"), [("mobile", 2), ("borders", 3), ("depthwise", 4)])
def test_the_same_bytes_of_workers(
    chain: str, workers: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each has his rows, his rings, and computes again what two of them need; nobody races, and
    with the trace one of them computes everything, but for times."""
    one_by_one(monkeypatch)
    monkeypatch.setattr("edgeconv.target.board.team.most_threads", lambda board: None)
    kinds, board = CHAINS[chain], "generic-c"
    model = onnx_models.save(convolutions(kinds, 20, (25, 19)), tmp_path / "net.onnx")
    whole = output(model, board, kinds, tmp_path / "whole")
    stream(monkeypatch, {"l0": len(kinds)}, 1, workers)
    found = output(model, board, kinds, tmp_path / "turns", threads=workers)
    assert np.array_equal(found.view(np.uint32), whole.view(np.uint32))
    project = Project.open(tmp_path / "turns")
    (step,) = project.report["steps"]
    assert len(step["shares"]) == workers == project.report["threads"]
    binary = compile_project(
        project.directory,
        project.board(),
        sources=project.sources,
        out=tmp_path / "races",
        extra_flags=("-fsanitize=thread", "-O1", "-g", "-pthread"),
    )
    raced = run_program(project, binary)[0]["y"]
    assert np.array_equal(raced.view(np.uint32), whole.view(np.uint32))
    assert verify_project(tmp_path / "turns", layers=True).passed
    times = bench_project(tmp_path / "turns", runs=2, layers=True)
    assert all(layer.median_ms > 0 for layer in times.layers)
    shared = re.escape(f"net_threads_run(net_step_{len(kinds) - 1}, &given, {workers});")
    for flags in ((), ("-DNET_TRACE", "-DNET_TIMES")):
        command = [*find_compiler(project.board()).command, "-E", *flags, "net.c"]
        seen = subprocess.run(
            command, cwd=project.directory, capture_output=True, text=True, check=True
        )
        assert re.search(shared, seen.stdout)


@pytest.mark.parametrize("board", STREAM_ROWS)
def test_results_in_fewer_bits(board: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every layer is judged by what it had read, from rows that memory held for a while."""
    available(board)
    kinds = CHAINS["convolutions"]
    model = onnx_models.save(convolutions(kinds, 20, (25, 19)), tmp_path / "net.onnx")
    stored = {"*": "int8", "*:output": "flyte16"}
    direct = {f"l{i}": "direct" for i in range(len(kinds))}
    options = CompileOptions(model=model, board=board, storage=stored, algorithms=direct)
    with monkeypatch.context() as patch:
        stream(patch, {"l0": len(kinds)}, STREAM_ROWS[board])
        compile_model(options, tmp_path / "turns")
    found = verify_project(tmp_path / "turns", layers=True)
    assert found.passed
    assert len(found.layers) >= len(kinds)


@pytest.mark.parametrize("stored", [{}, {"*:output": "flyte8"}], ids=["float32", "flyte8"])
def test_rows_that_nobody_reads(
    stored: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last of 26 rows lies behind all that strides of 3 come to: it is not computed, and not
    held to be wrong."""
    kinds = (THREE, {**POINT, "stride": 3})
    model = onnx_models.save(convolutions(kinds, 20, (26, 19)), tmp_path / "net.onnx")
    direct = {"*": "direct"}
    options = CompileOptions(model, "generic-c", storage=stored, algorithms=direct)
    with monkeypatch.context() as patch:
        stream(patch, {"l0": len(kinds)}, 1)
        compile_model(options, tmp_path / "turns")
    (step,) = Project.open(tmp_path / "turns").report["steps"]
    assert unread([step]) == {0: Unread((25,), ())}
    found = verify_project(tmp_path / "turns", layers=True)
    assert found.passed
    tolerance = 1.0 if stored else 1e-4
    assert first_difference(found.layers, tolerance) is None


def test_one_spatial_dimension_has_no_rows(tmp_path: Path) -> None:
    """Where the channels lie that an image has its rows in."""
    rng, channels = np.random.default_rng(0), (8, 48, 48, 8)
    kernels, nodes, weights = (1, 5, 1), [], {}
    for i, (kernel, out) in enumerate(zip(kernels, channels[1:], strict=True)):
        own: dict[str, Any] = {"pads": [kernel // 2] * 2, "group": 48 if kernel > 1 else 1}
        nodes.append(helper.make_node("Conv", [f"t{i}", f"w{i}"], [f"t{i + 1}"], **own))
        shape = (out, 1 if kernel > 1 else channels[i], kernel)
        weights[f"w{i}"] = rng.normal(size=shape).astype(np.float32)
    made = onnx_models.model(nodes, {"t0": (1, 8, 64)}, {"t3": None}, weights)
    path = onnx_models.save(made, tmp_path / "net.onnx")
    graph = frontend.load(path)
    assert not any(problem_of(node, graph).divides for node in graph.nodes)
    choice = decide(CompileOptions(path, "zen4", objective="memory")).choice
    assert not any(step.stream_rows for step in choice.steps)
