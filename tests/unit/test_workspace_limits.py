"""Where RAM is short, only the layers that find no room take kernels without a workspace."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import helper

from edgeconv.app.deciding import Decider, Decision
from edgeconv.app.pipeline import CompileOptions
from edgeconv.ir.candidate import EXACTLY
from edgeconv.ir.encoding import Encoding
from edgeconv.ir.request import Workspace
from edgeconv.kernels.algorithms import algorithms as known
from edgeconv.kernels.algorithms import candidates, planned
from edgeconv.kernels.algorithms.problem import problem_of
from edgeconv.model import frontend, passes
from edgeconv.search import choose, memory
from edgeconv.search.memory.workspace_limits import room_for_workspaces
from edgeconv.target import board as boards
from tests import onnx_models, tflite_models

BOARD = "generic-c"
CHANNELS, SIZE = 8, 16
STORED = {"*": "int8"}  # filters that are decoded, to memory where there is some


@pytest.fixture(scope="module")
def narrowing(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Convolutions of ever smaller images: the first ones fill the arena."""
    rng = np.random.default_rng(3)
    weights, nodes, source = {}, [], "x"
    for number in range(4):
        weights[f"w{number}"] = rng.standard_normal((CHANNELS, CHANNELS, 3, 3), np.float32)
        strides = [2, 2] if number else [1, 1]
        name = f"c{number}"
        nodes.append(
            helper.make_node(
                *("Conv", [source, f"w{number}"], [name], name), strides=strides, pads=[1, 1, 1, 1]
            )
        )
        source = name
    model = onnx_models.model(nodes, {"x": (1, CHANNELS, SIZE, SIZE)}, {source: None}, weights)
    return onnx_models.save(model, tmp_path_factory.mktemp("narrowing") / "net.onnx")


def decided(model: Path, ram: int | None = None, *, streaming: bool = True) -> Decision:
    with Decider(CompileOptions(model, BOARD, ram=ram, storage=STORED, io="arena")) as decider:
        return decider.decide(streaming)


def workspaces(found: Decision) -> list[int]:
    return [layer.workspace_bytes for layer in found.choice.layers if layer.node.op == "Conv"]


def smallest(model: Path) -> int:
    """Bytes of RAM without any workspace."""
    options = CompileOptions(model, BOARD, storage=STORED, objective="memory", io="arena")
    with Decider(options) as decider:
        found = decider.plain()  # no layers stream rows
    assert not any(workspaces(found))
    return int(found.report["ram"]["total"])


def test_layers_with_room_keep_their_workspace(narrowing: Path) -> None:
    roomy, least = decided(narrowing), smallest(narrowing)
    most = workspaces(roomy)
    assert least < roomy.report["ram"]["total"]
    streaming_plans = decided(narrowing, least)  # rows of the first image make room for all
    assert streaming_plans.report["ram"]["total"] <= least
    assert workspaces(streaming_plans) == most
    found = decided(narrowing, least, streaming=False)
    assert found.report["ram"]["total"] <= least
    kept = workspaces(found)
    assert 0 < sum(kept) < sum(most)
    assert all(size in (0, full) for size, full in zip(kept, most, strict=True))
    assert kept[0] == 0 < kept[1]  # the first image and its result fill the arena


def test_no_budget_and_a_large_one_take_the_fastest(narrowing: Path) -> None:
    roomy = decided(narrowing)
    enough = decided(narrowing, int(roomy.report["ram"]["total"]))
    assert workspaces(enough) == workspaces(roomy)


def test_a_limit_of_a_layer_is_kept(narrowing: Path) -> None:
    graph, target = passes.optimise(frontend.load(narrowing)), boards.load(BOARD).target
    free = {
        x.node.name: x.workspace_bytes for x in choose.select(graph, target, storage=STORED).layers
    }
    assert free["c1"] > 0
    limited = choose.select(
        graph, target, storage=STORED, workspace={"c1": Workspace(free["c1"] - 1)}
    )
    found = {layer.node.name: layer.workspace_bytes for layer in limited.layers}
    assert found["c1"] < free["c1"]
    assert {name: size for name, size in found.items() if name != "c1"} == {
        name: size for name, size in free.items() if name != "c1"
    }


def test_candidates_of_an_algorithm_get_slower_as_they_get_smaller() -> None:
    graph = passes.optimise(
        frontend.load(Path(__file__).parents[2] / "examples" / "digits" / "digits-cnn.onnx")
    )
    for name in ("zen4", "generic-c", "odroid-xu3", "mps2-an500"):
        target = boards.load(name).target
        for node in (node for node in graph.nodes if node.op == "Conv"):
            problem = replace(problem_of(node, graph), filters_as=Encoding(16))
            for entry in known().values():
                sizes = [each.workspace_bytes for each in planned(entry, problem, target)]
                assert sizes == sorted(set(sizes), reverse=True)


def test_room_is_what_tensors_leave(narrowing: Path) -> None:
    graph, target = passes.optimise(frontend.load(narrowing)), boards.load(BOARD).target
    choice = choose.select(graph, target, storage=STORED, io="arena")
    plan = memory.plan(choice)
    assert room_for_workspaces(choice, plan, plan.arena_bytes) == {}
    image = 4 * CHANNELS * SIZE * SIZE
    found = room_for_workspaces(choice, plan, 2 * image)
    assert found["c0"] == 0  # its input and its output
    assert "c3" not in found


@pytest.fixture(scope="module")
def quantised(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Convolutions of int8 behind one another, as a .tflite file."""
    path = tmp_path_factory.mktemp("quantised") / "net.tflite"
    path.write_bytes(tflite_models.quantised_network())
    return path


@pytest.mark.parametrize("board", ["generic-c", "stm32h743", "zen4"])
@pytest.mark.parametrize(
    "asked",
    [{"objective": "memory"}, {"ram": 3000}, {"ram": 6000}, {"storage": {"*:output": "int8"}}],
    ids=str,
)
def test_layers_whose_kernels_all_take_workspace_get_the_least(
    board: str, asked: dict[str, Any], quantised: Path
) -> None:
    """In TensorFlow Lite's arithmetic convolutions are computed in integers alone, which takes some
    on every target."""
    options = CompileOptions(quantised, board, requantise="tflite", **asked)
    with Decider(options) as decider:
        found = decider.plain()
    convolutions = [layer for layer in found.choice.layers if layer.node.op == "Conv"]
    assert len(convolutions) == 3
    for layer in convolutions:
        assert layer.candidate is not None
        assert layer.candidate.compute in EXACTLY, layer.node.name
        if "objective" in asked:
            unlimited = replace(layer.node.request, workspace=Workspace())
            free = replace(layer.node, request=unlimited)
            every = candidates(free, found.choice.graph, decider.board.target)
            assert layer.workspace_bytes == min(each.workspace_bytes for each in every)
