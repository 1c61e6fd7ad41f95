"""A recurrent layer whose inputs are multiplied already, as ONNX: its W picks each product once."""

from __future__ import annotations

from typing import Any

import numpy as np

from edgeconv.ir.activation import Activation
from edgeconv.ir.encoding import INT4, INT8
from edgeconv.ir.graph import Node
from edgeconv.kernels.lowering.cells import CELL_FUNCTIONS
from edgeconv.model.frontend.clipped_cells import Sizes, unrolled
from edgeconv.model.frontend.saved_nodes import Written

_FIRST = np.array([0])  # axis
_DIRECTION = {"forward": "forward", "backward": "reverse"}
_BY_KIND = {row.kind: (name, row) for name, row in CELL_FUNCTIONS.items()}


def _functions(node: Node) -> dict[str, Any]:
    """Names, and what they take of the two lists of numbers, those of each function in turn."""
    functions: tuple[Activation, ...] = node.attrs["functions"]
    used = [f for f in functions if f.kind != "none"]
    rows = [_BY_KIND[f.kind][1] for f in used]
    alphas = [f.alpha for f, row in zip(used, rows, strict=True) if row.alpha is not None]
    betas = [f.beta for f, row in zip(used, rows, strict=True) if row.beta is not None]
    numbers = {"activation_alpha": alphas, "activation_beta": betas}
    given = {name: values for name, values in numbers.items() if values}
    return {"activations": [_BY_KIND[f.kind][0] for f in used], **given}


def _biases(written: Written, node: Node, y: str) -> str:
    """The bias inside of a GRU's reset behind zeros; "" where there is none."""
    if not node.inputs[2]:
        return ""
    bias = written.graph[node.inputs[2]]
    count, hidden = bias.shape
    if bias.data is not None:
        whole = np.zeros((count, 6 * hidden), np.float32)
        whole[:, 5 * hidden :] = bias.data
        return written.constant(f"{y}/B", whole)
    zeros = np.zeros((count, 5 * hidden), np.float32)
    return written.add(y, "Concat", zeros, written.tensor(bias.name), axis=1)


def _multiples(written: Written, node: Node, count: int) -> str:
    """R as integers times a scale for each row, which all directions have in common; "" where it is
    something else."""
    stored, weights = node.storage, written.graph[node.inputs[1]]
    units = np.asarray(stored.scale, np.float32).reshape(count, -1)
    if stored.element not in (INT4, INT8) or not units.size or (units != units[0]).any():
        return ""
    value = weights.constant().astype(np.float64).reshape(count, -1, weights.shape[-1])
    integers = np.rint(value / units[0, :, None]).astype(np.int8)
    return written.dequantised(weights.name, integers, units[0], axis=1)


def _clipped(written: Written, node: Node, inputs: tuple[str, ...], y: str) -> None:
    """An LSTM whose cell is clipped, step by step."""
    x, weights, _, h0, c0, lengths, peepholes = inputs
    assert not h0
    assert not c0
    assert not lengths
    length, _, rows = written.graph[node.inputs[0]].shape
    count, hidden = len(node.attrs["directions"]), written.graph[node.output].shape[-1]
    shape = np.array([count, rows // count, hidden])
    r = written.add(y, "Reshape", written.tensor(weights), shape)
    backward = [way == "backward" for way in node.attrs["directions"]]
    sizes = Sizes(length, count, hidden, float(node.attrs["cell_clip"]))
    every, last, cells = unrolled(
        lambda op_type, *operands, **attrs: written.add(y, op_type, *operands, **attrs),
        lambda value: written.constant(f"{y}/constant", value),
        (x, r, peepholes),
        backward,
        sizes,
    )
    joined = [written.add(y, "Concat", *every, axis=1)] if node.attrs["every"] else []
    for states in (last, cells):
        stacked = [written.add(y, "Unsqueeze", state, np.array([0, 1])) for state in states]
        joined.append(written.add(y, "Concat", *stacked, axis=1))
    written.node("Concat", joined, y, axis=0)


def recurrent(written: Written, node: Node, inputs: tuple[str, ...], y: str) -> None:
    """RNN, GRU or LSTM, and its outputs one behind the other."""
    if node.attrs["cell_clip"]:
        _clipped(written, node, inputs, y)
        return
    x, weights, _, h0, c0, lengths, peepholes = inputs
    op_type, directions, attrs = (
        node.attrs["cell"],
        node.attrs["directions"],
        dict(_functions(node)),
    )
    count, rows = len(directions), written.graph[node.inputs[0]].shape[-1]
    hidden = written.graph[node.output].shape[-1]
    r = _multiples(written, node, count)
    if not r:
        r = written.add(
            y, "Reshape", written.tensor(weights), np.array([count, rows // count, hidden])
        )
    picks = np.eye(rows, dtype=np.float32).reshape(count, rows // count, rows)
    given = [x, written.constant(f"{y}/W", picks), r, _biases(written, node, y), lengths, h0]
    if node.attrs["clip"]:
        attrs["clip"] = float(node.attrs["clip"])
    if op_type == "GRU":
        attrs["linear_before_reset"] = int(node.attrs["reset_behind"])
    if op_type == "LSTM":
        given += [c0, peepholes]
        attrs["input_forget"] = int(node.attrs["forgets_input"])
    names = ["every"] * bool(node.attrs["every"]) + ["last"] + ["cell"] * (op_type == "LSTM")
    results = {name: written.fresh(f"{y}/{name}") for name in names}
    order = ("every", "last", "cell")[: 2 + (op_type == "LSTM")]
    direction = "bidirectional" if count == 2 else _DIRECTION[directions[0]]
    written.node(
        op_type,
        given,
        *(results.get(name, "") for name in order),
        direction=direction,
        hidden_size=hidden,
        **attrs,
    )
    joined = [
        results[name] if name == "every" else written.add(y, "Unsqueeze", results[name], _FIRST)
        for name in names
    ]
    written.node("Concat", joined, y, axis=0)
