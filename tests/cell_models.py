"""Recurrent cells written as operators of ONNX, in the forms of exporters: the body of a Scan or a
Loop, or written out step by step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper

from tests.loop_models import model, value

INPUTS, HIDDEN, LENGTH = 5, 8, 6
GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
# How it is called, and the names of the outputs of a step: its states, then what is collected.
Cell = Callable[["Writer", str, Sequence[str]], list[str]]


class Writer:
    """Nodes that are being written, and their constants."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.constants: dict[str, Any] = {}

    def add(self, op: str, *inputs: str, **attrs: Any) -> str:
        """The result of a node."""
        return self.add_all(op, *inputs, count=1, **attrs)[0]

    def add_all(self, op: str, *inputs: str, count: int, **attrs: Any) -> list[str]:
        """The results of a node."""
        names = [f"{op}_{len(self.nodes)}_{i}" for i in range(count)]
        self.nodes.append(helper.make_node(op, inputs, names, names[0], **attrs))
        return names

    def held(self, name: str, value: Any) -> str:
        """A constant, which all steps share."""
        self.constants[name] = value
        return name


def drawn(name: str, *shape: int) -> np.ndarray:
    """Weights at random, the same for the same name and shape."""
    rng = np.random.default_rng([*map(ord, name), *shape])
    return rng.uniform(-0.7, 0.7, shape).astype(np.float32)


def _products(to: Writer, kind: str, x: str, h: str) -> tuple[list[str], list[str]]:
    """The products of each gate with the row and with the state, by one Gemm each, cut apart."""
    rows = GATES[kind] * HIDDEN
    found = []
    for name, of, width in (("w", x, INPUTS), ("r", h, HIDDEN)):
        weights = to.held(name, drawn(f"{kind}{name}", rows, width))
        bias = to.held(f"{name}_bias", drawn(f"{kind}{name}_bias", rows))
        whole = to.add("Gemm", of, weights, bias, transB=1)
        count = GATES[kind]
        found.append(to.add_all("Split", whole, count=count, axis=1, num_outputs=count))
    return found[0], found[1]


def rnn(to: Writer, x: str, states: Sequence[str]) -> list[str]:
    """H = tanh(W x + R h)."""
    (a,), (b,) = _products(to, "RNN", x, states[0])
    h = to.add("Tanh", to.add("Add", a, b))
    return [h, h]


def torch_gru(to: Writer, x: str, states: Sequence[str]) -> list[str]:
    """As PyTorch writes it: h = (h - n) z + n, the reset behind the product."""
    (h,) = states
    (r, z, n), (hr, hz, hn) = _products(to, "GRU", x, h)
    r, z = (to.add("Sigmoid", to.add("Add", *pair)) for pair in ((r, hr), (z, hz)))
    n = to.add("Tanh", to.add("Add", n, to.add("Mul", hn, r)))
    h = to.add("Add", to.add("Mul", to.add("Sub", h, n), z), n)
    return [h, h]


def gru_of_gates(to: Writer, x: str, states: Sequence[str]) -> list[str]:
    """The paper's: h = z h + (1 - z) n, the reset in front of the product; a product a gate."""
    (h,) = states

    def of(gate: str, state: str) -> str:
        w, r = (
            to.held(f"{name}_{gate}", drawn(f"{name}_{gate}", width, HIDDEN))
            for name, width in (("w", INPUTS), ("r", HIDDEN))
        )
        total = to.add("Add", to.add("MatMul", x, w), to.add("MatMul", state, r))
        return to.add("Add", total, to.held(f"b_{gate}", drawn(f"b_{gate}", HIDDEN)))

    z, r = (to.add("Sigmoid", of(gate, h)) for gate in "zr")
    n = to.add("Tanh", of("n", to.add("Mul", r, h)))
    rest = to.add("Sub", to.held("one", np.float32(1)), z)
    h = to.add("Add", to.add("Mul", z, h), to.add("Mul", rest, n))
    return [h, h]


def torch_lstm(to: Writer, x: str, states: Sequence[str]) -> list[str]:
    """As PyTorch and Keras write it: sums first, then gates i, f, g, o."""
    h, c = states
    rows = 4 * HIDDEN
    sums = []
    for name, of, width in (("w", x, INPUTS), ("r", h, HIDDEN)):
        weights = to.held(name, drawn(f"lstm{name}", width, rows))
        sums.append(to.add("MatMul", of, weights))
    total = to.add("Add", to.add("Add", *sums), to.held("b", drawn("lstmb", rows)))
    i, f, g, o = to.add_all("Split", total, count=4, axis=1, num_outputs=4)
    i, f, o = (to.add("Sigmoid", each) for each in (i, f, o))
    c = to.add("Add", to.add("Mul", f, c), to.add("Mul", i, to.add("Tanh", g)))
    h = to.add("Mul", o, to.add("Tanh", c))
    return [h, c, h]


