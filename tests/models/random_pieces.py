"""Random networks of one to four pieces side by side, each with states of random types and shapes.

A piece has an input, an output and one state or two of its own: a window that moves, sums, maxima,
states that swap, a recurrent cell, a convolution of what it made before.  Values are of float32, or
on grids of int8, uint8 or int16, whose states are declared as integers or as the float32 in between
a rounding to the same grid on either side.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper, numpy_helper

from tests.quantised_models import TYPES

Values = npt.NDArray[Any]
Shape = tuple[int, ...]
Pair = tuple[str, str]  # an output and the input that it is in the next run
_OPSET = 21  # the first one that rounds to int16
MOST_PIECES = 4
_END = 2**31 - 1


@dataclass(frozen=True)
class Grid:
    """Of the real numbers that integers stand for."""

    dtype: str
    scale: float
    zero: int


@dataclass
class State:
    """``read``: the real numbers of the run before; ``name``: its input."""

    name: str
    read: str
    grid: Grid | None
    is_integer: bool


class Pieces:
    """A network in the making; ``states`` and what they are at first, where that is not zeros."""

    def __init__(self, seed: int) -> None:
        self.random, self.rng = random.Random(seed), np.random.default_rng(seed)
        self.nodes: list[onnx.NodeProto] = []
        self.constants: dict[str, Values] = {}
        self.inputs: list[onnx.ValueInfoProto] = []
        self.outputs: list[onnx.ValueInfoProto] = []
        self.states: list[Pair] = []
        self.initial: dict[str, Values] = {}
        self.kinds: list[str] = []

    def model(self) -> onnx.ModelProto:
        constants = [numpy_helper.from_array(v, name) for name, v in self.constants.items()]
        graph = helper.make_graph(self.nodes, "pieces", self.inputs, self.outputs, constants)
        opsets = [helper.make_opsetid("", _OPSET)]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=10)
        onnx.checker.check_model(model, full_check=True)
        return model

    def node(self, op: str, *reads: str, to: str = "", **attrs: Any) -> str:
        name = to or f"t{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, reads, [name], f"{op}_{len(self.nodes)}", **attrs))
        return name

    def value(self, array: Any) -> str:
        name = f"c{len(self.constants)}"
        self.constants[name] = np.asarray(array)
        return name

    def weight(self, *shape: int) -> str:
        fan_in = float(np.prod(shape[1:])) or 1.0
        return self.value((self.rng.standard_normal(shape) / fan_in**0.5).astype(np.float32))

    def grid(self) -> Grid | None:
        """None: float32."""
        dtype = self.random.choice(["float32", "int8", "int8", "uint8", "int16"])
        if dtype == "float32":
            return None
        if dtype == "int16":
            return Grid(dtype, self.random.choice([1 / 4096, 1 / 3000]), 0)
        low = int(np.iinfo(dtype).min)
        zero = low + self.random.choice([0, 128, 255, self.random.randrange(256)])
        return Grid(dtype, self.random.choice([1 / 32, 0.0373, 0.021]), zero)

    def shape(self, rank: int = 0) -> Shape:
        rank = rank or self.random.randint(2, 4)
        return 1, *(self.random.randint(1, 6) for _ in range(rank - 1))

    def quantised(self, x: str, grid: Grid, to: str = "") -> str:
        return self.node("QuantizeLinear", x, *self._of(grid), to=to)

    def real(self, q: str, grid: Grid, to: str = "") -> str:
        return self.node("DequantizeLinear", q, *self._of(grid), to=to)

    def _of(self, grid: Grid) -> tuple[str, str]:
        zero = np.array(grid.zero, grid.dtype)
        return self.value(np.array(grid.scale, np.float32)), self.value(zero)

    def rounded(self, x: str, grid: Grid | None) -> str:
        return x if grid is None else self.real(self.quantised(x, grid), grid)

    def input(self, shape: Shape, grid: Grid | None) -> str:
        """The real numbers of a new input, on the grid."""
        name = f"x{len(self.inputs)}"
        integer = grid is not None and self.random.random() < 0.7
        self._declare(self.inputs, name, shape, grid if integer else None)
        if grid is None:
            return name
        return self.real(name, grid) if integer else self.rounded(name, grid)

    def output(self, x: str, shape: Shape, grid: Grid | None) -> None:
        name = f"y{len(self.outputs)}"
        self._declare(self.outputs, name, shape, grid)
        if grid is None:
            self.node("Identity", x, to=name)
        else:
            self.quantised(x, grid, to=name)

    def state(self, shape: Shape, grid: Grid | None) -> State:
        name = f"s{len(self.states)}"
        integer = grid is not None and self.random.random() < 0.6
        self._declare(self.inputs, name, shape, grid if integer else None)
        self._declare(self.outputs, f"{name}.next", shape, grid if integer else None)
        self.states.append((f"{name}.next", name))
        if grid is None:
            read = name
        else:
            read = self.real(name, grid) if integer else self.rounded(name, grid)
        self._begin(name, shape, grid, integer)
        return State(name, read, grid, integer)

    def _begin(self, name: str, shape: Shape, grid: Grid | None, integer: bool) -> None:
        """Its initial value; integers begin as zeros where nobody says what."""
        if self.random.random() < 0.5:
            return
        if grid is None:
            self.initial[name] = self.rng.standard_normal(shape).astype(np.float32)
            return
        info = np.iinfo(grid.dtype)
        q = self.rng.integers(info.min, info.max, shape, endpoint=True)
        real = (q - grid.zero).astype(np.float32) * np.float32(grid.scale)
        self.initial[name] = q.astype(grid.dtype) if integer else real

    def keep(self, state: State, x: str) -> None:
        """What the state is in the next run."""
        to = f"{state.name}.next"
        if state.grid is None:
            self.node("Identity", x, to=to)
        elif state.is_integer:
            self.quantised(x, state.grid, to=to)
        else:
            self.real(self.quantised(x, state.grid), state.grid, to=to)

    def part(self, x: str, axis: int, first: int, end: int) -> str:
        ends = (self.value(np.array([each], np.int64)) for each in (first, end, axis))
        return self.node("Slice", x, *ends)

    def _declare(
        self, ports: list[onnx.ValueInfoProto], name: str, shape: Shape, grid: Grid | None
    ) -> None:
        kind = TensorProto.FLOAT if grid is None else TYPES[grid.dtype]
        ports.append(helper.make_tensor_value_info(name, kind, shape))


def window(net: Pieces) -> None:
    """New rows behind kept ones along some axis; all of it is read, or the first rows."""
    shape, grid = net.shape(), net.grid()
    axis, kept = net.random.randrange(1, len(shape)), net.random.randint(1, 4)
    x, state = net.input(shape, grid), net.state(_along(shape, axis, kept), grid)
    whole = net.rounded(net.node("Concat", state.read, x, axis=axis), grid)
    net.keep(state, net.part(whole, axis, shape[axis], _END))
    if net.random.random() < 0.4:
        net.output(net.part(whole, axis, 0, shape[axis]), shape, grid)
        return
    size = kept + shape[axis]
    axes = net.value(np.array([axis], np.int64))
    op = net.random.choice(["ReduceMax", "ReduceMean"])
    net.output(net.node(op, whole, axes, keepdims=1), _along(shape, axis, 1), grid)
    if net.random.random() < 0.3:
        net.output(net.node("Relu", whole), _along(shape, axis, size), grid)


def convolution(net: Pieces) -> None:
    """A convolution over a window of rows, its filters of int8 where the window is of integers."""
    grid, channels, out = net.grid(), net.random.randint(1, 9), net.random.randint(1, 9)
    rows, kernel = net.random.randint(1, 3), net.random.randint(2, 4)
    width = net.random.randint(1, 3)
    x = net.input((1, channels, rows, width), grid)
    state = net.state((1, channels, kernel - 1, width), grid)
    whole = net.rounded(net.node("Concat", state.read, x, axis=2), grid)
    net.keep(state, net.part(whole, 2, rows, _END))
    depthwise = net.random.random() < 0.3
    filters = (channels, 1, kernel, 1) if depthwise else (out, channels, kernel, 1)
    w = _filters(net, filters) if grid else net.weight(*filters)
    y = net.node("Conv", whole, w, net.weight(filters[0]), group=channels if depthwise else 1)
    made = None if grid is None else Grid(grid.dtype, 2 * grid.scale, grid.zero)
    net.output(net.node("Relu", y), (1, filters[0], rows, width), made)


def _filters(net: Pieces, shape: Shape) -> str:
    values = net.rng.integers(-127, 128, shape).astype(np.int8)
    scale = net.rng.uniform(0.5, 1.5, shape[0]) / (127 * np.prod(shape[1:]) ** 0.5)
    zeros = net.value(np.zeros(shape[0], np.int8))
    return net.node(
        "DequantizeLinear", net.value(values), net.value(scale.astype(np.float32)), zeros, axis=0
    )


def leaky(net: Pieces) -> None:
    """Half of what was, and the input."""
    shape, grid = net.shape(), net.grid()
    x, state = net.input(shape, grid), net.state(shape, grid)
    half = net.rounded(net.node("Mul", state.read, net.value(np.float32(0.5))), grid)
    total = net.rounded(net.node("Add", *_either(net, half, x)), grid)
    net.keep(state, total)
    net.output(total, shape, grid)


def largest(net: Pieces) -> None:
    """The largest number so far; what it was before is asked for as well."""
    shape, grid = net.shape(), net.grid()
    x, state = net.input(shape, grid), net.state(shape, grid)
    most = net.rounded(net.node("Max", *_either(net, state.read, x)), grid)
    net.keep(state, most)
    net.output(net.rounded(net.node("Add", most, state.read), grid), shape, grid)


def swapped(net: Pieces) -> None:
    """Two states that take each other's place, one with the input on the way."""
    shape, grid = net.shape(), net.grid()
    x, first, second = net.input(shape, grid), net.state(shape, grid), net.state(shape, grid)
    net.keep(first, net.rounded(net.node("Max", second.read, x), grid))
    net.keep(second, first.read)
    net.output(second.read, shape, grid)


