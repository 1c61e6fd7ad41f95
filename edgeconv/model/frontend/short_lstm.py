"""An LSTM in integers, which ONNX does not have: TensorFlow Lite Micro's (`tflite_lstm`).

In a model it is a node of the domain `DOMAIN`, whose operands are input, state and cell, and of
each gate the weights for the input, those for the state, and the bias; its outputs are every state
and the last cell.  A function of the model says what it is in ONNX's own operators, for engines to
run: products and factors in int64, functions as tables of all their arguments, a Scan over steps.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper, numpy_helper

from edgeconv.ir.graph import Node
from edgeconv.ir.requantisation.tflite_lstm import (
    CELL,
    FORGET,
    GATES,
    INPUT,
    OF_CELL,
    OUTPUT,
    THIRDS,
    Factor,
    ShortLstm,
    cell_argument,
)
from edgeconv.ir.requantisation.tflite_short import logistic, tanh
from edgeconv.kernels.ops.base import ImportContext, Source
from edgeconv.kernels.ops.short_lstm import import_short_lstm
from edgeconv.model.frontend.clipped_cells import DOMAIN
from edgeconv.model.frontend.saved_nodes import Written

Values = npt.NDArray[Any]
NAME = "ShortLSTM"  # what the names of its functions begin with
_OPSET, _SHORT = 21, 16
_W = 3  # the first of the weights
_OPERANDS = ["X", "H", "C", *(f"{kind}_{gate}" for kind in "WRB" for gate in GATES)]
_NUMBERS = ("bits", "zero_x", "zero_h", "power", "clip")
_FACTORS = ("of_x", "of_h", "of_new", "of_output")
_MAJOR = "time_major"
_ATTRIBUTES = [*_NUMBERS, *_FACTORS, _MAJOR]
_LOW, _HIGH = -(1 << 15), (1 << 15) - 1
_ARGUMENTS = np.arange(_LOW, _HIGH + 1, dtype=np.int64)


def attributes(form: ShortLstm, *, time_major: bool) -> dict[str, Any]:
    """The attributes of a node."""
    pairs = {name: getattr(form, name) for name in _FACTORS}
    return {
        **{name: getattr(form, name) for name in _NUMBERS},
        **{name: np.array(each).reshape(-1).tolist() for name, each in pairs.items()},
        _MAJOR: int(time_major),
    }


def _form(attrs: Mapping[str, Any]) -> ShortLstm:
    def pairs(name: str) -> tuple[Factor, ...]:
        given = [int(each) for each in attrs[name]]
        return tuple(zip(given[0::2], given[1::2], strict=True))

    numbers = {name: int(attrs[name]) for name in _NUMBERS}
    (new,), (output,) = pairs("of_new"), pairs("of_output")
    return ShortLstm(
        of_x=pairs("of_x"), of_h=pairs("of_h"), of_new=new, of_output=output, **numbers
    )


def is_short_lstm(node: onnx.NodeProto) -> bool:
    """Whether it is such a layer."""
    return node.domain == DOMAIN and node.op_type.startswith(NAME)


def results_of(node: onnx.NodeProto, ctx: ImportContext) -> dict[str, onnx.TypeProto]:
    """The types of what it makes, by name."""
    x, h, c = (ctx.tensor(name) for name in node.input[:_W])
    shapes = (*x.shape[:2], h.shape[-1]), c.shape
    return {
        name: helper.make_tensor_type_proto(helper.np_dtype_to_tensor_dtype(np.dtype(dtype)), shape)
        for name, dtype, shape in zip(node.output, (x.dtype, c.dtype), shapes, strict=True)
    }


def nodes_of(
    node: onnx.NodeProto, name: str, live: Collection[str], ctx: ImportContext
) -> Sequence[Node]:
    """The canonical nodes of ``node``, called ``name``; ``live``: the results that are read."""
    attrs = {each.name: helper.get_attribute_value(each) for each in node.attribute}
    outputs = tuple(each if each in live else "" for each in node.output)
    source = Source(NAME, 1, name, tuple(node.input), outputs, attrs)
    return import_short_lstm(source, ctx, _form(attrs), time_major=bool(attrs[_MAJOR]))


@dataclass(slots=True)
class _Nodes:
    """Writes nodes by ``put``: operator, operands and names of results; ``name`` makes one of a
    hint, ``constant`` that of a value."""

    put: Callable[..., None]
    name: Callable[[str], str]
    constant: Callable[[Values], str]

    def add(self, op_type: str, *inputs: str, **attrs: Any) -> str:
        made = self.name(op_type)
        self.put(op_type, inputs, [made], **attrs)
        return made

    def number(self, *values: Any) -> str:
        return self.constant(np.array(values[0] if len(values) == 1 else values, np.int64))

    def whole(self, name: str) -> str:
        return self.add("Cast", name, to=TensorProto.INT64)

    def floor(self, x: str, power: Any) -> str:
        """``x`` / 2^power, rounded down."""
        by = self.number(np.int64(1) << np.asarray(power, np.int64))
        return self.add("Div", self.add("Sub", x, self.add("Mod", x, by)), by)

    def multiplied(self, x: str, multiplier: Any, right: Any) -> str:
        """As `double_rounding.multiplied`."""
        shift = np.asarray(right, np.int64)
        factor = np.asarray(multiplier, np.int64) << np.maximum(-shift, 0)
        product = self.add("Mul", x, self.number(factor))
        word = self.floor(self.add("Add", product, self.number(1 << 30)), 31)
        shift = np.maximum(shift, 0)
        half = (np.int64(1) << shift) >> 1
        below = self.whole(self.add("Less", word, self.number(0)))
        below = self.add("Mul", below, self.number((half > 0).astype(np.int64)))
        halved = self.add("Sub", self.add("Add", word, self.number(half)), below)
        return self.floor(halved, shift)

    def shortly(self, x: str, multiplier: Any, right: Any) -> str:
        """As `tflite_wide.shortly_multiplied`."""
        shift = np.asarray(right, np.int64)
        product = self.add("Mul", x, self.number(np.asarray(multiplier)))
        half = self.number(np.int64(1) << (shift - 1))
        return self.floor(self.add("Add", product, half), shift)

    def bounded(self, x: str, low: int = _LOW, high: int = _HIGH) -> str:
        return self.add("Clip", x, self.number(low), self.number(high))

    def looked_up(self, table: Values, x: str) -> str:
        return self.add("Gather", self.constant(table), self.add("Sub", x, self.number(_LOW)))


def _defined(
    nodes: _Nodes, operands: Sequence[str], form: ShortLstm, hidden: int, *, major: bool
) -> tuple[str, str]:
    """Every state and the last cell.  ``operands``: input, state, cell, and of all gates in one
    [4 hidden, ...] both kinds of weights and the biases."""
    x, h, c, w, r, b = operands
    if not major:
        x = nodes.add("Transpose", x, perm=[1, 0, 2])
    x = nodes.add("Sub", nodes.whole(x), nodes.number(form.zero_x))
    sums = nodes.add("MatMul", x, nodes.add("Transpose", nodes.whole(w), perm=[1, 0]))
    gates = _gates(nodes, nodes.add("Add", sums, nodes.whole(b)), form.of_x, form, hidden)
    recurrent = nodes.add("Transpose", nodes.whole(r), perm=[1, 0])
    last = [nodes.name(each) for each in ("h", "c", "every")]
    starts = [nodes.whole(h), nodes.whole(c), gates]
    body = _body(nodes, recurrent, form, hidden)
    nodes.put("Scan", starts, last, body=body, num_scan_inputs=1)
    kind = TensorProto.INT8 if form.bits == 8 else TensorProto.INT16
    y = nodes.add("Cast", last[2], to=kind)
    y = y if major else nodes.add("Transpose", y, perm=[1, 0, 2])
    return y, nodes.add("Cast", last[1], to=TensorProto.INT16)


def _gates(
    nodes: _Nodes, sums: str, factors: Sequence[Factor], form: ShortLstm, hidden: int
) -> str:
    multiplier, right = np.repeat(np.array(factors, np.int64), hidden, axis=0).T
    scale = nodes.multiplied if form.bits == 8 else nodes.shortly
    return nodes.bounded(scale(sums, multiplier, right))


def _body(outer: _Nodes, recurrent: str, form: ShortLstm, hidden: int) -> onnx.GraphProto:
    """The body of a Scan: state and cell before, the gates' part of the input."""
    made: list[onnx.NodeProto] = []
    constants: list[onnx.TensorProto] = []

    def put(op_type: str, inputs: Sequence[str], outputs: Sequence[str], **attrs: Any) -> None:
        made.append(helper.make_node(op_type, inputs, outputs, **attrs))

    def constant(value: Values) -> str:
        name = outer.name("constant")
        constants.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    nodes = _Nodes(put, outer.name, constant)
    h, c, x = (outer.name(each) for each in ("h", "c", "x"))
    state = nodes.add("Sub", h, nodes.number(form.zero_h))
    sums = nodes.add("MatMul", state, recurrent)
    gates = nodes.bounded(nodes.add("Add", x, _gates(nodes, sums, form.of_h, form, hidden)))
    parts = [outer.name(each) for each in GATES]
    nodes.put("Split", [gates, nodes.number([hidden] * len(GATES))], parts, axis=-1)
    bent = [
        nodes.looked_up((tanh if gate == CELL else logistic)(THIRDS * _ARGUMENTS), part)
        for gate, part in enumerate(parts)
    ]
    kept = nodes.bounded(nodes.multiplied(nodes.add("Mul", bent[FORGET], c), *OF_CELL))
    new = nodes.add("Mul", bent[INPUT], bent[CELL])
    new = nodes.bounded(nodes.multiplied(new, *form.of_new))
    clip = (-form.clip, form.clip) if form.clip else ()
    cell = nodes.bounded(nodes.add("Add", kept, new), *clip)
    outward = nodes.looked_up(tanh(cell_argument(form, _ARGUMENTS)), cell)
    result = nodes.multiplied(nodes.add("Mul", outward, bent[OUTPUT]), *form.of_output)
    result = nodes.add("Add", result, nodes.number(form.zero_h))
    result = nodes.bounded(result, form.low, form.high)
    again = nodes.add("Identity", result)

    def value(name: str) -> onnx.ValueInfoProto:
        return helper.make_tensor_value_info(name, TensorProto.INT64, None)

    inputs, outputs = (
        [value(each) for each in names] for names in ((h, c, x), (result, cell, again))
    )
    return helper.make_graph(made, "body", inputs, outputs, constants)


