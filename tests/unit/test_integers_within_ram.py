"""Where RAM is short, integers are not given up for it: they need as little as float32."""

from __future__ import annotations

import math
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from edgeconv.app.deciding import Decider, Decision
from edgeconv.search.options import CompileOptions
from tests.command import Command
from tests.quantised_models import Network

BOARD = "mps2-an500"
SIZE, CHANNELS = 96, 12
IMAGE = 3 * SIZE * SIZE


def inverted_bottlenecks() -> onnx.ModelProto:
    """``image`` (1, 3, 96, 96) int8, channels first -> ``y`` int8: a convolution, then twice an
    expansion, a depthwise convolution and a projection, as MobileNetV2 begins."""
    net = Network()
    y, scales = net.dequantise("image", 0.021, 3), [0.021]

    def conv(y: str, name: str, shape: tuple[int, ...], scale: float, **attrs: Any) -> str:
        w = net.filters(f"w{name}", shape)
        unit = net.scales[f"w{name}"] * np.float32(scales[-1])
        scales.append(scale)
        return net.pair(
            net.node("Conv", [y, w, net.bias(f"b{name}", shape[0], unit)], name, **attrs), scale, -5
        )

    around = {"pads": [1, 1, 1, 1]}
    y = conv(y, "first", (CHANNELS, 3, 3, 3), 0.033, strides=[2, 2], **around)
    for i, stride in enumerate((2, 1)):
        wide = 6 * CHANNELS
        y = conv(y, f"wide{i}", (wide, CHANNELS, 1, 1), 0.029)
        window = {**around, "group": wide, "strides": [stride, stride]}
        y = conv(y, f"depthwise{i}", (wide, 1, 3, 3), 0.037, **window)
        y = conv(y, f"narrow{i}", (CHANNELS, wide, 1, 1), 0.031)
    net.node("Identity", [net.quantise(y, 0.031, -5)], "y")
    shape = (1, CHANNELS, SIZE // 4, SIZE // 4)
    return net.model({"image": ("int8", (1, 3, SIZE, SIZE))}, {"y": ("int8", shape)})


def residual() -> onnx.ModelProto:
    """``image`` (1, 3, 16, 16) float32 -> ``y`` float32: two blocks of ResNet, of which the second
    halves the image, a pool and a dense layer."""
    net = Network(scales_as="powers")
    scale = 2.0**-5

    def conv(x: str, name: str, shape: tuple[int, ...], stride: int = 1) -> str:
        w = net.filters(f"w{name}", shape)
        bias = net.bias(f"b{name}", shape[0], net.scales[f"w{name}"] * np.float32(scale))
        around = [shape[2] // 2] * 4
        return net.node("Conv", [x, w, bias], name, pads=around, strides=[stride] * 2)

    def rectified(x: str) -> str:
        return net.pair(net.node("Relu", [x], f"{x}_relu"), scale, -128)

    def added(x: str, y: str, name: str) -> str:
        return rectified(net.node("Add", [net.pair(x, scale, 5), y], name))

    first = rectified(conv(net.pair("image", scale, 0), "first", (8, 3, 3, 3)))
    inner = rectified(conv(first, "inner", (8, 8, 3, 3)))
    block = added(conv(inner, "outer", (8, 8, 3, 3)), first, "block")
    short = net.pair(conv(block, "short", (16, 8, 1, 1), 2), scale, 5)
    half = added(conv(block, "half", (16, 8, 3, 3), 2), short, "halved")
    pooled = net.node("MaxPool", [half], "pooled", kernel_shape=[2, 2], strides=[2, 2])
    flat = net.node("Flatten", [net.pair(pooled, scale, -128)], "flat")
    w = net.filters("wdense", (10, 256))
    dense = net.node("Gemm", [flat, w], "dense", transB=1)
    net.node("Softmax", [net.pair(dense, scale, 0)], "y")
    return net.model({"image": ("float32", (1, 3, 16, 16))}, {"y": ("float32", (1, 10))})


def depthwise_separable() -> onnx.ModelProto:
    """``image`` (1, 16, 12, 10) int8 -> ``y`` int8: three times a depthwise convolution and one of
    1x1, all of 16 channels, as keyword spotters have."""
    net = Network()
    y, scale = net.dequantise("image", 0.03, 3), 0.03
    for i in range(3):
        for name, kernel, group in ((f"depthwise{i}", 3, 16), (f"point{i}", 1, 1)):
            w = net.filters(f"w{name}", (16, 16 // group, kernel, kernel))
            bias = net.bias(f"b{name}", 16, net.scales[f"w{name}"] * np.float32(scale))
            around = {"pads": [kernel // 2] * 4, "group": group}
            y = net.pair(net.node("Conv", [y, w, bias], name, **around), scale, 3)
    net.node("Identity", [net.quantise(y, scale, 3)], "y")
    return net.model({"image": ("int8", (1, 16, 12, 10))}, {"y": ("int8", (1, 16, 12, 10))})


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("model") / "net.onnx"
    onnx.save(inverted_bottlenecks(), path)
    return path


def decided(model: Path, io: str = "caller", **asked: Any) -> Decision:
    with Decider(CompileOptions(model, BOARD, io=io, **asked)) as decider:
        return decider.decide()


def test_the_least_memory_is_that_of_integers(model: Path) -> None:
    """With none of the image copied as a whole, and all in integers, the program needs no more than
    a twentieth beyond what float32 comes to for each 1.3 times that it is faster."""
    found = decided(model, objective="memory")
    integers = found.report["integers"]
    assert integers["layers"] == integers["of_layers"] == 7
    floats = decided(model, objective="memory", algorithms={"*": "direct"})
    faster = math.log(floats.predicted.price / found.predicted.price, 1.3)
    assert found.sizes.ram.total <= min(1.25, 1.05**faster) * floats.sizes.ram.total
    converts = [layer for layer in found.choice.layers if layer.node.op == "Convert"]
    assert any(found.choice.graph[layer.node.output].ring for layer in converts)
    assert found.memory.arena_bytes < IMAGE


def test_no_budget_is_much_slower_than_a_little_larger_one(model: Path) -> None:
    """At the least that there is, which is where most is given up."""
    least, most = (decided(model, objective=each) for each in ("memory", "latency"))
    found = decided(model, ram=least.sizes.ram.total)
    assert found.sizes.ram.total <= least.sizes.ram.total
    assert found.predicted.price <= 1.3 * most.predicted.price


def test_the_least_memory_of_a_residual_network_is_in_integers(tmp_path: Path) -> None:
    """With workspaces that are smaller where layers are computed row by row: in less time than the
    fastest program in float32, and in at most 1.3 of the fastest.  As a budget it gives no program
    that is slower."""
    path = tmp_path / "residual.onnx"
    onnx.save(residual(), path)
    most, least = (decided(path, objective=each, io="arena") for each in ("latency", "memory"))
    assert least.report["integers"]["layers"] == least.report["integers"]["of_layers"]
    assert least.sizes.ram.total <= most.sizes.ram.total  # which streams rows by default
    assert least.predicted.price <= 1.3 * most.predicted.price
    floats = decided(path, objective="latency", io="arena", algorithms={"*": "direct"})
    assert floats.report["integers"]["layers"] == 1  # the dense one
    assert least.predicted.price < floats.predicted.price
    found = decided(path, ram=least.sizes.ram.total, io="arena")
    assert found.predicted.price <= least.predicted.price


def test_a_twentieth_more_ram_makes_it_at_most_1_3_times_faster(model: Path) -> None:
    """From where the result, channels first, is too large to be kept channels last as well."""
    budgets = (43_000, 45_150, 48_745, 51_182)
    found = [decided(model, ram=budget).predicted.price for budget in budgets]
    assert max(slow / fast for slow, fast in pairwise(found)) <= 1.3


def test_its_image_and_result_are_changed_row_by_row(
    model: Path, edgeconv: Command, tmp_path: Path
) -> None:
    """The program computes the model, and its functions take rows, and columns of patches."""
    options = ("--board", BOARD, "--objective", "memory", "--io", "caller", "-o", tmp_path / "net")
    edgeconv.ok("compile", model, *options, "--verify")
    program = (tmp_path / "net" / "net.c").read_text()
    assert "ec_nchw_to_nhwc_columns(" in program
    assert "ec_nhwc_to_nchw_columns(" in program


def test_depthwise_layers_of_less_ram_stay_in_integers(tmp_path: Path) -> None:
    """Two rows at a time are faster, in a fifth less time; one at a time lets the output follow the
    input more closely.  A budget of that fits, in integers, and so does the least that there is."""
    path = tmp_path / "separable.onnx"
    onnx.save(depthwise_separable(), path)
    fast = decided(path, io="arena")
    least = decided(path, io="arena", objective="memory")
    assert least.sizes.ram.total < fast.sizes.ram.total
    found = decided(path, io="arena", ram=least.sizes.ram.total)
    for each in (fast, least, found):
        assert each.report["integers"]["layers"] == each.report["integers"]["of_layers"]
    assert found.predicted.price <= 1.3 * fast.predicted.price