def delayed(net: Pieces) -> None:
    """The input of the run before, or of two runs before."""
    shape, grid = net.shape(), net.grid()
    x, state = net.input(shape, grid), net.state(shape, grid)
    net.keep(state, x)
    last = state.read
    if net.random.random() < 0.5:
        other = net.state(shape, grid)
        net.keep(other, last)
        last = other.read
    net.output(last, shape, grid)


def constant(net: Pieces) -> None:
    """What nothing changes, or its negative for real numbers."""
    shape, grid = net.shape(), net.grid()
    x, state = net.input(shape, grid), net.state(shape, grid)
    net.keep(state, net.node("Neg", state.read) if grid is None else state.read)
    net.output(net.rounded(net.node("Add", x, state.read), grid), shape, grid)


def turned(net: Pieces) -> None:
    """What goes round along an axis, read by a transpose."""
    shape, grid = net.shape(net.random.randint(3, 4)), net.grid()
    axis = net.random.randrange(1, len(shape))
    state = net.state(shape, grid)
    x = net.input(_along(shape, axis, 1), grid)
    rest = net.part(state.read, axis, 1, _END) if shape[axis] > 1 else ""
    made = net.node("Concat", *([rest] if rest else []), x, axis=axis)
    net.keep(state, net.rounded(made, grid))
    order = [0, *net.random.sample(range(1, len(shape)), len(shape) - 1)]
    y = net.node("Transpose", state.read, perm=order)
    net.output(y, tuple(shape[i] for i in order), grid)