def function(name: str, form: ShortLstm, hidden: int, *, time_major: bool) -> onnx.FunctionProto:
    """What a node of `DOMAIN` called ``name`` is."""
    made: list[onnx.NodeProto] = []
    count = iter(range(1 << 30))

    def put(op_type: str, inputs: Sequence[str], outputs: Sequence[str], **attrs: Any) -> None:
        made.append(helper.make_node(op_type, inputs, outputs, **attrs))

    def fresh(hint: str) -> str:
        return f"{hint.lower()}_{next(count)}"

    def constant(value: Values) -> str:
        found = fresh("constant")
        put("Constant", [], [found], value=numpy_helper.from_array(np.asarray(value)))
        return found

    nodes = _Nodes(put, fresh, constant)
    gates = (
        nodes.add("Concat", *_OPERANDS[at : at + len(GATES)], axis=0)
        for at in range(_W, len(_OPERANDS), len(GATES))
    )
    operands = [*_OPERANDS[:_W], *gates]
    results = _defined(nodes, operands, form, hidden, major=time_major)
    for result, output in zip(results, ("Y", "CN"), strict=True):
        put("Identity", [result], [output])
    opsets = [helper.make_opsetid("", _OPSET)]
    return helper.make_function(DOMAIN, name, _OPERANDS, ["Y", "CN"], made, opsets, _ATTRIBUTES)


