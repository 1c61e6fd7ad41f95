"""Filters of two or four bits, and of nine less their zero points: int8 of the same numbers where
these are multiplied."""

from __future__ import annotations

from math import inf
from pathlib import Path

import numpy as np
import onnx
import pytest

from edgeconv.ir.candidate import INTEGERS
from edgeconv.ir.choice import Layer
from edgeconv.ir.encoding import INT8
from edgeconv.ir.graph import Graph
from edgeconv.kernels.algorithms.sums import multiples, stored_filters
from edgeconv.kernels.algorithms.widening import zero_points
from edgeconv.model import frontend, passes
from edgeconv.search import choose
from edgeconv.search.choose.prices import algorithms_of
from edgeconv.search.choose.storage import EVERY_RESULT, store_weights
from edgeconv.target import board
from tests.quantised_models import Network

LAYERS = ["conv", "depthwise", "dense"]


def network(dtype: str = "int4", zero: int = 0) -> tuple[onnx.ModelProto, Network]:
    """A convolution, a depthwise one and a dense layer with filters of ``dtype``."""
    net = Network(opset=25)

    def filters(name: str, *shape: int) -> str:
        axis = 1 if name == "dense" else 0
        return net.filters(name, shape, axis=axis, dtype=dtype, zero=zero)

    x = net.dequantise("image", 0.02, 3)
    around = {"pads": [1, 1, 1, 1]}
    y = net.node("Conv", [x, filters("conv", 16, 8, 3, 3)], "y1", **around)
    y = net.pair(y, 0.037, -5)
    y = net.node("Conv", [y, filters("depthwise", 16, 1, 3, 3)], "y2", group=16, **around)
    y = net.node("MaxPool", [net.pair(y, 0.053, 7)], "p", kernel_shape=[2, 2], strides=[2, 2])
    flat = net.node("Flatten", [y], "flat")
    z = net.node("MatMul", [flat, filters("dense", 16 * 16, 12)], "z")
    net.node("Identity", [net.quantise(z, 0.071, 11)], "scores")
    return net.model({"image": ("int8", (1, 8, 8, 8))}, {"scores": ("int8", (1, 12))}), net


def optimised(model: onnx.ModelProto, folder: Path) -> Graph:
    path = folder / "model.onnx"
    onnx.save(model, path)
    return passes.optimise(frontend.load(path))


def weighted(graph: Graph, name: str, **options: object) -> list[Layer]:
    """The layers with filters, chosen so for a board."""
    chosen = choose.select(graph, board.load(name).target, integers=EVERY_RESULT, **options)  # type: ignore[arg-type]
    return [layer for layer in chosen.layers if layer.node.op in ("Conv", "Dense")]


def computes_in_integers(layer: Layer) -> bool:
    return layer.candidate is not None and layer.candidate.compute == INTEGERS


@pytest.mark.parametrize("board_name", ["mps2-an500", "mps3-an547", "odroid-xu3"])
@pytest.mark.parametrize(("dtype", "zero"), [("int4", 0), ("uint4", 8), ("uint2", 2), ("int2", 0)])
def test_computed_in_integers(tmp_path: Path, dtype: str, zero: int, board_name: str) -> None:
    model, net = network(dtype, zero)
    graph = optimised(model, tmp_path)
    stored = {n.name: n.attrs["storage"] for n in graph.nodes if "storage" in n.attrs}
    assert {each.bits for each in stored.values()} == {4}
    found = weighted(graph, board_name)
    for layer, name in zip(found, LAYERS, strict=True):
        assert computes_in_integers(layer), name
        assert layer.node.storage.bits == 8
        assert layer.node.exact
        own = net.weights[name].T if name == "dense" else net.weights[name]
        # Of factors of a quarter and more, as depthwise layers of two bits have, twice as many.
        times = 2 if (dtype, name) == ("int2", "depthwise") else 1
        np.testing.assert_array_equal(multiples(layer.node, graph), times * own)


