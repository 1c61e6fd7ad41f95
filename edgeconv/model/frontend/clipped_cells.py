"""An LSTM whose cell is clipped in every step, which ONNX's cannot be.

In a model it is a node of the domain `DOMAIN` with the operands and attributes of ONNX's LSTM, and
``cell_clip`` beside them; a function of the model says what it is in ONNX's own operators, step by
step, for engines to run:

    c = max(-clip, min(f c + i tanh(g), clip)),   h = o tanh(c)

(`lstm_step` of tensorflow/lite/kernels/lstm_eval.cc).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import helper, numpy_helper

from edgeconv.kernels.ops.recurrent_import import CELL_CLIP

DOMAIN = "edgeconv"
VERSION = 1
_OPSET = 21
_ATTRIBUTES = ["hidden_size", "direction", "cell_clip"]
_GATES = 4  # input, output, forget, cell

Add = Callable[..., str]  # an operator, its inputs and attributes: the name of its result
Constant = Callable[[npt.NDArray[np.generic]], str]


@dataclass(frozen=True, slots=True)
class Sizes:
    """Numbers of a layer; ``clip``: the largest that its cell may be."""

    length: int
    directions: int
    hidden: int
    clip: float


def unrolled(
    add: Add, constant: Constant, operands: Sequence[str], backward: Sequence[bool], of: Sizes
) -> tuple[list[str], list[str], list[str]]:
    """States of every step, the last one and the last cell of each direction, [batch, hidden].

    ``operands``: the products of the inputs, biases added, [length, batch, directions * 4 hidden];
    weights of the state [directions, 4 hidden, hidden]; peepholes [directions, 3 hidden], or "".
    States begin with zeros.
    """
    products, weights, peepholes = operands
    bounds = [constant(np.array(sign * of.clip, np.float32)) for sign in (-1, 1)]
    every, last, cells = [], [], []

    def cut(name: str, first: int, count: int, axis: int) -> str:
        ends = (constant(np.array([each])) for each in (first, first + count, axis))
        return add("Slice", name, *ends)

    for direction, back in enumerate(backward):
        width = _GATES * of.hidden
        mine = cut(products, direction * width, width, 2)
        own = constant(np.array(direction))
        recurrent = add("Transpose", add("Gather", weights, own, axis=0), perm=[1, 0])
        peeps = [""] * _GATES
        if peepholes:
            row = add("Gather", peepholes, own, axis=0)
            peeps = [cut(row, gate * of.hidden, of.hidden, 0) for gate in range(_GATES - 1)]
        h, c, found = "", "", [""] * of.length
        for step in range(of.length - 1, -1, -1) if back else range(of.length):
            sums = add("Gather", mine, constant(np.array(step)), axis=0)
            sums = add("Add", sums, add("MatMul", h, recurrent)) if h else sums
            i, o, f, g = (cut(sums, gate * of.hidden, of.hidden, 1) for gate in range(_GATES))
            if peepholes and c:
                i, f = (add("Add", s, add("Mul", p, c)) for s, p in ((i, peeps[0]), (f, peeps[2])))
            new = add("Mul", add("Sigmoid", i), add("Tanh", g))
            new = add("Add", add("Mul", add("Sigmoid", f), c), new) if c else new
            c = add("Clip", new, *bounds)
            o = add("Add", o, add("Mul", peeps[1], c)) if peepholes else o
            h = found[step] = add("Mul", add("Sigmoid", o), add("Tanh", c))
        every.append(_stacked(add, constant, found))
        last.append(h)
        cells.append(c)
    return every, last, cells


def _stacked(add: Add, constant: Constant, names: Sequence[str]) -> str:
    """[length, 1, batch, hidden]."""
    axes = constant(np.array([0, 1]))
    return add("Concat", *(add("Unsqueeze", name, axes) for name in names), axis=0)


def function(
    name: str, backward: Sequence[bool], of: Sizes, *, peepholes: bool
) -> onnx.FunctionProto:
    """What a node of `DOMAIN` called ``name`` is: X, W, R, B and P make Y."""
    nodes: list[onnx.NodeProto] = []

    def fresh() -> str:
        return f"value_{len(nodes)}"

    def add(op_type: str, *inputs: str, **attributes: Any) -> str:
        made = fresh()
        nodes.append(helper.make_node(op_type, inputs, [made], **attributes))
        return made

    def constant(value: npt.NDArray[np.generic]) -> str:
        return add("Constant", value=numpy_helper.from_array(np.asarray(value)))

    rows = of.directions * _GATES * of.hidden
    flat = add("Reshape", "W", constant(np.array([rows, -1])))
    halves = add("Reshape", "B", constant(np.array([of.directions, 2, _GATES * of.hidden])))
    bias = add("ReduceSum", halves, constant(np.array([1])), keepdims=0)
    products = add("MatMul", "X", add("Transpose", flat, perm=[1, 0]))
    products = add("Add", products, add("Reshape", bias, constant(np.array([rows]))))
    every, _, _ = unrolled(add, constant, (products, "R", "P" * peepholes), backward, of)
    nodes.append(helper.make_node("Concat", every, ["Y"], axis=1))
    opsets = [helper.make_opsetid("", _OPSET)]
    inputs = ["X", "W", "R", "B", "P"]
    return helper.make_function(DOMAIN, name, inputs, ["Y"], nodes, opsets, _ATTRIBUTES)


def standard(node: onnx.NodeProto) -> onnx.NodeProto:
    """A node of `DOMAIN` as ONNX's LSTM, its clip in the metadata, where importers look for it."""
    plain = onnx.NodeProto()
    plain.CopyFrom(node)
    plain.domain, plain.op_type = "", "LSTM"
    del plain.attribute[:], plain.input[:]
    plain.attribute.extend(each for each in node.attribute if each.name != "cell_clip")
    clip = next(each.f for each in node.attribute if each.name == "cell_clip")
    x, w, r, b, p = node.input
    plain.input.extend([x, w, r, b, "", "", "", *([p] if p else [])])
    plain.metadata_props.add(key=CELL_CLIP, value=repr(clip))
    return plain