def repeated(net: Pieces) -> None:
    """A convolution of what it made before, which it cannot write over while it is read."""
    grid, (_, c, h, w) = net.grid(), net.shape(4)
    x, state = net.input((1, c, h, w), grid), net.state((1, c, h, w), grid)
    filters = _filters(net, (c, c, 3, 3)) if grid else net.weight(c, c, 3, 3)
    y = net.rounded(net.node("Conv", state.read, filters, pads=[1] * 4), grid)
    total = net.rounded(net.node("Add", *_either(net, y, x)), grid)
    net.keep(state, total)
    op = net.random.choice(["Relu", "Identity"])
    net.output(net.node(op, total), (1, c, h, w), grid)


def cell(net: Pieces) -> None:
    """A GRU or an LSTM of one step; its states are of float32."""
    op, units, wide = (
        net.random.choice(["GRU", "LSTM"]),
        net.random.randint(1, 9),
        net.random.randint(1, 7),
    )
    rows = {"GRU": 3, "LSTM": 4}[op] * units
    x = net.input((1, 1, wide), None)
    states = [net.state((1, 1, units), None) for _ in range({"GRU": 1, "LSTM": 2}[op])]
    weights = net.weight(1, rows, wide), net.weight(1, rows, units), net.weight(1, 2 * rows)
    name = f"cell{len(net.nodes)}"
    made = [f"{name}.{i}" for i in range(len(states))]
    reads = [x, *weights, "", *(state.read for state in states)]
    attrs: dict[str, Any] = {"linear_before_reset": 1} if op == "GRU" else {}
    net.nodes.append(
        helper.make_node(op, reads, [f"{name}.y", *made], name, hidden_size=units, **attrs)
    )
    for state, last in zip(states, made, strict=True):
        net.keep(state, last)
    net.output(f"{name}.y", (1, 1, 1, units), None)


def _along(shape: Shape, axis: int, size: int) -> Shape:
    return *shape[:axis], size, *shape[axis + 1 :]


def _either(net: Pieces, a: str, b: str) -> tuple[str, str]:
    return (a, b) if net.random.random() < 0.5 else (b, a)


KINDS: tuple[Callable[[Pieces], None], ...] = (
    *(window, window, convolution, convolution, leaky, largest, swapped, delayed, constant),
    *(turned, repeated, cell),
)


def network(seed: int) -> Pieces:
    """One to four random pieces."""
    net = Pieces(seed)
    for _ in range(net.random.randint(1, MOST_PIECES)):
        kind = net.random.choice(KINDS)
        net.kinds.append(kind.__name__)
        kind(net)
    return net
