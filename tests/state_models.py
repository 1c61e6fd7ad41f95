"""Networks that keep states, each with the outputs that are inputs of the next run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import helper

from tests import onnx_models

Array = npt.NDArray[Any]
_LAST = 2**31 - 1


class Builder:
    """A model, node by node; weights are seeded."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.constants: dict[str, Array] = {}
        self.rng = np.random.default_rng(35)

    def weight(self, *shape: int) -> str:
        return self.value((self.rng.standard_normal(shape) * 0.4).astype(np.float32))

    def value(self, array: Array) -> str:
        name = f"c{len(self.constants)}"
        self.constants[name] = array
        return name

    def __call__(self, op: str, *reads: str, to: str = "", **attrs: Any) -> str:
        name = to or f"t{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, reads, [name], f"{op}_{name}", **attrs))
        return name

    def cell(self, op: str, x: str, states: tuple[str, ...], sizes: tuple[int, int]) -> str:
        """A recurrent layer of one step; its new states are called ``<state>_next``."""
        units, channels = sizes
        rows = {"GRU": 3, "LSTM": 4}[op] * units
        weights = self.weight(1, rows, channels), self.weight(1, rows, units)
        reads = [x, *weights, self.weight(1, 2 * rows), "", *states]
        y = f"y_{states[0]}"
        outputs = [y, *(f"{state}_next" for state in states)]
        attrs: dict[str, Any] = {"linear_before_reset": 1} if op == "GRU" else {}
        node = helper.make_node(op, reads, outputs, f"{op}_{y}", hidden_size=units, **attrs)
        self.nodes.append(node)
        return y

    def window(self, state: str, x: str, axis: int) -> str:
        """``state`` with ``x`` behind it, of which as much as the state is kept."""
        whole = self("Concat", state, x, axis=axis)
        ends = (self.value(np.array([end], np.int64)) for end in (1, _LAST, axis))
        self("Slice", whole, *ends, to=f"{state}_next")
        return whole

    def model(self, inputs: dict[str, tuple[int, ...]], *outputs: str) -> onnx.ModelProto:
        shapes = dict.fromkeys(outputs) | {f"{s}_next": d for s, d in inputs.items() if s != "x"}
        return onnx_models.model(self.nodes, inputs, shapes, self.constants)


@dataclass(frozen=True)
class Stateful:
    """``states``: as ``--state`` takes them, of the inputs that begin with s."""

    model: onnx.ModelProto

    @property
    def states(self) -> tuple[tuple[str, str], ...]:
        names = [value.name for value in self.model.graph.input]
        return tuple((f"{name}_next", name) for name in names if name.startswith("s"))

    def saved(self, folder: Path) -> Path:
        """Its file."""
        onnx.save(self.model, folder / "net.onnx")
        return folder / "net.onnx"


def recurrent() -> Stateful:
    """A GRU, then an LSTM, then a dense layer."""
    b = Builder()
    first = b("Reshape", b.cell("GRU", "x", ("s0",), (12, 6)), b.value(np.array([1, 1, 12])))
    second = b.cell("LSTM", first, ("s1", "s2"), (9, 12))
    flat = b("Reshape", second, b.value(np.array([1, 9])))
    b("Gemm", flat, b.weight(5, 9), b.weight(5), to="y", transB=1)
    states = {"s0": (1, 1, 12), "s1": (1, 1, 9), "s2": (1, 1, 9)}
    return Stateful(b.model({"x": (1, 1, 6), **states}, "y"))


def causal(channels: int = 8, kernel: int = 3) -> Stateful:
    """A temporal convolutional network: dilated causal convolutions, each over a window that
    moves by one, with residuals."""
    b, x, states = Builder(), "x", {}
    for number, dilation in enumerate((1, 2, 4)):
        states[f"s{number}"] = (1, channels, (kernel - 1) * dilation)
        whole = b.window(f"s{number}", x, 2)
        filters = b.weight(channels, channels, kernel), b.weight(channels)
        made = b("Relu", b("Conv", whole, *filters, dilations=[dilation]))
        x = b("Add", made, x, to="y" if dilation == 4 else "")
    return Stateful(b.model({"x": (1, channels, 1), **states}, "y"))


def enhancer(channels: int = 8, bands: int = 16) -> Stateful:
    """Like GTCRN: convolutions over frames kept from before and bands, a GRU between them."""
    b, c = Builder(), channels
    frames = b.window("s0", "x", 2)
    filters = b.weight(c, 2, 3, 5), b.weight(c)
    made = b("PRelu", b("Conv", frames, *filters, strides=[1, 2], pads=[0, 2, 0, 2]), b.weight(1))
    deeper = b.window("s1", made, 2)
    made = b(
        "Relu", b("Conv", deeper, b.weight(c, 1, 3, 3), b.weight(c), group=c, pads=[0, 1, 0, 1])
    )
    flat = b("Reshape", made, b.value(np.array([1, 1, c * bands // 2])))
    cell = b.cell("GRU", flat, ("s2",), (c * bands // 2, c * bands // 2))
    folded = b("Add", b("Reshape", cell, b.value(np.array([1, c, 1, bands // 2]))), made)
    up = b("ConvTranspose", folded, b.weight(c, 2, 1, 2), b.weight(2), strides=[1, 2])
    b("Mul", b("Tanh", up), "x", to="y")
    states = {"s0": (1, 2, 2, bands), "s1": (1, c, 2, bands // 2), "s2": (1, 1, c * bands // 2)}
    return Stateful(b.model({"x": (1, 2, 1, bands), **states}, "y"))


def crossing() -> Stateful:
    """States that swap places, one that nothing reads but itself, one that is an input, one that
    is as it was."""
    b = Builder()
    b("Identity", "s1", to="s0_next")
    b("Identity", "s0", to="s1_next")
    b("Add", "s2", "x", to="s2_next")
    b("Identity", "x", to="s3_next")
    b("Identity", "s4", to="s4_next")
    b("Sub", b("Add", "s0", b("Mul", "s3", b("Sigmoid", "s1"))), "s4", to="y")
    return Stateful(b.model({"x": (1, 5), **{f"s{i}": (1, 5) for i in range(5)}}, "y"))


def quantised(channels: int = 8) -> Stateful:
    """A convolution over a window, in QDQ form: the state is on the window's grid at both ends."""
    b, grid = Builder(), (0.031, 5)

    def rounded(x: str, scale: float, zero: int, to: str = "") -> str:
        on = b.value(np.array(scale, np.float32)), b.value(np.array(zero, np.int8))
        return b("DequantizeLinear", b("QuantizeLinear", x, *on), *on, to=to)

    whole = rounded(b("Concat", rounded("s0", *grid), rounded("x", *grid), axis=2), *grid)
    ends = (b.value(np.array([end], np.int64)) for end in (1, _LAST, 2))
    rounded(b("Slice", whole, *ends), *grid, to="s0_next")
    filters = b.rng.integers(-127, 128, (channels, channels, 3, 1)).astype(np.int8)
    on = b.value(np.array(0.01, np.float32)), b.value(np.array(0, np.int8))
    w = b("DequantizeLinear", b.value(filters), *on)
    made = b("Relu", b("Conv", whole, w, b.weight(channels)))
    b("Identity", rounded(made, 0.05, -128), to="y")
    return Stateful(b.model({"x": (1, channels, 1, 1), "s0": (1, channels, 2, 1)}, "y"))


NETWORKS: dict[str, Callable[[], Stateful]] = {
    "recurrent": recurrent,
    "causal": causal,
    "enhancer": enhancer,
    "crossing": crossing,
    "quantised": quantised,
}
