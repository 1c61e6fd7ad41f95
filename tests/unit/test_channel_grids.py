"""Activations of one scale per channel, in front of depthwise layers and through what treats
channels apart: the layers around them are computed in integers, as the file says, exactly."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest

from edgeconv.app.pipeline import CompileOptions, compile_model, verify_project
from edgeconv.ir.activation import grid
from edgeconv.ir.channel_scales import CHANNEL_SCALES, ChannelScales
from edgeconv.ir.edit import Editor
from edgeconv.ir.encoding import INT8, int8
from edgeconv.ir.graph import Graph
from edgeconv.ir.grids import rounded_to
from edgeconv.kernels.algorithms.no_integers import no_integers
from edgeconv.kernels.algorithms.sums import form_of
from edgeconv.model import frontend, passes
from edgeconv.model.passes import read_channels, round_channels
from edgeconv.model.passes.channel_grids import rescale
from edgeconv.run.build.project import Project
from edgeconv.run.verify.exact import expected
from edgeconv.search import choose
from edgeconv.search.choose.storage import EVERY_RESULT
from edgeconv.target.backends import TARGETS
from tests import onnx_models
from tests.models.in_integers import held_to_file
from tests.quantised_models import Network, Values

Made = Callable[[ChannelScales], ChannelScales]
SCALES = np.array([0.011, 0.0173, 0.0071, 0.0125, 0.0301, 0.0093], np.float32)
C = len(SCALES)


def _pair(net: Network, x: str, zero: int, axis: int = 1, scales: Values = SCALES) -> str:
    """``x`` rounded to one scale per channel."""
    zeros = np.full(scales.shape, zero, net.dtype)
    given = net.scaling(f"{x}_c", scales, zeros, net.dtype)
    q = net.node("QuantizeLinear", [x, *given], f"{x}_cq", axis=axis)
    return net.node("DequantizeLinear", [q, *given], f"{x}_cdq", axis=axis)


def separable(between: str = "", *, zero: int = 0, dtype: str = "uint8") -> onnx.ModelProto:
    """Pointwise, maybe an activation or a pool, rounded per channel, what is ``between``, and a
    depthwise layer; biases of no whole number of units."""
    net = Network(dtype, opset=17, scales_as="fractions", seed=2)
    low = int(np.iinfo(dtype).min)
    y = net.pair("x", 0.03, low + 100)
    w = net.filters("w", (C, 4, 1, 1))
    unit = net.scales["w"] * np.float32(0.03)
    y = net.node("Conv", [y, w, net.bias("b", C, unit)], "y")
    if between in ("Relu", "Clip"):
        y = net.node("Relu", [y], "r") if between == "Relu" else _clip(net, y)
    if between == "average":
        y = net.node("AveragePool", [y], "a", kernel_shape=[2, 2])
    y = _pair(net, y, zero, axis=-3 if between == "negative axis" else 1)
    size = (5, 7)
    if between == "MaxPool":
        y = net.node("MaxPool", [y], "p", kernel_shape=[2, 2])
    if between == "Pad":
        pads = net.constant("pads", np.array([0, 0, 1, 1, 0, 0, 1, 1], np.int64))
        y = net.node("Pad", [y, pads], "p")
    if between == "Transpose":
        y = net.node("Transpose", [y], "t", perm=[0, 1, 3, 2])
        size = (7, 5)
    if between == "Reshape":
        y = net.node("Reshape", [y, net.constant("s", np.array([1, C, 7, 5], np.int64))], "t")
        size = (7, 5)
    w = net.filters("d", (2 * C, 1, 2, 3))
    around = [0, 0, 0, 0] if between == "Pad" else [1, 1, 1, 1]
    d = net.node("Conv", [y, w, net.bias("e", 2 * C, 1e-4)], "d_", group=C, pads=around)
    out = net.pair(d, 0.02, low + 128)
    net.node("Identity", [out], "out")
    less = {"MaxPool": 1, "average": 1}.get(between, 0)
    shape = (1, 2 * C, size[0] - less + 1, size[1] - less)
    return net.model({"x": ("float32", (1, 4, 5, 7))}, {"out": ("float32", shape)})


def _clip(net: Network, y: str) -> str:
    """Bounds that are the ends of the widest of the grids, as ReLU6 and its calibration make."""
    ends = [np.float32(0), np.float32(255 * 0.0301)]
    return net.node("Clip", [y, *(net.constant(f"c{e}", np.asarray(e)) for e in ends)], "c")


_BETWEEN = (
    *("", "Relu", "Clip", "average", "negative axis"),
    *("MaxPool", "Pad", "Transpose", "Reshape"),
)


@pytest.mark.parametrize("between", _BETWEEN)
@pytest.mark.parametrize(("dtype", "zero"), [("uint8", 0), ("int8", 0), ("uint8", 128)])
def test_both_layers_are_in_integers(between: str, dtype: str, zero: int, tmp_path: Path) -> None:
    model = separable(between, zero=zero, dtype=dtype)
    path = onnx_models.save(model, tmp_path / "net.onnx")
    graph = _chosen(path)
    layers = [node for node in graph.nodes if node.op == "Conv"]
    assert len(layers) == 2
    assert all(CHANNEL_SCALES in node.attrs for node in layers)
    average = between == "average"  # of what was not rounded
    assert [form_of(node, graph) is not None for node in layers] == [not average, True]
    found = held_to_file(path)
    # Steps that are not the file's integers, but less a zero point, are held to it by what follows.
    known = 1 if zero else 2
    assert (len(found.exact), found.wrong) == (known - average, [])


def _chosen(path: Path) -> Graph:
    graph = passes.optimise(frontend.load(path))
    assert round_channels.run(graph) is graph
    assert read_channels.run(graph) is graph
    return choose.select(graph, TARGETS["scalar"], integers=EVERY_RESULT).graph


def test_integers_keep_their_name(tmp_path: Path) -> None:
    """So that `verify` knows them; with a zero point they are no longer the same numbers."""
    path = onnx_models.save(separable("Relu"), tmp_path / "net.onnx")
    assert "r_cq" in {node.output for node in _chosen(path).nodes}
    path = onnx_models.save(separable("Relu", zero=3), tmp_path / "net.onnx")
    assert "r_cq" not in {node.output for node in _chosen(path).nodes}


def _unlike_bounds() -> onnx.ModelProto:
    """A Clip whose upper bound is another step in every channel."""
    net = Network("uint8", opset=17)
    y = net.node("Conv", [net.pair("x", 0.03, 9), net.filters("w", (C, 4, 1, 1))], "y")
    ends = (net.constant(f"end{e}", np.asarray(e, np.float32)) for e in (0.0, 0.5))
    y = _pair(net, net.node("Clip", [y, *ends], "c"), 0)
    d = net.node("Conv", [y, net.filters("d", (C, 1, 3, 3))], "d_", group=C)
    net.node("Identity", [net.pair(d, 0.02, 128)], "out")
    return net.model({"x": ("float32", (1, 4, 5, 7))}, {"out": ("float32", (1, C, 3, 5))})


def _mixing(*, groups: int = 1) -> onnx.ModelProto:
    """A convolution that adds up channels of several scales; with ``groups`` of one each."""
    net = Network("uint8", opset=17)
    scales = np.repeat(SCALES[: C // 2], 2) if groups > 1 else SCALES
    y = _pair(net, "x", 0, scales=scales)
    w = net.filters("w", (4 if groups == 1 else C, C // groups, 1, 1))
    net.node("Identity", [net.pair(net.node("Conv", [y, w], "y", group=groups), 0.02, 128)], "out")
    out_c = 4 if groups == 1 else C
    return net.model({"x": ("float32", (1, C, 5, 7))}, {"out": ("float32", (1, out_c, 5, 7))})


def _of_zeros() -> onnx.ModelProto:
    """A depthwise layer of an input with a zero point for each channel."""
    net = Network("uint8", opset=17)
    given = net.scaling("c", SCALES, np.arange(100, 100 + C, dtype=np.uint8), net.dtype)
    y = net.node("QuantizeLinear", ["x", *given], "q", axis=1)
    y = net.node("DequantizeLinear", [y, *given], "dq", axis=1)
    y = net.node("MaxPool", [y], "p", kernel_shape=[2, 2])
    d = net.node("Conv", [y, net.filters("d", (C, 1, 2, 2))], "d_", group=C, pads=[1, 1, 1, 1])
    net.node("Identity", [net.pair(d, 0.02, 128)], "out")
    return net.model({"x": ("float32", (1, C, 5, 7))}, {"out": ("float32", (1, C, 5, 7))})


def _joined() -> onnx.ModelProto:
    """A depthwise layer of two tensors with scales per channel, joined."""
    net = Network("uint8", opset=17)
    y = net.node("Concat", [_pair(net, "a", 0), _pair(net, "b", 0)], "both", axis=1)
    d = net.node("Conv", [y, net.filters("d", (2 * C, 1, 3, 3))], "d_", group=2 * C)
    net.node("Identity", [net.pair(d, 0.02, 128)], "out")
    inputs = dict.fromkeys("ab", ("float32", (1, C, 5, 7)))
    return net.model(inputs, {"out": ("float32", (1, 2 * C, 3, 5))})


@pytest.mark.parametrize(
    ("model", "name"),
    [(_mixing, "input-scales"), (_of_zeros, "input-zeros"), (_joined, "input-joined")],
)
def test_what_stays_in_float32_has_a_reason(
    model: Callable[[], onnx.ModelProto], name: str, tmp_path: Path
) -> None:
    graph = _chosen(onnx_models.save(model(), tmp_path / "net.onnx"))
    (layer,) = (node for node in graph.nodes if node.op == "Conv")
    reason = no_integers(layer, graph, rounded_to(graph))
    assert reason is not None
    assert reason.name == name


def test_groups_of_channels_of_one_scale(tmp_path: Path) -> None:
    found = held_to_file(onnx_models.save(_mixing(groups=3), tmp_path / "net.onnx"))
    assert (len(found.exact), found.wrong, found.reasons) == (1, [], {})


def test_bounds_that_differ_in_steps_are_left(tmp_path: Path) -> None:
    """The layer in front stays float32, the depthwise one does not."""
    found = held_to_file(onnx_models.save(_unlike_bounds(), tmp_path / "net.onnx"))
    assert (len(found.exact), found.wrong) == (1, [])


def test_a_form_of_other_scales_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is shown above is none of scales rounded to float32 with the filters."""
    path = onnx_models.save(separable("Relu"), tmp_path / "net.onnx")

    def off(position: int, editor: Editor, made: Made) -> Callable[[], None] | None:
        def larger(own: ChannelScales) -> ChannelScales:
            scales = made(own)
            return replace(scales, input=tuple(1.01 * scale for scale in scales.input))

        return rescale(position, editor, larger)

    monkeypatch.setattr(read_channels, "rescale", off)
    assert held_to_file(path).wrong


