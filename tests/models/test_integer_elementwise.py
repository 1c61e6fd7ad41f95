"""What stands between the convolutions of a quantised network is computed in integers, exactly."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest

from edgeconv.app import pipeline
from edgeconv.app.pipeline import CompileOptions, compile_model
from edgeconv.run.build.project import Project
from tests import onnx_models
from tests.quantised_models import Network
from tests.tflite_cases import Case

pytestmark = pytest.mark.usefixtures("unoptimised")

EVERYWHERE = {"table", "int8_binary", "int8_pool"}
IN_INTEGERS = {*EVERYWHERE, "int8_resize", "int8_softmax"}


def network(channels: int = 8) -> onnx.ModelProto:
    """``image`` (1, channels, 9, 11) int8 -> ``result``, of the same type: SiLU and hard swish as
    they are exported, squeeze and excite, pools, a difference of two tensors; ``chances``, a
    softmax of what excites; ``wide``, of linear interpolation, then to the nearest and averaged
    over a dimension; a convolution and a depthwise one in front, so that every kind of integer
    kernel is in one program."""
    net = Network(seed=4)
    shape = (1, channels, 9, 11)
    same = {"pads": [1, 1, 1, 1]}
    x = net.dequantise("image", 0.0413, -10)
    x = net.pair(
        net.node("Conv", [x, net.filters("w1", (channels, channels, 3, 3))], "c", **same), 0.0391, 4
    )
    filters = net.filters("w2", (channels, 1, 3, 3))
    x = net.pair(net.node("Conv", [x, filters], "d", group=channels, **same), 0.0377, -10)
    gate = net.pair(net.node("Sigmoid", [x], "s"), 1 / 256, -128)
    y = net.pair(net.node("Mul", [x, gate], "silu"), 0.0187, -113)
    gate = net.pair(net.node("HardSigmoid", [y], "h", alpha=1 / 6, beta=0.5), 1 / 255, -128)
    y = net.pair(net.node("Mul", [gate, y], "swish"), 0.0171, -100)
    window = {"kernel_shape": [3, 3], **same}
    mean = net.pair(net.node("AveragePool", [y], "mean", **window), 0.01327, -60)
    whole = net.pair(net.node("GlobalAveragePool", [mean], "whole"), 0.00719, -77)
    excited = net.pair(net.node("Elu", [whole], "e", alpha=1.0), 0.00631, -50)
    y = net.pair(net.node("Mul", [mean, excited], "scaled"), 0.00519, -60)
    most = net.pair(net.node("MaxPool", [y], "most", **window), 0.00519, -60)
    y = net.node("Sub", [most, mean], "apart")
    net.node("Identity", [net.quantise(y, 0.01571, 10)], "result")
    chances = net.node("Softmax", [excited], "p", axis=1)
    net.node("Identity", [net.quantise(chances, 1 / 256, -128)], "chances")
    twice = net.constant("twice", np.array([1, 1, 2, 2], np.float32))
    larger = net.pair(net.node("Resize", [most, "", twice], "linear", mode="linear"), 0.00519, -60)
    larger = net.pair(net.node("Resize", [larger, "", twice], "near"), 0.00519, -60)
    rows = net.node("ReduceMean", [larger], "rows", axes=[3], keepdims=1)
    net.node("Identity", [net.quantise(rows, 0.00519, -60)], "wide")
    return net.model(
        {"image": ("int8", shape)},
        {
            "result": ("int8", shape),
            "chances": ("int8", (1, channels, 1, 1)),
            "wide": ("int8", (1, channels, 36, 1)),
        },
    )


def test_each_is_what_exact_arithmetic_makes_of_it(tmp_path: Path) -> None:
    model = onnx_models.save(network(), tmp_path / "net.onnx")
    compile_model(CompileOptions(model, "mps2-an500", storage={"*:output": "int8"}), tmp_path / "p")
    layers = Project.open(tmp_path / "p").report["layers"]
    assert {layer["algorithm"] for layer in layers} >= IN_INTEGERS
    result = pipeline.verify_project(tmp_path / "p", model=model)
    assert result.passed, result.first_defect
    assert result.per_layer is not None
    known = {layer["name"] for layer in layers if layer["algorithm"] in IN_INTEGERS}
    assert len(known & result.per_layer.exact.keys()) >= 7
    assert result.per_layer.exact.keys() >= {"output chances", "output wide"}
    assert not any(each.wrong for each in result.per_layer.exact.values())


@pytest.mark.parametrize(
    "board",
    ["zen4", "x86-64-v3", "raspberry-pi-5", "raspberry-pi-4", "odroid-xu3", "power10-s1024"],
)
def test_kernels_of_every_kind_go_together(tmp_path: Path, board: str) -> None:
    """What each of them includes has an order in common, whatever the vectors are; others may be as
    fast in float32 there."""
    model = onnx_models.save(network(32), tmp_path / "net.onnx")
    compile_model(CompileOptions(model, board, storage={"*:output": "int8"}), tmp_path / "p")
    chosen = {layer["algorithm"] for layer in Project.open(tmp_path / "p").report["layers"]}
    assert chosen >= {*EVERYWHERE, "int8_depthwise"}


def test_filters_with_zero_points_go_together_whatever_sums_become(tmp_path: Path) -> None:
    """Of one layer int8, of the other float32: headers of both have an order in common."""
    net = Network(seed=6, opset=21)
    shape = (1, 32, 24, 24)
    x = net.dequantise("image", 0.02, 3)
    for i in range(2):
        filters = net.filters(f"w{i}", (32, 32, 3, 3), dtype="uint8", zero=60, axis=None)
        x = net.node("Conv", [x, filters], f"c{i}", pads=[1, 1, 1, 1])
        x = net.node("Sigmoid", [x], "result") if i else net.pair(x, 0.05, -5)
    made = net.model({"image": ("int8", shape)}, {"result": ("float32", shape)})
    model = onnx_models.save(made, tmp_path / "net.onnx")
    compile_model(CompileOptions(model, "zen4"), tmp_path / "p")
    layers = Project.open(tmp_path / "p").report["layers"]
    convolutions = [layer for layer in layers if layer["op"] == "Conv"]
    assert [layer["compute"] for layer in convolutions] == ["int8", "int8 to float32"]


@pytest.mark.parametrize("kind", ["ADD", "MUL"])
def test_vectors_of_other_ranks_take_no_constants(kind: str, tmp_path: Path) -> None:
    """As the gates of a recurrent layer that is written out step by step: a number for each, no
    number for many, of which there would be a table."""
    options, scales = {"activation": "NONE"}, (0.0371, 0.0913)
    case = Case(kind, [(1, 1, 32), (1, 32)], [(1, 1, 32)], options, "int8", scales=scales)
    path = tmp_path / "gates.tflite"
    path.write_bytes(case.write())
    project, _ = compile_model(CompileOptions(path, "mps2-an386"), tmp_path / "gates")
    (layer,) = [each for each in project.report["layers"] if each["op"] == "Binary"]
    assert layer["algorithm"] == "int8_binary"
    assert layer["weight_bytes"] == 0
    assert pipeline.verify_project(project.directory, model=path).passed
