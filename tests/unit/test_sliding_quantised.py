"""Random networks in the QDQ format over windows that slide: the very integers of whole windows."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeconv.base.errors import EdgeconvError
from edgeconv.ir.graph import Graph
from edgeconv.model.frontend import load
from edgeconv.model.frontend.saving import model_of
from edgeconv.model.passes import optimise
from edgeconv.model.sliding import Slid, Slide, extended, slide
from tests.onnx_models import save
from tests.onnx_runtime import session
from tests.quantised_models import Network
from tests.sliding import states_before

RUNS = 6  # that are compared
KINDS = ("conv", "depthwise", "max", "average", "residual", "concat")


class _Stack:
    """Layers along the rows of a window, each rounded to a grid of its own.  Scales are powers of
    two, so that float32 has every sum exactly, in whichever order."""

    def __init__(self, draw: st.DrawFn) -> None:
        self.draw = draw
        self.net = Network(seed=draw(st.integers(0, 99)), scales_as="powers")
        self.channels, self.rows = draw(st.sampled_from((2, 3, 4))), draw(st.integers(12, 26))
        self.shape = (1, self.channels, self.rows)
        self.x, self.strides, self.count = self.net.dequantise("x", 0.0625, self.zero()), 1, 0

    def zero(self) -> int:
        return self.draw(st.sampled_from((-128, -7, 0, 3, 127)))

    def rounded(self, x: str, scale: float) -> str:
        if self.draw(st.booleans()):
            x = self.net.node("Relu", [x], f"{x}_relu")
        return self.net.pair(x, scale, self.zero())

    def add(self, kind: str) -> bool:
        """One more layer; whether the window is long enough for it."""
        draw, name, net = self.draw, f"l{self.count}", self.net
        kernel, dilation = draw(st.sampled_from(((1, 1), (2, 1), (3, 1), (3, 2), (4, 1))))
        stride = draw(st.sampled_from((1, 1, 2)))
        if kind in ("residual", "concat"):
            kernel, dilation, stride = 3, 1, 1
        span = (kernel - 1) * dilation + 1
        same = kind in ("residual", "concat")
        front, back = (1, 1) if same else (draw(st.integers(0, kernel - 1)) for _ in range(2))
        if kind in ("max", "average"):
            dilation, span, front, back = 1, kernel, 0, 0
        if self.rows + front + back < span + 3:
            return False
        attrs: dict[str, Any] = {"strides": [stride], "pads": [front, back]}
        self.count += 1
        if kind in ("max", "average"):
            op = {"max": "MaxPool", "average": "AveragePool"}[kind]
            made = net.node(op, [self.x], name, kernel_shape=[kernel], **attrs)
        else:
            groups = self.channels if kind == "depthwise" else 1
            w = net.filters(f"{name}_w", (self.channels, self.channels // groups, kernel))
            more = {"dilations": [dilation], "group": groups}
            made = net.node("Conv", [self.x, w], name, **attrs, **more)
        self.rows = (self.rows + front + back - span) // stride + 1
        self.strides *= stride
        made = self.rounded(made, 0.125)
        if kind == "residual":
            made = self.rounded(net.node("Add", [made, self.x], f"{name}_sum"), 0.25)
        if kind == "concat":
            made = self.rounded(net.node("Concat", [made, self.x], f"{name}_all", axis=1), 0.25)
            self.channels *= 2
        self.x = made
        return True

    def model(self, head: str) -> onnx.ModelProto:
        net = self.net
        shape: tuple[int, ...] = (1, self.channels, self.rows)
        if head == "average":
            pooled = net.pair(net.node("GlobalAveragePool", [self.x], "pooled"), 0.125, 0)
            self.x, shape = net.node("Flatten", [pooled], "flat"), (1, self.channels)
        elif head == "dense":
            flat = net.node("Flatten", [self.x], "flat")
            w = net.filters("dense", (3, self.channels * self.rows))
            self.x, shape = net.node("Gemm", [flat, w], "logits", transB=1), (1, 3)
        net.node("Identity", [net.quantise(self.x, 0.125, self.zero())], "y")
        return net.model({"x": ("int8", self.shape)}, {"y": ("int8", shape)})


@st.composite
def _networks(draw: st.DrawFn) -> tuple[onnx.ModelProto, int]:
    """A network over a window along axis 2, and how far its window moves."""
    stack = _Stack(draw)
    for kind in draw(st.lists(st.sampled_from(KINDS), min_size=1, max_size=4)):
        if not stack.add(kind):
            break
    hop = draw(st.sampled_from((1, stack.strides, 2 * stack.strides, 2)))
    return stack.model(draw(st.sampled_from(("average", "dense", "rows")))), min(
        hop, stack.shape[2]
    )


@settings(max_examples=12, deadline=None)
@given(_networks(), st.booleans())
def test_integers_are_those_of_whole_windows(
    drawn: tuple[onnx.ModelProto, int], endless: bool
) -> None:
    model, hop = drawn
    with TemporaryDirectory() as folder:
        graph = optimise(load(save(model, Path(folder) / "net.onnx")))
    slides = {"x": Slide(2, hop)}
    slid = _slid(graph, slides, endless=endless)
    if slid is None:
        return
    assert all(_of_integers(slid.graph, state.input) for state in slid.graph.states)
    whole = model_of(extended(graph, slides)) if endless else model
    window = slid.windows["x"] if endless else graph["x"].shape[2]
    _held(optimise(slid.graph), whole, hop, window)


def _slid(graph: Graph, slides: dict[str, Slide], *, endless: bool) -> Slid | None:
    """None where rows are never where others were."""
    try:
        return slide(graph, slides, endless=endless)
    except EdgeconvError:
        with pytest.raises(EdgeconvError, match="none is where one was before"):
            slide(graph, slides, endless=endless)
        return None


def _of_integers(graph: Graph, name: str) -> bool:
    """Whether a state has the integers of its tensor."""
    return graph[name].dtype in ("int8", "int16")


def _held(made: Graph, whole: onnx.ModelProto, hop: int, window: int) -> None:
    """The runs of ``made`` give the newest rows of what ``whole`` makes of each full window."""
    kept, of_windows, of_rows = (
        states_before(made),
        session(whole, optimised=False),
        session(model_of(made), optimised=False),
    )
    names = [output.name for output in of_rows.get_outputs()]
    full = -(-window // hop)
    shape = (1, made["x"].shape[1], (full + RUNS) * hop)
    stream = np.random.default_rng(1).integers(-128, 128, shape).astype(np.int8)
    for run in range(1, full + RUNS + 1):
        given = {"x": stream[:, :, (run - 1) * hop : run * hop], **kept}
        found = dict(zip(names, of_rows.run(names, given), strict=True))
        kept = {state.input: found[state.output] for state in made.states}
        if run * hop < window:
            continue
        rows = stream[:, :, run * hop - window : run * hop]
        (want,) = of_windows.run(["y"], {"x": rows})
        if want.ndim > 2:
            want = want[:, :, -found["y"].shape[2] :]
        np.testing.assert_array_equal(found["y"], want)