def joined_lstm(to: Writer, x: str, states: Sequence[str]) -> list[str]:
    """As TensorFlow 1 writes it: one product of row and state side by side, 1 added to forget."""
    h, c = states
    both = to.add("Concat", x, h, axis=1)
    weights = to.held("w", drawn("joined", INPUTS + HIDDEN, 4 * HIDDEN))
    total = to.add("Add", to.add("MatMul", both, weights), to.held("b", drawn("b", 4 * HIDDEN)))
    gates = to.add("Sigmoid", to.add("Slice", total, *_bounds(to, 0, 3)))
    i, o = (to.add("Slice", gates, *_bounds(to, n, n + 1)) for n in (0, 2))
    forget = to.add(
        "Add", to.add("Slice", total, *_bounds(to, 1, 2)), to.held("one", np.float32(1))
    )
    f = to.add("Sigmoid", forget)
    g = to.add("Tanh", to.add("Slice", total, *_bounds(to, 3, 4)))
    c = to.add("Add", to.add("Mul", f, c), to.add("Mul", i, g))
    h = to.add("Mul", to.add("Tanh", c), o)
    return [h, c, h]


def _bounds(to: Writer, low: int, high: int) -> list[str]:
    numbers = {"low": low * HIDDEN, "high": high * HIDDEN, "axis": 1}
    return [to.held(f"{name}_{at}", np.array([at])) for name, at in numbers.items()]


CELLS: dict[str, tuple[str, int, Cell]] = {
    "rnn": ("RNN", 1, rnn),
    "torch_gru": ("GRU", 1, torch_gru),
    "gru_of_gates": ("GRU", 1, gru_of_gates),
    "torch_lstm": ("LSTM", 2, torch_lstm),
    "joined_lstm": ("LSTM", 2, joined_lstm),
}


def scan(
    cell: Cell, states: int, *, batch: int = 1, length: int = LENGTH, back: bool = False
) -> onnx.ModelProto:
    """x [length, batch, inputs] -> y, what is collected, and the last states; first states are
    inputs."""
    to = Writer()
    given = [f"state_{i}" for i in range(states)]
    unit = [batch, HIDDEN]
    results = cell(to, "row", given)
    outs = [to.add("Identity", name) for name in results]
    body = helper.make_graph(
        to.nodes,
        "body",
        [*(value(name, unit) for name in given), value("row", [batch, INPUTS])],
        [value(name, unit) for name in outs],
    )
    first = [f"first_{i}" for i in range(states)]
    last = [f"last_{i}" for i in range(states)]
    rows = [f"y_{i}" for i in range(len(results) - states)]
    turned: dict[str, Any] = {"scan_input_directions": [1]} if back else {}
    turned |= {"scan_output_directions": [1] * len(rows)} if back else {}
    node = helper.make_node(
        "Scan", [*first, "x"], [*last, *rows], "scan", body=body, num_scan_inputs=1, **turned
    )
    inputs = [value("x", [length, batch, INPUTS]), *(value(name, unit) for name in first)]
    outputs = [value(name, [length, *unit]) for name in rows]
    outputs += [value(name, unit) for name in last]
    return model(node, inputs, outputs, to.constants)


def loop(cell: Cell, states: int, *, batch: int = 1, length: int = LENGTH) -> onnx.ModelProto:
    """As `scan`, by a Loop that gathers its rows; states begin with zeros, their last values are
    not read."""
    to = Writer()
    to.nodes.append(helper.make_node("Gather", ["x", "i"], ["row"], "row", axis=0))
    given = [f"state_{i}" for i in range(states)]
    unit = [batch, HIDDEN]
    outs = [to.add("Identity", name) for name in ("going", *cell(to, "row", given))]
    flag = TensorProto.BOOL
    body = helper.make_graph(
        to.nodes,
        "body",
        [
            value("i", [], TensorProto.INT64),
            value("going", [], flag),
            *(value(name, unit) for name in given),
        ],
        [value(outs[0], [], flag), *(value(name, unit) for name in outs[1:])],
    )
    first = [to.held(f"zeros_{i}", np.zeros(unit, np.float32)) for i in range(states)]
    trips = to.held("trips", np.int64(length))
    made = [*(f"last_{i}" for i in range(states)), "y_0"]
    node = helper.make_node("Loop", [trips, "", *first], made, "loop", body=body)
    x = value("x", [length, batch, INPUTS])
    return model(node, [x], [value("y_0", [length, *unit])], to.constants)


def written_out(
    cell: Cell, states: int, *, batch: int = 1, length: int = LENGTH, back: bool = False
) -> onnx.ModelProto:
    """As `scan`, step by step."""
    to = Writer()
    unit = [batch, HIDDEN]
    kept = [f"first_{i}" for i in range(states)]
    rows: list[str] = []
    for at in range(length)[:: -1 if back else 1]:
        x = to.add("Gather", "x", to.held(f"at_{at}", np.int64(at)), axis=0)
        *kept, row = cell(to, x, kept)
        rows.append(to.add("Unsqueeze", row, to.held("front", np.array([0]))))
    y = to.add("Concat", *(rows[:: -1 if back else 1]), axis=0)
    last = to.add("Identity", kept[0])
    inputs = [value("x", [length, batch, INPUTS])]
    inputs += [value(f"first_{i}", unit) for i in range(states)]
    outputs = [value(y, [length, *unit]), value(last, unit)]
    made = model(to.nodes[0], inputs, outputs, to.constants)
    made.graph.node.extend(to.nodes[1:])
    return made