@pytest.mark.parametrize("board_name", ["mps2-an500", "mps3-an547", "raspberry-pi-5"])
@pytest.mark.parametrize(("dtype", "zero"), [("uint8", 0), ("uint8", 201), ("int8", -128)])
def test_zero_points_are_multiplied_apart(
    tmp_path: Path, dtype: str, zero: int, board_name: str
) -> None:
    model, net = network(dtype, zero)
    graph = optimised(model, tmp_path)
    for layer, name in zip(weighted(graph, board_name), LAYERS, strict=True):
        assert computes_in_integers(layer), name
        assert layer.node.storage.element == INT8
        assert layer.node.exact
        own = net.weights[name].T if name == "dense" else net.weights[name]
        np.testing.assert_array_equal(multiples(layer.node, graph), own)
        stored = stored_filters(layer.node, graph)
        assert INT8.low <= stored.min() <= stored.max() <= INT8.high


def test_zero_points_of_channels() -> None:
    """As near to 0 as they can be, and without -128 unless all of 256 numbers are there."""
    filters = np.array([[-255, -1], [-127, 127], [0, 254], [0, 255], [-128, 126], [-128, 127]])
    zeros = zero_points(filters)
    assert zeros is not None
    np.testing.assert_array_equal(zeros, [127, 0, -127, -128, 1, 0])
    assert zero_points(np.array([[0, 256]])) is None


def test_four_bits_where_flash_is_short(tmp_path: Path) -> None:
    """As many as fit are widened; of the others those lie packed that float32 does not compute
    sooner, which is of four bits then."""
    graph = optimised(network()[0], tmp_path)
    limit, bits = inf, [8, 8, 8]
    seen, packed = set[int](), 0
    while max(bits) > 4:
        found = weighted(graph, "mps2-an500", flash=limit)
        taken = sum(blob.bytes for layer in found for blob in layer.blobs)
        assert taken <= limit
        bits = [4 if layer.unpacked else layer.node.storage.bits for layer in found]
        wide = [layer.node.storage.bits == 8 for layer in found]
        assert [computes_in_integers(layer) for layer in found] == wide
        limit, packed = taken - 1, packed + sum(layer.unpacked is not None for layer in found)
        seen.add(sum(bits))
    assert {24, 12} < seen
    assert packed


def test_what_the_user_asks_for(tmp_path: Path) -> None:
    """int8 keeps the model's integers and units; four bits stay four bits."""
    graph = optimised(network()[0], tmp_path)
    wide = store_weights(graph, {"*": "int8"})
    for node, given in zip(wide.nodes, graph.nodes, strict=True):
        if "storage" in given.attrs:
            assert node.exact
            assert node.storage.bits == 8
            assert node.storage.scale == given.attrs["storage"].scale
    assert all(
        computes_in_integers(each) for each in weighted(graph, "mps2-an500", storage={"*": "int8"})
    )
    narrow = weighted(graph, "mps2-an500", storage={"*": "int4"})
    assert [each.node.storage.bits for each in narrow] == [4, 4, 4]


@pytest.mark.parametrize("layer", ["*", "y2_node"])
def test_an_algorithm_of_integers_that_is_asked_for(tmp_path: Path, layer: str) -> None:
    graph = optimised(network()[0], tmp_path)
    found = weighted(graph, "mps2-an500", algorithms={layer: "integer"})
    assert [each.algorithm for each in found] == ["integer"] * 3


def test_what_explain_lists(tmp_path: Path) -> None:
    """Integers too, of a layer that is left in four bits."""
    graph = optimised(network()[0], tmp_path)
    target = board.load("mps2-an500").target
    chosen = choose.select(graph, target, integers=EVERY_RESULT, storage={"y2_node": "int4"})
    free = {n.name: n for n in graph.nodes}["y2_node"]
    assert "integer" in algorithms_of(free, chosen.graph, target)
