"""A network that slides gives the numbers of the whole window, in every run from the first full
one on."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeconv.base.errors import EdgeconvError
from edgeconv.ir.activation import Activation
from edgeconv.ir.graph import Epilogue, Graph
from edgeconv.model.passes import optimise
from edgeconv.model.sliding import Slide, extended, slide
from tests.ir_builder import GraphBuilder
from tests.ir_interpreter import evaluate
from tests.sliding import run_in_turn

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


@settings(max_examples=25, deadline=None)
@given(_networks())
def test_borders_are_those_of_each_window(drawn: tuple[Graph, int]) -> None:
    graph, hop = drawn
    if made := _slid(graph, hop, endless=False):
        assert made[1] <= graph[graph.inputs[0]].shape[2]
        _held_to_windows(graph, graph, made[0], hop, graph[graph.inputs[0]].shape[2])


@settings(max_examples=25, deadline=None)
@given(_networks())
def test_an_endless_stream_has_no_borders(drawn: tuple[Graph, int]) -> None:
    graph, hop = drawn
    if made := _slid(graph, hop, endless=True):
        whole = extended(graph, {graph.inputs[0]: Slide(2, hop)})
        assert whole[graph.inputs[0]].shape[2] == made[1]
        _held_to_windows(graph, whole, made[0], hop, made[1])
        _held_to_windows(graph, whole, optimise(made[0]), hop, made[1])
