"""A network that slides gives the numbers of the whole window, in every run from the first full
one on."""

from __future__ import annotations

import re
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import helper

from edgeconv.base.errors import EdgeconvError
from edgeconv.ir.activation import Activation
from edgeconv.ir.graph import Epilogue, Graph
from edgeconv.model.frontend import load
from edgeconv.model.frontend.saving import model_of
from edgeconv.model.passes import optimise
from edgeconv.model.sliding import Slide, extended, slide
from tests import onnx_models, state_models
from tests.ir_builder import GraphBuilder
from tests.ir_interpreter import evaluate
from tests.onnx_models import save
from tests.onnx_runtime import session
from tests.quantised_models import Network
from tests.sliding import run_in_turn, states_before

ROWS = 17  # of the window of _keywords
HEADS = ("average", "dense", "last row", "rows")
GRID = Epilogue(before=Activation("grid", 0.125, -128.0, 127.0))


def _window(
    b: GraphBuilder, op: str, x: str, kernel: int, stride: int, dilation: int, pad: int
) -> str:
    """A convolution or pool along axis 2; the axes behind it keep their size."""
    n, c, rows, *rest = b.shape(x)
    size = (rows + 2 * pad - (kernel - 1) * dilation - 1) // stride + 1
    ones = (1,) * len(rest)
    attrs: dict[str, Any] = {
        "kernel": (kernel, *ones),
        "strides": (stride, *ones),
        "dilations": (dilation, *ones),
        "pads": (pad, *(0 for _ in rest)) * 2,
    }
    if op in ("max", "average"):
        return b.node(
            "Pool", (x,), (n, c, size, *rest), {**attrs, "mode": op, "count_include_pad": False}
        )
    groups = c if op == "depthwise" else 1
    w, bias = b.normal(c, c // groups, kernel, *ones), b.normal(c)
    return b.node("Conv", (x, w, bias), (n, c, size, *rest), {**attrs, "groups": groups})


@st.composite
def _networks(draw: st.DrawFn) -> tuple[Graph, int]:
    """A network over a window along axis 2, and how far its window moves."""
    b = GraphBuilder(draw(st.integers(0, 99)))
    rows, c = draw(st.integers(12, 28)), draw(st.sampled_from((1, 2, 3)))
    x = b.input(1, c, rows, *draw(st.sampled_from(((), (2,)))))
    strides = 1
    for _ in range(draw(st.integers(1, 4))):
        kernel, dilation = draw(st.sampled_from(((1, 1), (2, 1), (3, 1), (3, 2), (4, 1))))
        span = (kernel - 1) * dilation + 1
        pad = draw(st.integers(0, min(kernel - 1, span // 2)))
        op = draw(st.sampled_from(("conv", "depthwise", "max", "average", "residual", "concat")))
        if b.shape(x)[2] + 2 * pad < span + 3:
            break
        if op in ("residual", "concat"):
            kernel, dilation, pad = 3, 1, 1
            y = _window(b, "conv", x, kernel, 1, dilation, pad)
            x = b.binary("add", x, y) if op == "residual" else b.concat(1, x, y)
            continue
        stride = draw(st.sampled_from((1, 1, 2)))
        strides *= stride
        x = b.unary(_window(b, op, x, kernel, stride, dilation, pad), "relu")
    hop = draw(st.sampled_from((1, strides, 2 * strides, 2)))
    return b.graph(_headed(b, x, draw(st.sampled_from(HEADS)))), min(hop, rows)


def _headed(b: GraphBuilder, x: str, head: str) -> str:
    n, _, rows, *rest = b.shape(x)
    if head == "average":
        return b.reduce(x, "mean", *range(2, 3 + len(rest)))
    if head == "dense":
        flat = b.reshape(x, n, int(np.prod(b.shape(x))))
        return b.dense(flat, 3)
    return b.slice(x, 2, rows - 1, 1) if head == "last row" else x


def _held_to_windows(graph: Graph, whole: Graph, made: Graph, hop: int, window: int) -> None:
    """The runs of ``made`` give the newest rows of what ``whole`` makes of each full window."""
    (name,), runs = graph.inputs, -(-window // hop) + 7
    shape = list(whole[name].shape)
    shape[2] = runs * hop
    stream = np.random.default_rng(3).integers(-40, 40, shape) / 8
    fresh = np.stack(np.split(stream, runs, axis=2))
    results = run_in_turn(made, {name: fresh}, runs)
    full = 0
    for run, (got, *_) in enumerate(results, 1):
        if run * hop < window:
            continue
        rows = range(run * hop - whole[name].shape[2], run * hop)
        if rows[0] < 0:
            continue
        want = evaluate(whole, {name: np.take(stream, rows, axis=2)})[whole.outputs[0]]
        if want.ndim > 2:
            want = want[:, :, -got.shape[2] :]
        np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-9)
        full += 1
    assert full >= 7


def _slid(graph: Graph, hop: int, *, endless: bool) -> tuple[Graph, int] | None:
    """None where rows are never where others were."""
    slides = {graph.inputs[0]: Slide(2, hop)}
    try:
        made = slide(graph, slides, endless=endless)
    except EdgeconvError:
        with pytest.raises(EdgeconvError, match="none is where one was before"):
            slide(graph, slides, endless=endless)
        return None
    return made.graph, made.windows[graph.inputs[0]]


@settings(max_examples=20, deadline=None)
@given(_networks())
def test_borders_are_those_of_each_window(drawn: tuple[Graph, int]) -> None:
    graph, hop = drawn
    if made := _slid(graph, hop, endless=False):
        assert made[1] <= graph[graph.inputs[0]].shape[2]
        _held_to_windows(graph, graph, made[0], hop, graph[graph.inputs[0]].shape[2])


@settings(max_examples=20, deadline=None)
@given(_networks())
def test_an_endless_stream_has_no_borders(drawn: tuple[Graph, int]) -> None:
    graph, hop = drawn
    if made := _slid(graph, hop, endless=True):
        whole = extended(graph, {graph.inputs[0]: Slide(2, hop)})
        assert whole[graph.inputs[0]].shape[2] == made[1]
        _held_to_windows(graph, whole, optimise(made[0]), hop, made[1])


def test_an_endless_stream_reads_rows_where_windows_have_padding() -> None:
    """What is computed of a larger window is what layers without padding make of it."""

    def network(rows: int, pad: int) -> Graph:
        b = GraphBuilder(seed=4)
        x = b.input(1, 3, rows)
        x = b.unary(_window(b, "conv", x, 5, 2, 1, 2 * pad), "relu")
        x = _window(b, "average", _window(b, "depthwise", x, 3, 1, 2, 2 * pad), 3, 1, 1, pad)
        return b.graph(b.reduce(_window(b, "max", x, 2, 1, 1, 0), "mean", 2))

    padded, whole = network(24, 1), extended(network(24, 1), {"in0": Slide(2, 1)})
    plain = network(whole["in0"].shape[2], 0)
    assert whole["in0"].shape[2] > padded["in0"].shape[2]
    x = {"in0": np.random.default_rng(7).normal(size=whole["in0"].shape)}
    (want,), (got,) = (
        [evaluate(graph, x)[name] for name in graph.outputs] for graph in (plain, whole)
    )
    np.testing.assert_allclose(got, want, rtol=1e-9)


def test_integers_are_those_of_each_window(tmp_path: Path) -> None:
    """The saved network of new rows gives the very integers of the model, as the same engine has
    them, whose window has padding of its own; states keep as few bits, and of what is averaged
    sums."""
    model = _keywords()
    path = save(model, tmp_path / "keywords.onnx")
    graph = optimise(load(path))
    made = optimise(slide(graph, {"x": Slide(1, 1)}).graph)
    kept = states_before(made)
    begun = {(str(values.dtype), int(values.ravel()[0])) for values in kept.values()}
    # Of the input, of results of Relu, and sums of rows.
    assert begun == {("int8", 3), ("int8", -128), ("int16", 0)}
    whole, slid = (session(each, optimised=False) for each in (model, model_of(made)))
    stream = np.random.default_rng(2).integers(-128, 128, (1, 40, 4, 1)).astype(np.int8)
    names, answers = [output.name for output in slid.get_outputs()], set()
    for row in range(stream.shape[1]):
        given = {"x": stream[:, row : row + 1], **kept}
        found = dict(zip(names, slid.run(names, given), strict=True))
        kept = {state.input: found[state.output] for state in made.states}
        if row + 1 >= ROWS:
            (want,) = whole.run(None, {"x": stream[:, row + 1 - ROWS : row + 1]})
            np.testing.assert_array_equal(found["y"], want)
            answers.add(want.tobytes())
    assert len(answers) > 20  # it tells windows apart


@st.composite
def _recurrences(draw: st.DrawFn) -> tuple[onnx.ModelProto, int, int]:
    """Causal convolutions along time around a GRU or an LSTM, of which steps or the last state are
    read; how far its window moves, of how many rows."""
    b, rows, hop = state_models.Builder(), draw(st.integers(6, 12)), draw(st.integers(1, 4))
    channels, units = draw(st.integers(1, 3)), draw(st.integers(1, 4))
    x, kernel = "x", draw(st.sampled_from((0, 2, 3)))
    if kernel:
        filters = b.weight(channels, channels, kernel), b.weight(channels)
        x = b("Relu", b("Conv", x, *filters, pads=[kernel - 1, 0]))
    x = b("Transpose", x, perm=[2, 0, 1])
    op, head = (
        draw(st.sampled_from(("GRU", "LSTM"))),
        draw(st.sampled_from(("steps", "last", "both"))),
    )
    begun = [b.weight(1, 1, units) for _ in range(draw(st.integers(0, 1 + (op == "LSTM"))))]
    number = {"GRU": 3, "LSTM": 4}[op] * units
    weights = b.weight(1, number, channels), b.weight(1, number, units), b.weight(1, 2 * number)
    reads = [x, *weights, *([""] if begun else []), *begun]
    b.nodes.append(helper.make_node(op, reads, ["steps", "last"], "cells", hidden_size=units))
    results = {"steps": ("steps",), "last": ("last",), "both": ("steps", "last")}[head]
    if "steps" in results:
        flat = b("Transpose", b("Squeeze", "steps", b.value(np.array([1]))), perm=[1, 2, 0])
        b("Conv", flat, b.weight(2, units, 2), pads=[1, 0], to="y")
    if "last" in results:
        b("Tanh", b("Squeeze", "last", b.value(np.array([0]))), to="z")
    made = [{"steps": "y", "last": "z"}[each] for each in results]
    model = onnx_models.model(
        b.nodes, {"x": (1, channels, rows * hop)}, dict.fromkeys(made), b.constants
    )
    return model, hop, rows


@settings(max_examples=10, deadline=None)
@given(_recurrences())
def test_recurrent_layers_carry_their_state(drawn: tuple[onnx.ModelProto, int, int]) -> None:
    """From the first run on results are those of the model on all rows that have come in."""
    model, hop, runs = drawn
    with TemporaryDirectory() as folder:
        graph = optimise(load(save(model, Path(folder) / "net.onnx")))
    slid = slide(graph, {"x": Slide(2, hop)}, endless=True)
    assert slid.carried == ("cells",)
    made = optimise(slid.graph)
    stream = np.random.default_rng(5).normal(size=graph["x"].shape).astype(np.float32)
    engine, kept = session(model_of(made), optimised=False), states_before(made)
    names, found = [output.name for output in engine.get_outputs()], []
    for rows in np.split(stream, runs, axis=2):
        found.append(dict(zip(names, engine.run(names, {"x": rows, **kept}), strict=True)))
        kept = {state.input: found[-1][state.output] for state in made.states}
    want = session(model, optimised=False).run(list(graph.outputs), {"x": stream})
    for name, rows in zip(graph.outputs, want, strict=True):
        every = [each[name] for each in found]
        got = np.concatenate(every, axis=2) if name == "y" else every[-1]
        np.testing.assert_allclose(got, rows, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("attrs", "endless", "rule"),
    [
        ({}, False, "it begins anew in each window; --stream-borders stream carries its state"),
        ({"direction": "reverse"}, True, "it reads the window backwards"),
        ({"direction": "bidirectional"}, True, "it reads the window backwards"),
    ],
)
def test_recurrent_layers_that_cannot_slide(
    attrs: dict[str, Any], endless: bool, rule: str, tmp_path: Path
) -> None:
    b = state_models.Builder()
    count = 1 + (attrs.get("direction") == "bidirectional")
    reads = ["x", b.weight(count, 6, 3), b.weight(count, 6, 2)]
    b.nodes.append(helper.make_node("GRU", reads, ["y"], "cells", hidden_size=2, **attrs))
    model = onnx_models.model(b.nodes, {"x": (7, 1, 3)}, {"y": None}, b.constants)
    graph = optimise(load(save(model, tmp_path / "net.onnx")))
    with pytest.raises(EdgeconvError, match=re.escape(rule)) as raised:
        slide(graph, {"x": Slide(0, 1)}, endless=endless)
    assert "cells" in raised.value.where


def _keywords() -> onnx.ModelProto:
    """Convolutions with padding along time, one of stride 2, and an average over all of it."""
    net = Network(seed=1)
    x = net.dequantise("x", 0.5, 3)
    x = net.node("Transpose", [x], "turned", perm=[0, 3, 1, 2])
    for name, shape, scale, attrs in (
        ("first", (8, 1, 5, 3), 0.5, {"strides": [2, 1], "pads": [2, 1, 2, 1]}),
        ("depthwise", (8, 1, 3, 3), 0.6, {"group": 8, "pads": [1, 1, 1, 1]}),
        ("pointwise", (8, 8, 1, 1), 0.7, {}),
    ):
        x = net.node("Conv", [x, net.filters(name, shape)], f"{name}_sum", **attrs)
        x = net.pair(net.node("Relu", [x], f"{name}_relu"), scale, -128)
    x = net.pair(net.node("GlobalAveragePool", [x], "average"), 0.0917, -128)
    x = net.node("Flatten", [x], "flat")
    x = net.node("Gemm", [x, net.filters("dense", (6, 8))], "logits", transB=1)
    net.node("Identity", [net.quantise(x, 0.02, 0)], "y")
    return net.model({"x": ("int8", (1, ROWS, 4, 1))}, {"y": ("int8", (1, 6))})


@pytest.mark.parametrize(
    ("layer", "rule"),
    [
        ("softmax", "every row depends on all rows of the window"),
        ("attention", "as in attention"),
        ("reversed", "reverses the order of rows"),
        ("whole", "was computed of the whole window"),
        ("positions", "has another value for each row of the window"),
    ],
)
def test_a_layer_that_needs_the_whole_window_is_named(layer: str, rule: str) -> None:
    b = GraphBuilder()
    x = b.input(1, 12, 4)
    made = {
        "softmax": lambda: b.node("Softmax", (x,), (1, 12, 4), {"axis": 1, "log": False}),
        "attention": lambda: b.node("MatMul", (x, b.transpose(x, 0, 2, 1)), (1, 12, 12)),
        "reversed": lambda: b.slice(x, 1, 11, 12, -1),
        "whole": lambda: b.binary("mul", x, b.reduce(x, "mean", 1)),
        "positions": lambda: b.binary("add", x, b.normal(12, 4)),
    }[layer]()
    with pytest.raises(EdgeconvError) as raised:
        slide(b.graph(made), {x: Slide(1, 1)})
    assert rule in str(raised.value)
    assert f"n{len(b.nodes) - 1}" in raised.value.where


@pytest.mark.parametrize(
    ("name", "axis", "hop", "rule"),
    [
        ("other", 2, 1, "names an input of the model"),
        ("in0", 3, 1, "has the shape [1, 2, 12]"),
        ("in0", 2, 13, "moves by 1 or more of them"),
        ("in0", 2, 0, "moves by 1 or more of them"),
    ],
)
def test_a_window_that_is_not_there_is_refused(name: str, axis: int, hop: int, rule: str) -> None:
    b = GraphBuilder()
    graph = b.graph(b.conv(b.input(1, 2, 12), 3, 3))
    with pytest.raises(EdgeconvError, match=re.escape(rule)):
        slide(graph, {name: Slide(axis, hop)})


def test_strides_that_rows_do_not_fit_say_what_would_do() -> None:
    b = GraphBuilder()
    x = b.conv(b.input(1, 2, 24), 3, 3, stride=3)
    graph = b.graph(b.conv(x, 3, 3))
    with pytest.raises(EdgeconvError, match="k times 3 would do"):
        slide(graph, {"in0": Slide(2, 2)})
    assert slide(graph, {"in0": Slide(2, 6)}).graph.states
    assert slide(graph, {"in0": Slide(2, 1)}).graph.states
