"""What a quantised model says, in exact arithmetic: against rationals, one element at a time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import pytest

from edgeconv.ir.graph import Graph, Node
from edgeconv.ir.quantisation import integers_of
from edgeconv.model.frontend import load, reference_outputs
from edgeconv.run.verify.exact import expected
from tests import onnx_models
from tests.models.random_quantised import network
from tests.quantised_models import Network

Values = npt.NDArray[Any]


def fractions(values: Values) -> Values:
    found: Values = np.empty(values.shape, object)
    for index in np.ndindex(values.shape):
        found[index] = Fraction(values[index].item())
    return found


def rational(node: Node, graph: Graph, x: Values) -> Values:
    """The result of ``node`` for the numbers ``x`` of its first input."""
    shape = graph[node.output].shape
    if node.op in ("Quantise", "Dequantise"):
        encoding = integers_of(node)
        scale, zero = Fraction(encoding.scale[0]), encoding.zero[0]
        if node.op == "Dequantise":
            return np.asarray((x - zero) * scale)
        whole = np.array([round(value / scale) + zero for value in x.reshape(-1)], object)
        return np.asarray(np.clip(whole, encoding.low, encoding.high)).reshape(shape)
    if node.op in ("Identity", "Reshape"):
        return x.reshape(shape)
    if node.op == "Unary":
        assert node.epilogue.before.kind == "relu"
        positive: Values = x * (x > 0)
        return positive
    w: Values = graph[node.inputs[1]].constant()
    units = node.attrs["storage"].scale
    found: Values = np.empty(shape, object)
    for index in np.ndindex(shape):
        channel = index[1]
        total = Fraction(0)
        for at, value in reached(node, x, w, index):
            whole = round(float(w[(channel, *at)]) / units[channel])
            total += value * whole * Fraction(units[channel])
        found[index] = total + biased(node, graph, channel)
    return found


def reached(
    node: Node, x: Values, w: Values, index: tuple[int, ...]
) -> Iterator[tuple[tuple[int, ...], Any]]:
    """Positions in a filter, and the numbers there."""
    if node.op == "Dense":
        yield from (((k,), x[index[0], k]) for k in range(w.shape[1]))
        return
    attrs, group = node.attrs, index[1] // (w.shape[0] // node.attrs["groups"])
    for c, *at in product(*map(range, w.shape[1:])):
        place = [
            out * attrs["strides"][d] + k * attrs["dilations"][d] - attrs["pads"][d]
            for d, (out, k) in enumerate(zip(index[2:], at, strict=True))
        ]
        if all(0 <= p < n for p, n in zip(place, x.shape[2:], strict=True)):
            yield (c, *at), x[(index[0], group * w.shape[1] + c, *place)]


def biased(node: Node, graph: Graph, channel: int) -> Fraction:
    """The bias: the integer that the model has, in units of the product of both scales."""
    if len(node.inputs) < 3 or not node.inputs[2]:
        return Fraction(0)
    producers = graph.producers()
    scale = Fraction(integers_of(producers[node.inputs[0]]).scale[0])
    unit = scale * Fraction(node.attrs["storage"].scale[channel])
    bias: Values = graph[node.inputs[2]].constant()
    return round(float(bias[channel]) / float(unit)) * unit


def chain(dtype: str, powers: bool, seed: int) -> onnx.ModelProto:
    """Convolutions, one per channel, one depthwise, and a dense layer."""
    net = Network(dtype, seed=seed)
    low = int(np.iinfo(dtype).min)
    s = [1 / 32, 1 / 64] if powers else [0.0371, 0.0219]
    x = net.dequantise("image", s[0], low + 99)
    w = net.filters("w1", (4, 2, 3, 3), axis=None if powers else 0)
    if powers:
        net.scaling("w1", 1 / 512, 0, "int8")
        net.scales["w1"] = np.array(1 / 512)
    bias = net.bias("b1", 4, net.scales["w1"] * np.float32(s[0]))
    y = net.node("Conv", [x, w, bias], "y1", pads=[1, 1, 0, 0], strides=[2, 2])
    y = net.pair(net.node("Relu", [y], "r1"), s[1], low + 7)
    w = net.filters("w2", (4, 1, 2, 2), axis=0)
    y = net.pair(net.node("Conv", [y, w], "y2", group=4, dilations=[2, 2]), s[1] / 2, low + 140)
    flat = net.node("Flatten", [y], "flat")
    z = net.node("MatMul", [flat, net.filters("w3", (4, 3), axis=None)], "z")
    net.node("Identity", [net.quantise(z, s[1] / 4, low + 128)], "scores")
    return net.model({"image": (dtype, (1, 2, 6, 6))}, {"scores": (dtype, (1, 3))})


@pytest.mark.parametrize("powers", [False, True])
@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_as_rational_arithmetic(dtype: str, powers: bool, tmp_path: Path) -> None:
    """Every tensor of the model is given, so that each is computed of what a program had."""
    for seed in range(3):
        graph = load(onnx_models.save(chain(dtype, powers, seed), tmp_path / "net.onnx"))
        rng = np.random.default_rng(seed)
        low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
        given: dict[str, Values] = {
            "image": rng.integers(low, high, (1, 2, 6, 6), dtype, endpoint=True)
        }
        for node in graph.nodes:
            shape = graph[node.output].shape
            if node.op == "Dequantise":
                encoding = integers_of(node)
                steps = rng.integers(low, high, shape, endpoint=True) - encoding.zero[0]
                given[node.output] = (steps * encoding.scale[0]).astype(np.float32)
        check(graph, given)


def check(graph: Graph, given: Mapping[str, Values]) -> None:
    found = expected(graph, {**given, "scores": np.zeros((1, 3), graph["scores"].dtype)})
    exact: dict[str, Values] = {"image": fractions(given["image"])}
    for node in graph.nodes:
        made = rational(node, graph, exact[node.inputs[0]])
        if node.output in found:
            near = found[node.output].near()
            np.testing.assert_array_equal(near, made.astype(np.float64), err_msg=node.name)
        if node.op == "Dequantise" and node.output in given:
            scale = integers_of(node).scale[0]
            steps = np.rint(given[node.output] / np.float32(scale)).astype(int)
            made = fractions(steps) * Fraction(scale)
        exact[node.output] = made
    assert {"scores"} <= found.keys()
    assert len(found) >= 4


def test_an_average_that_is_reshaped_before_it_is_rounded(tmp_path: Path) -> None:
    net = Network()
    x = net.dequantise("image", 0.05, 3)
    y = net.node("Flatten", [net.node("GlobalAveragePool", [x], "y")], "flat")
    net.node("Identity", [net.quantise(y, 0.02, -7)], "scores")
    model = net.model({"image": ("int8", (1, 4, 3, 3))}, {"scores": ("int8", (1, 4))})
    graph = load(onnx_models.save(model, tmp_path / "net.onnx"))
    steps = np.arange(36, dtype=np.int8).reshape(1, 4, 3, 3)
    found = expected(graph, {"image": steps, "scores": np.zeros((1, 4), np.int8)})
    real = (steps.reshape(4, 9).sum(1) - 27) * np.float64(np.float32(0.05)) / 9
    wanted = np.rint(real / np.float64(np.float32(0.02))) - 7
    np.testing.assert_array_equal(found["scores"].near()[0], wanted)


def test_float32_is_within_its_bound(tmp_path: Path) -> None:
    """Sums in float32, in the order of this machine, and what is rounded of them."""
    for seed in range(6):
        graph = load(onnx_models.save(network(seed), tmp_path / "net.onnx"))
        rng = np.random.default_rng(seed)
        x = graph[graph.inputs[0]]
        info = np.iinfo(x.dtype)
        given = {x.name: rng.integers(info.min, info.max, x.shape, x.dtype, endpoint=True)}
        wanted = dict.fromkeys(node.output for node in graph.nodes)
        path = tmp_path / "net.onnx"
        reference = reference_outputs(path, given, list(wanted)).values
        found = expected(graph, {**given, **reference})
        assert len(found) >= len(graph.nodes) - 1
        for name, value in found.items():
            off = np.abs(value.near() - reference[name].astype(np.float64))
            assert (off <= value.off * (1 + 1e-9)).all(), name
