"""Normalisations of data whose mean is large against its deviation, as emitted C computes them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import helper

from edgeconv.model import frontend, passes
from edgeconv.search.calibration.engine import Engine
from tests.ir_interpreter import evaluate
from tests.onnx_models import model, save

SHAPE = (2, 6, 9, 10)
OFFSET = 1000.0
# Relative to a deviation of 1: what rounding the mean of such numbers leaves, ten times over.
TOLERANCE = 10 * OFFSET * 2.0**-24


def network() -> onnx.ModelProto:
    """Every operator that standardises its input, side by side."""
    vector = {"per_channel": 6, "per_column": 10}
    constants = {
        name: np.linspace(0.5, 1.5, size, dtype=np.float32) for name, size in vector.items()
    }
    calls: dict[str, tuple[str, list[str], dict[str, Any]]] = {
        "layer": ("LayerNormalization", ["per_column"] * 2, {}),
        "group": ("GroupNormalization", ["per_channel"] * 2, {"num_groups": 3}),
        "instance": ("InstanceNormalization", ["per_channel"] * 2, {}),
        "image": ("MeanVarianceNormalization", [], {}),
    }
    nodes = [
        helper.make_node(op, ["x", *inputs], [name], name=name, **attrs)
        for name, (op, inputs, attrs) in calls.items()
    ]
    return model(nodes, {"x": SHAPE}, dict.fromkeys(calls), constants, opset=21)


def test_a_large_mean_costs_no_accuracy(tmp_path: Path) -> None:
    graph = frontend.load(save(network(), tmp_path / "net.onnx"))
    x = OFFSET + np.random.default_rng(3).standard_normal(SHAPE)
    inputs = {"x": x.astype(np.float32)}
    want = evaluate(graph, inputs)
    with Engine(passes.optimise(graph)) as engine:
        got = engine.run(inputs)
    for name, value in got.items():
        assert np.abs(want[name]).max() > 1
        assert np.abs(value - want[name]).max() < TOLERANCE, name