def test_exact_arithmetic_of_depthwise_layers(tmp_path: Path) -> None:
    """One number at a time, in float64, which has all of these products."""
    model = frontend.load(onnx_models.save(separable(), tmp_path / "net.onnx"))
    steps = np.random.default_rng(1).integers(0, 256, (1, C, 5, 7)).astype(np.uint8)
    x = np.zeros((1, 4, 5, 7), np.float32)
    found = expected(model, {"x": x, "y_cq": steps, "out": np.zeros((1, 2 * C, 6, 7), np.float32)})
    node = next(node for node in model.nodes if node.output == "d_")
    units = np.asarray(node.attrs["storage"].scale, np.float64)
    weights = model[node.inputs[1]].constant().astype(np.float64)[:, 0]
    filters = np.rint(weights / units[:, None, None])
    padded = np.pad(steps[0].astype(np.float64), ((0, 0), (1, 1), (1, 1)))
    wanted = np.zeros((2 * C, 6, 7))
    bias = model[node.inputs[2]].constant().astype(np.float64)
    for out in range(2 * C):
        for i in range(2):
            for j in range(3):
                wanted[out] += padded[out // 2, i : i + 6, j : j + 7] * filters[out, i, j]
        wanted[out] *= units[out] * np.float64(SCALES[out // 2])
        wanted[out] += bias[out]
    scale, zero = np.float64(np.float32(0.02)), 128
    rounded = (np.clip(np.rint(wanted / scale) + zero, 0, 255) - zero) * scale
    np.testing.assert_allclose(found["out"].near()[0], rounded, rtol=1e-12)


def test_scales_that_are_all_alike_are_one(tmp_path: Path) -> None:
    """Also in front of layers that add up channels."""
    net = Network("uint8", opset=17)
    y = _pair(net, "x", 7, scales=np.full(C, 0.02, np.float32))
    y = net.node("Conv", [y, net.filters("w", (4, C, 1, 1))], "y")
    net.node("Identity", [net.pair(y, 0.02, 128)], "out")
    model = net.model({"x": ("float32", (1, C, 5, 7))}, {"out": ("float32", (1, 4, 5, 7))})
    found = held_to_file(onnx_models.save(model, tmp_path / "net.onnx"))
    assert (len(found.exact), found.wrong) == (1, [])


@pytest.mark.parametrize("of_sum", [False, True])
def test_what_no_layer_makes_is_divided(of_sum: bool, tmp_path: Path) -> None:
    """The network's input, and a sum that is read elsewhere, too: one kernel call that writes
    integers, by a division as the file has it, in whichever layout."""
    net = Network("uint8", opset=17)
    x = net.node("Add", ["x", "x"], "s") if of_sum else "x"
    y = net.node("Conv", [_pair(net, x, 128), net.filters("d", (C, 1, 3, 3))], "y", group=C)
    net.node("Identity", [net.pair(y, 0.02, 128)], "out")
    outputs = {
        "out": ("float32", (1, C, 3, 5)),
        **({"s": ("float32", (1, C, 5, 7))} if of_sum else {}),
    }
    model = net.model({"x": ("float32", (1, C, 5, 7))}, outputs)
    graph = _chosen(onnx_models.save(model, tmp_path / "net.onnx"))
    kept = [node for node in graph.nodes if node.op not in ("Convert", "Conv")]
    assert [node.op for node in kept] == ["Binary"] * (2 if of_sum else 1)
    division = kept[-1]
    assert division.attrs["kind"] == "div"
    np.testing.assert_array_equal(graph[division.inputs[1]].constant().reshape(-1), SCALES)
    assert division.epilogue.before == grid(1.0, -128, 127)
    assert graph[division.output].storage == int8(1.0, 0)


def _read_twice() -> onnx.ModelProto:
    """A layer whose result, rounded per channel, a depthwise layer reads and one that adds up
    channels."""
    net = Network("uint8", opset=17)
    y = net.node("Conv", [net.pair("x", 0.03, 100), net.filters("w", (C, 4, 1, 1))], "y")
    y = _pair(net, y, 128)
    one = net.node("Conv", [y, net.filters("a", (C, 1, 3, 3))], "one", group=C)
    two = net.node("Conv", [y, net.filters("b", (C, C, 3, 3))], "two")
    net.node("Add", [net.pair(one, 0.02, 128), net.pair(two, 0.02, 128)], "out")
    return net.model({"x": ("float32", (1, 4, 5, 7))}, {"out": ("float32", (1, C, 3, 5))})


def test_the_layer_in_front_is_in_integers_whoever_reads_it(tmp_path: Path) -> None:
    """What adds up channels gets them from an Affine of the same int8."""
    path = onnx_models.save(_read_twice(), tmp_path / "net.onnx")
    graph = _chosen(path)
    writers = graph.producers()
    (two,) = (node for node in graph.nodes if node.name == "two_node")
    affine = writers[two.inputs[0]]
    assert affine.op == "Affine"
    np.testing.assert_array_equal(graph[affine.inputs[1]].constant(), SCALES)
    assert graph[affine.inputs[0]].storage == int8(1.0, 0)
    found = held_to_file(path)
    assert (found.wrong, found.reasons) == ([], {"two_node": "input-scales"})
    assert not [node for node in graph.nodes if node.op in ("Quantise", "Dequantise")]


def _moved(how: str) -> onnx.ModelProto:
    """As many channels as before, which are others, between two layers."""
    net = Network("int8", opset=18)
    y = net.node("Conv", [net.pair("x", 0.03, 5), net.filters("w", (C, 4, 1, 1))], "y")
    y = _pair(net, y, 0)
    if how == "reversed":
        ends = {"first": [-1], "last": [-100], "axes": [1], "by": [-1]}
        names = [net.constant(name, np.array(value)) for name, value in ends.items()]
        y = net.node("Slice", [y, *names], "m")
    elif how == "shifted":
        y = net.node("Pad", [y, net.constant("pads", np.array([0, 1, 0, 0, 0, -1, 0, 0]))], "m")
    else:
        scales = net.constant("scales", np.array([1, 1.1, 2, 1], np.float32))
        attrs = {"mode": "linear", "coordinate_transformation_mode": "asymmetric"}
        y = net.node("Resize", [y, "", scales], "m", **attrs)
    d = net.node("Conv", [y, net.filters("d", (C, 1, 3, 3))], "d_", group=C)
    net.node("Identity", [net.pair(d, 0.02, 3)], "out")
    rows = 8 if how == "interpolated" else 3
    return net.model({"x": ("float32", (1, 4, 5, 7))}, {"out": ("float32", (1, C, rows, 5))})


@pytest.mark.parametrize("how", ["reversed", "shifted", "interpolated"])
def test_channels_that_move_keep_their_scales(how: str, tmp_path: Path) -> None:
    """The depthwise layer has none of these in its filters."""
    graph = passes.optimise(frontend.load(onnx_models.save(_moved(how), tmp_path / "net.onnx")))
    (layer,) = (node for node in graph.nodes if node.name == "d__node")
    scales = layer.attrs.get(CHANNEL_SCALES)
    assert scales is None or len({*scales.input}) == 1


def summed(kind: str) -> onnx.ModelProto:
    """A depthwise layer of a sum of two int8 tensors, rounded per channel: that of a convolution's
    result, or a sum or difference of two that are read elsewhere; ``kind`` has "relu" for one
    behind it, and "twice" for a second reader of the sum."""
    net = Network("uint8" if "relu" in kind else "int8", opset=17, seed=4)
    low = int(np.iinfo(net.dtype).min)
    x = net.pair("x", 0.03, low + 130)
    y = net.node("Conv", [x, net.filters("w", (C, C, 1, 1))], "y")
    y = net.pair(y, 0.04, low + 90)
    if "apart" in kind:
        net.node("Identity", [net.pair(net.node("Abs", [y], "a"), 0.04, low)], "more")
    total = net.node("Sub" if "difference" in kind else "Add", [y, x], "s")
    total = net.node("Relu", [total], "r") if "relu" in kind else total
    steps = _pair(net, total, 0)
    d = net.node("Conv", [steps, net.filters("d", (C, 1, 3, 3))], "d_", group=C, pads=[1] * 4)
    d = net.pair(d, 0.02, low + 128)
    if "twice" in kind:
        again = net.pair(total, 0.05, low if "relu" in kind else low + 100)
        d = net.pair(net.node("Add", [d, again], "t"), 0.05, low + 128)
    net.node("Identity", [d], "out")
    shape = (1, C, 7, 9)
    outputs = dict.fromkeys(("out", "more") if "apart" in kind else ("out",), ("float32", shape))
    return net.model({"x": ("float32", shape)}, outputs)


SUMS = ("sum", "difference", "relu", "twice", "apart", "relu twice", "apart twice")


@pytest.mark.parametrize("kind", SUMS)
def test_sums_are_divided_by_channel_in_integers(kind: str, tmp_path: Path) -> None:
    """Without a tensor of float32 between them, every rounding of the sum in a call of its own."""
    path = onnx_models.save(summed(kind), tmp_path / "net.onnx")
    choice = choose.select(
        passes.optimise(frontend.load(path)), TARGETS["scalar"], integers=EVERY_RESULT
    )
    layers = [layer for layer in choice.layers if layer.node.op in ("Binary", "Conv")]
    assert sum(layer.algorithm == "int8_channels" for layer in layers) == 1
    inner = {name for layer in layers for name in layer.node.outputs} - {"out", "more"}
    assert all(choice.graph[name].storage.element == INT8 for name in inner)
    found = held_to_file(path, seed=3)
    assert found.wrong == []
    known = "r_cq" if "relu" in kind else "s_cq"
    assert known in found.other


def test_a_tensor_is_divided_by_channel_in_integers(tmp_path: Path) -> None:
    """One that was rounded to one scale."""
    net = Network("int8", opset=17, seed=6)
    y = net.pair("x", 0.03, 11)
    y = net.pair(net.node("AveragePool", [y], "m", kernel_shape=[2, 2]), 0.025, -3)
    d = net.node("Conv", [_pair(net, y, 0), net.filters("d", (C, 1, 3, 3))], "d_", group=C)
    net.node("Identity", [net.pair(d, 0.02, 3)], "out")
    ports = {"x": ("float32", (1, C, 6, 6))}, {"out": ("float32", (1, C, 3, 3))}
    path = onnx_models.save(net.model(*ports), tmp_path / "net.onnx")
    found = held_to_file(path, seed=1)
    assert found.wrong == []
    assert "m_q_dq_cq" in found.other


@pytest.mark.usefixtures("unoptimised")
@pytest.mark.parametrize("board", ["mps2-an386", "host"])
@pytest.mark.parametrize("kind", ["twice", "relu"])
def test_programs_divide_sums_by_channel(kind: str, board: str, tmp_path: Path) -> None:
    """And are held to their models, which are decided upon once more for that."""
    model = onnx_models.save(summed(kind), tmp_path / "net.onnx")
    compile_model(CompileOptions(model, board), tmp_path / "p")
    algorithms = [layer["algorithm"] for layer in Project.open(tmp_path / "p").report["layers"]]
    if board != "host":  # whose rates decide
        assert "int8_channels" in algorithms
    assert verify_project(tmp_path / "p", model=model).passed
