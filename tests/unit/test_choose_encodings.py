"""Which results of a quantised model are stored as int8 where that is a matter of time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest

from edgeconv.app.pipeline import CompileOptions, decide
from edgeconv.ir.choice import Choice
from edgeconv.ir.encoding import FLOAT32, Encoding
from edgeconv.ir.graph import Graph
from edgeconv.ir.layout import CHANNELS_LAST
from edgeconv.model import frontend, passes
from edgeconv.search import choose
from edgeconv.search.choose.cheapest import cheapest
from edgeconv.search.choose.prices import Prices
from edgeconv.search.choose.storage import EVERY_LAYER, encodings_for, lossless
from edgeconv.target import board as boards
from edgeconv.target.targets import Target
from tests import onnx_models
from tests.quantised_models import Network, deep

ZEN4 = boards.load("zen4").target
ODROID = boards.load("odroid-xu3").target


def fire(squeezed: int = 16, expanded: int = 64, size: int = 28) -> onnx.ModelProto:
    """A fire module of SqueezeNet behind a convolution, all of one grid, and a convolution."""
    net, step = Network(), 1 / 48

    def conv(x: str, name: str, in_c: int, out_c: int, kernel: int) -> str:
        w = net.filters(f"{name}_w", (out_c, in_c, kernel, kernel))
        bias = net.bias(f"{name}_b", out_c, net.scales[f"{name}_w"] * np.float32(step))
        y = net.node("Conv", [x, w, bias], name, pads=[kernel // 2] * 4)
        return net.pair(net.node("Relu", [y], f"{name}_relu"), step, -128)

    x = net.pair("image", step, 0)
    squeeze = conv(conv(x, "stem", 8, expanded, 3), "squeeze", expanded, squeezed, 1)
    branches = [conv(squeeze, f"expand{k}", squeezed, expanded, k) for k in (1, 3)]
    y = net.pair(net.node("Concat", branches, "join", axis=1), step, -128)
    net.node("Identity", [conv(y, "last", 2 * expanded, squeezed, 1)], "out")
    ports = {"image": ("float32", (1, 8, size, size))}
    return net.model(ports, {"out": ("float32", (1, squeezed, size, size))})


def loaded(model: onnx.ModelProto, folder: Path) -> Graph:
    return passes.optimise(frontend.load(onnx_models.save(model, folder / "model.onnx")))


def free(graph: Graph) -> Mapping[str, Encoding]:
    return encodings_for(graph, lossless(graph).keys())


def stored(choice: Choice) -> set[str]:
    return {
        tensor.name for tensor in choice.graph.activations() if tensor.storage not in (FLOAT32,)
    }


def algorithms(choice: Choice) -> dict[str, str]:
    return {
        layer.node.output: layer.algorithm for layer in choice.layers if layer.node.op == "Conv"
    }


def test_integers_are_chosen_where_the_core_multiplies_them(tmp_path: Path) -> None:
    graph = loaded(fire(), tmp_path)
    choice = choose.select(graph, ZEN4, integers=None)
    assert set(algorithms(choice).values()) == {"int8_packed"}
    assert stored(choice) >= {name for name in free(graph) if "expand" in name}


def test_a_concat_changes_with_its_branches(tmp_path: Path) -> None:
    choice = choose.select(loaded(fire(), tmp_path), ZEN4, integers=None)
    (join,) = (layer.node for layer in choice.layers if layer.node.op == "Concat")
    around = (*join.inputs, join.output)
    assert {choice.graph[name].layout for name in around} == {CHANNELS_LAST}
    images = [node for node in choice.graph.nodes if node.op == "Convert"]
    assert len(images) == 2  # input and output, as the caller has them


def test_float32_stays_where_nothing_multiplies_integers(tmp_path: Path) -> None:
    graph = loaded(fire(), tmp_path)
    choice = choose.select(graph, replace(ZEN4, features=frozenset()), integers=None)
    assert not set(algorithms(choice).values()) & {"int8_packed", "integer"}


@pytest.mark.parametrize("target", [ZEN4, ODROID], ids=lambda target: target.name)
def test_a_mixture_costs_no_more_than_either_extreme(target: Target, tmp_path: Path) -> None:
    graph = loaded(deep(layers=6), tmp_path)
    able, prices = free(graph), Prices(graph, target)
    whole = choose.select(graph, target, integers=frozenset({EVERY_LAYER})).graph
    assert able.keys() == {name for name in able if whole[name].storage == able[name]}

    def cost(of: Graph, may: Mapping[str, Encoding]) -> float:
        return cheapest(of, prices, may)[0].total()

    everywhere = choose.storage.store_tensors(graph, {EVERY_LAYER: "int8"})
    mixed = cost(graph, able)
    assert mixed <= min(cost(graph, {}), cost(everywhere, {})) * (1 + 1e-9)


def test_what_the_user_says_holds(tmp_path: Path) -> None:
    graph = loaded(fire(), tmp_path)
    plain = choose.select(graph, ZEN4, integers=None, storage={"*:output": "float32"})
    assert not stored(plain)
    (layer,) = (node.name for node in graph.nodes if "squeeze" in node.output)
    one = choose.select(graph, ZEN4, integers=None, storage={f"{layer}:output": "float32"})
    node = next(each for each in one.graph.nodes if each.name == layer)
    assert one.graph[node.output].storage == FLOAT32
    assert stored(one)


def test_boards_with_an_operating_system_ask_for_the_time(tmp_path: Path) -> None:
    path = onnx_models.save(fire(), tmp_path / "net.onnx")
    found = decide(CompileOptions(path, "zen4"))
    other = decide(CompileOptions(path, "zen4", storage={"*:output": "float32"}))
    assert found.predicted.ms is not None
    assert other.predicted.ms is not None
    assert found.predicted.ms < other.predicted.ms
    assert any("stored as the int8" in note for note in found.notes)
    assert "faster" not in found.report["time"]
