"""Channels between two layers brought to like ranges: the same function, finer rounded."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from onnx import helper, numpy_helper

from edgeconv.ir.filters import filters_of
from edgeconv.ir.graph import Graph
from edgeconv.model import frontend, passes
from edgeconv.search.calibration import samples
from edgeconv.search.calibration.engine import Engine
from edgeconv.search.calibration.sqnr import Baseline
from edgeconv.search.quantising.equalisation import Pair, pairs, scales
from edgeconv.search.quantising.equalise import equalised
from edgeconv.search.quantising.unfused import unfused
from tests.onnx_models import model, save

SPREAD = np.geomspace(0.02, 1.0, 8).astype(np.float32)  # of the channels of a result


def network(folder: Path) -> Graph:
    """Conv, ReLU6, depthwise, ReLU, average, dense; the channels of all results differ in range."""
    rng = np.random.default_rng(3)
    wide = SPREAD.reshape(-1, 1, 1, 1)
    made = model(
        [
            helper.make_node("Conv", ["x", "v", "b"], ["a"], name="expand"),
            helper.make_node("Clip", ["a", "zero", "six"], ["c"], name="relu6"),
            helper.make_node("Conv", ["c", "d", "e"], ["f"], name="depthwise", group=8),
            helper.make_node("Relu", ["f"], ["g"], name="relu"),
            helper.make_node("GlobalAveragePool", ["g"], ["h"], name="mean"),
            helper.make_node("Flatten", ["h"], ["i"], name="flat"),
            helper.make_node("Gemm", ["i", "w", "o"], ["y"], name="dense", transB=1),
        ],
        {"x": (1, 3, 6, 6)},
        {"y": None},
        {
            "v": 3 * wide * rng.standard_normal((8, 3, 1, 1), dtype=np.float32),
            "b": SPREAD * rng.standard_normal(8, dtype=np.float32),
            "d": rng.standard_normal((8, 1, 3, 3), dtype=np.float32),
            "e": SPREAD * rng.standard_normal(8, dtype=np.float32),
            "w": rng.standard_normal((4, 8), dtype=np.float32) / SPREAD,
            "o": np.zeros(4, np.float32),
        },
    )
    for name, value in (("zero", 0.0), ("six", 6.0)):
        made.graph.initializer.append(numpy_helper.from_array(np.array(value, np.float32), name))
    return unfused(passes.optimise(frontend.load(save(made, folder / "model.onnx"))))


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    return network(tmp_path_factory.mktemp("equalised"))


def test_pairs_of_layers_with_channels_between(graph: Graph) -> None:
    """Through ReLU, ReLU6 and the mean of every channel."""
    first, second = pairs(graph)
    assert first == Pair("expand", "depthwise", ("c",))
    assert (second.first, second.second) == ("depthwise", "dense")
    assert second.tensors[0] == "g"
    assert len(second.tensors) == 3


def test_a_clip_limits_nothing_that_samples_have(graph: Graph) -> None:
    """A channel that reaches the bound keeps its scale, so that it is limited where it was."""
    node, reader = graph.nodes[0], graph.nodes[1]
    ranges = np.geomspace(0.3, 6.0, 8)
    for share in (1.0, 0.75, 0.5):
        by = scales(node, ranges, reader, filters_of(reader, graph), share)
        assert by[-1] == 1.0
        assert (by <= 1.0).all()
        assert (ranges / by <= 6.0 + 1e-9).all()
        assert (by >= np.minimum(1.0, 1.25 * ranges / 6.0) - 1e-12).all()


def test_channels_without_numbers_stay(graph: Graph) -> None:
    node, reader = graph.nodes[0], graph.nodes[1]
    own = filters_of(reader, graph)
    assert (scales(node, np.zeros(8), reader, own, 1.0) == 1.0).all()
    some = np.array([0.0, 1.0, 2.0, 3.0, 0.0, 1.0, 2.0, 6.0])
    assert (scales(node, some, reader, own, 1.0)[[0, 4]] == 1.0).all()


def test_the_network_is_the_same_and_rounds_finer(graph: Graph) -> None:
    inputs = samples.seeded(graph, 8)
    with Engine(graph) as engine:
        plain = Baseline(engine, inputs)
        layers = [node.name for node in graph.nodes if node.op in ("Conv", "Dense")]
        given = equalised(engine, inputs, plain, layers, ["c", "g", "h", "i"])
        assert given.keys() >= {"expand", "depthwise"}
        assert plain.noise(given) < 1e-10
        before = [engine.run(sample)["y"] for sample in inputs]
        engine.adopt(given)
        after = [engine.run(sample, capture=["c"]) for sample in inputs]
        for one, other in zip(before, after, strict=True):
            np.testing.assert_allclose(other["y"], one, rtol=0, atol=1e-5 * np.abs(one).max())
        highest = np.max([found["c"].max(axis=(0, 2, 3)) for found in after], axis=0)
        assert highest.min() > 0.1 * highest.max()
        assert (engine.parameters("expand").weights == given["expand"].weights).all()