def saved(written: Written, node: Node, inputs: tuple[str, ...], y: str) -> None:
    """A node of the graph, and its outputs one behind the other, as it has them."""
    form: ShortLstm = node.attrs["form"]
    hidden = written.graph[node.inputs[1]].shape[-1]
    wide = form.bits == _SHORT

    def put(op_type: str, operands: Sequence[str], outputs: Sequence[str], **attrs: Any) -> None:
        written.node(op_type, operands, *outputs, **attrs)

    nodes = _Nodes(
        put,
        lambda hint: written.fresh(f"{y}/{hint.lower()}"),
        lambda value: written.constant(f"{y}/constant", value),
    )
    results = _defined(nodes, inputs, form, hidden, major=bool(node.attrs["time_major"]))
    flat = [nodes.add("Reshape", each, nodes.number([-1])) for each in reversed(results)]
    if not wide:
        flat[0] = _bytes_of(nodes, flat[0])
    put("Concat", flat, [y], axis=0)


def _bytes_of(nodes: _Nodes, cells: str) -> str:
    """int16 as pairs of int8, the lower byte first."""
    wide = nodes.whole(cells)
    high = nodes.floor(wide, 8)
    low = nodes.add("Sub", wide, nodes.add("Mul", high, nodes.number(256)))
    wrapped = nodes.whole(nodes.add("Greater", low, nodes.number(127)))
    low = nodes.add("Sub", low, nodes.add("Mul", wrapped, nodes.number(256)))
    pairs = (nodes.add("Unsqueeze", each, nodes.number([1])) for each in (low, high))
    joined = nodes.add("Reshape", nodes.add("Concat", *pairs, axis=1), nodes.number([-1]))
    return nodes.add("Cast", joined, to=TensorProto.INT8)
