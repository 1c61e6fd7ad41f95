"""Grids from samples, where they go, and what becomes of biases."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from onnx import helper

from edgeconv.ir.filters import Filters
from edgeconv.ir.graph import Graph
from edgeconv.ir.grids import encodings_of
from edgeconv.ir.requantisation import Sums, fixed
from edgeconv.kernels.lowering.activations import evaluate
from edgeconv.model import frontend, passes
from edgeconv.search.calibration.rounding import Rounded
from edgeconv.search.quantising import pretended
from edgeconv.search.quantising.grids import RequestedFormats, places
from edgeconv.search.quantising.ranges import ObservedRange, between, nearest, widest
from edgeconv.search.quantising.selection import Noises, select
from edgeconv.search.quantising.unfused import unfused
from edgeconv.search.quantising.units import settled, whole_bias
from tests.onnx_models import model, residual, save
from tests.quantised_models import Network


def loaded(folder: Path, made: object = None) -> Graph:
    path = save(made or residual(), folder / "model.onnx")  # type: ignore[arg-type]
    return passes.optimise(frontend.load(path))


@pytest.mark.parametrize(("low", "high"), [(-1.0, 3.0), (0.0, 6.0), (-2.5, 0.0), (0.5, 2.0)])
def test_a_grid_reaches_both_ends_and_has_zero(low: float, high: float) -> None:
    grid = between(low, high)
    assert grid.gamma - grid.beta == 255
    assert grid.beta <= 0 <= grid.gamma
    assert grid.beta * grid.alpha == pytest.approx(min(low, 0.0), abs=grid.alpha / 2)
    assert grid.gamma * grid.alpha == pytest.approx(max(high, 0.0), abs=grid.alpha / 2)


def test_a_tensor_of_zeros_has_a_grid() -> None:
    grid = nearest(ObservedRange(0.0, 0.0, np.zeros(10, np.float32)))
    assert grid.alpha > 0
    assert not evaluate(grid, np.zeros(3)).any()


def test_few_large_numbers_do_not_make_a_grid_coarse() -> None:
    values = np.random.default_rng(1).standard_normal(20_000).astype(np.float32)
    values[7] = 100.0
    seen = ObservedRange(float(values.min()), 100.0, values[values < 50])
    errors = [
        np.square(evaluate(g, seen.values) - seen.values).sum()
        for g in (widest(seen), nearest(seen))
    ]
    assert errors[1] < errors[0] / 10


def test_what_only_moves_numbers_shares_their_grid(tmp_path: Path) -> None:
    graph = unfused(loaded(tmp_path))
    found = places(graph, RequestedFormats.of(graph, {}))
    like = found.grid_of()
    pooled, joined = ("right", "both")
    assert like[pooled] == like[joined] == like["left"]
    assert "p" not in found.tensors  # an output of the graph
    assert "features" not in found.tensors
    assert "image" in found.tensors


def test_what_moves_moved_numbers_has_their_grid(tmp_path: Path) -> None:
    """Of a Transpose and a Reshape in a row, which passes leave alone."""
    made = model(
        [
            helper.make_node("Conv", ["x", "w"], ["a"], name="conv"),
            helper.make_node("Transpose", ["a"], ["b"], name="turn", perm=[0, 2, 3, 1]),
            helper.make_node("Reshape", ["b", "shape"], ["c"], name="flat"),
            helper.make_node("Softmax", ["c"], ["y"], name="softmax", axis=2),
        ],
        {"x": (1, 3, 4, 4)},
        {"y": None},
        {"w": np.ones((4, 3, 1, 1), np.float32), "shape": np.array([1, 32, 2])},
    )
    graph = unfused(loaded(tmp_path, made))
    like = places(graph, RequestedFormats.of(graph, {})).grid_of()
    assert like["b"] == like["c"] == "a"


def test_results_that_the_user_names(tmp_path: Path) -> None:
    graph = loaded(tmp_path)
    split = unfused(graph)

    def rounded_with(storage: dict[str, str]) -> set[str]:
        return set(places(split, RequestedFormats.of(graph, storage)).tensors)

    every = rounded_with({})
    assert rounded_with({"*:output": "int8"}) == every
    assert rounded_with({"stem:output": "int8"}) == {"r0"}
    assert every - rounded_with({"stem:output": "float32"}) == {"r0"}
    wanted = RequestedFormats.of(graph, {"stem:output": "int8", "depthwise:output": "int8"})
    assert wanted.filters(split, places(split, wanted)) == ("depthwise",)
    wanted = RequestedFormats.of(graph, {"left": "int4"})
    assert "left" not in wanted.filters(split, places(split, wanted))


def test_filters_that_the_file_has_as_integers_are_quantised_like_others(tmp_path: Path) -> None:
    """They get units that suit their biases; else the layer would stay float32."""
    network = Network()
    first = network.node("Conv", ["x", network.filters("w", (4, 3, 3, 3))], "first")
    network.node("Conv", [first, network.filters("v", (5, 4, 3, 3))], "second")
    ports = {"x": ("float32", (1, 3, 9, 9))}, {"second": ("float32", (1, 5, 5, 5))}
    graph = loaded(tmp_path, network.model(*ports))
    assert all("storage" in node.attrs for node in graph.nodes)
    split, wanted = unfused(graph), RequestedFormats.of(graph, {})
    found = wanted.filters(split, places(split, wanted))
    assert found == tuple(node.name for node in split.nodes if node.op == "Conv")


def test_the_layers_that_save_most_within_an_allowance() -> None:
    noises = Noises({"a": 0.01, "b": 0.04, "c": 0.3}, [0.01, 0.01, 0.02])
    reads = {"a": (0, 1), "b": (1, 2)}
    saved = {"a": 1.0, "b": 3.0, "c": 9.0}  # c writes float32
    both = select(noises, reads, saved, 0.1)
    assert both.filters == {"a", "b"}
    assert both.groups == {0, 1, 2}
    assert both.saved == 4.0
    assert select(noises, reads, saved, 0.075).saved == 3.0
    assert select(noises, reads, saved, 0.035).saved == 1.0
    assert select(noises, reads, saved, 0.02).saved == 0.0


def test_splitting_is_undone_by_the_passes(tmp_path: Path) -> None:
    graph = loaded(tmp_path)
    split = unfused(graph)
    assert len(split.nodes) > len(graph.nodes)
    assert not any(node.epilogue.residual for node in split.nodes)
    again = passes.optimise(split)
    assert [(node.op, node.output) for node in again.nodes] == [
        (node.op, node.output) for node in graph.nodes
    ]


def test_grids_and_units_get_into_the_graph(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    made = model(
        [
            helper.make_node("Conv", ["x", "v"], ["a"], name="first"),
            helper.make_node("Relu", ["a"], ["b"], name="relu"),
            helper.make_node("Conv", ["b", "w", "c"], ["y"], name="second"),
        ],
        {"x": (1, 3, 8, 8)},
        {"y": None},
        {
            "v": rng.standard_normal((4, 3, 3, 3), dtype=np.float32),
            "w": rng.standard_normal((2, 4, 1, 1), dtype=np.float32),
            "c": np.ones(2, np.float32),
        },
    )
    graph = passes.optimise(pretended(loaded(tmp_path, made), {}))
    names = {name.partition("/")[0] for name in encodings_of(graph)}
    assert names == {"x", "b"}
    assert all(node.attrs["storage"].scale for node in graph.nodes if node.op == "Conv")


def test_a_bias_becomes_whole_units() -> None:
    units, spacing = (0.01, 0.5), 0.02
    weights = np.ones((2, 1), np.float32)
    before = np.array([0.123456, -7.0], np.float32)
    given = Rounded("int8", Filters(weights, before), units)
    bias = whole_bias(given, spacing).parameters.bias
    assert bias is not None
    unit = np.array(units, np.float32) * np.float32(spacing)
    assert np.allclose(bias / unit, np.rint(bias / unit), rtol=0, atol=1e-3)
    assert np.abs(bias - before).max() <= unit.max() / 2


def test_a_bias_too_large_for_int32_stays() -> None:
    given = Rounded("int8", Filters(np.ones((1, 1), np.float32), np.ones(1, np.float32)), (1e-9,))
    assert whole_bias(given, 1e-9) is given


def test_units_of_small_channels_have_words_for_their_results() -> None:
    """A layer of many inputs, whose channels' units differ forty times: no form is found for the
    units as they come, and one for their neighbours."""
    rng = np.random.default_rng(3)
    x, y = (float(np.float32(scale)) for scale in (0.0297379, 0.0575105))
    channels, size = 128, 640
    units = np.geomspace(1e-5, 4e-4, channels).astype(np.float32)
    counts = np.clip(np.rint(25 * rng.standard_normal((channels, size))), -127, 127).astype(int)
    weights = (counts * units[:, None].astype(np.float64)).astype(np.float32)
    bias = rng.normal(size=channels).astype(np.float32)
    given = Rounded("int8", Filters(weights, bias), tuple(map(float, units)))

    def form(entry: Rounded) -> object:
        own = np.asarray(entry.units) * x
        count = np.rint(np.asarray(entry.parameters.bias, np.float64) / own).astype(np.int64)
        reach = np.abs(counts).sum(axis=1) * 255
        sums = Sums(own, 0 * own, count - reach, count + reach, y, -128, -128, 127)
        return fixed(sums)

    assert form(whole_bias(given, x)) is None
    better = whole_bias(settled(given, x, y), x)
    assert form(better) is not None
    assert np.allclose(better.parameters.weights, weights, rtol=2e-5)


def test_a_unit_is_not_too_small_for_its_bias() -> None:
    filters = Filters(np.full((2, 3), 1e-9, np.float32), np.array([1.0, 0.5], np.float32))
    entry = whole_bias(settled(Rounded("int8", filters, (1e-11, 1e-11)), 0.02, 0.03), 0.02)
    assert entry.units is not None
    assert entry.parameters.bias is not None
    counts = entry.parameters.bias / (np.array(entry.units) * 0.02)
    assert np.abs(counts).max() < 2**30
    assert np.allclose(entry.parameters.bias, [1.0, 0.5])
