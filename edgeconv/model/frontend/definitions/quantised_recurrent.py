"""DynamicQuantizeLSTM of ONNX Runtime: an LSTM whose products are those of integers, step by step.

The input is quantised once for all steps and the state anew in each, by their ranges, as
DynamicQuantizeLinear does (`onnxruntime/contrib_ops/cpu/quantization/dynamic_quantize_lstm.cc`).
With R, W integers less their zero points, and i, o, f, c as ONNX's LSTM has them:

    gates[t] = (x[t] W) scale_x scale_W + (h[t - 1] R) scale_h scale_R + bias_W + bias_R
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from edgeconv.model.frontend.definitions.definition import BYTES, Definition, Row, Values
from edgeconv.model.frontend.definitions.dynamic import check_sums, quantised

_OPERANDS = (
    "X W R B? sequence_lens? initial_h? initial_c? P? W_scale W_zero_point R_scale R_zero_point"
)
X, W, R, BIAS, LENGTHS, STATE, CELL, PEEPHOLES, W_SCALE, W_ZERO, R_SCALE, R_ZERO = range(12)
_GATES = ["Sigmoid", "Tanh", "Tanh"]
_MOST = 255  # of an integer of eight bits less its zero point


@dataclass(frozen=True, slots=True)
class _Direction:
    """One direction of a recurrent layer.  ``number``: of the weights.  ``reverse``: steps are
    taken from the last to the first."""

    number: int
    reverse: bool


def _dynamic_lstm(d: Definition) -> None:
    directions = _checked(d)
    shape = d.shape(X)
    assert shape is not None
    steps, batch, inner = shape
    hidden = d.integer("hidden_size", 0)
    # In rows first: products read what is quantised, with nothing between.
    x, x_scale, zero = quantised(d, d.add("Reshape", [d.input(X), _sizes(d, steps * batch, inner)]))
    real = d.add("DequantizeLinear", [x, d.add_constant("1", np.float32(1)), zero])
    found = [_direction(d, each, (real, x_scale), (steps, batch, hidden)) for each in directions]
    sequences, states, cells = zip(*found, strict=True)
    _joined(d, sequences, 1, 0)
    _joined(d, states, 0, 1)
    _joined(d, cells, 0, 2)


def _checked(d: Definition) -> list[_Direction]:
    """The directions of a node that is compiled."""
    d.check_real(X)
    for index in (LENGTHS, PEEPHOLES):
        if d.input(index):
            raise d.rejected(f"{d.operands[index]}", f"it has no {d.operands[index]}")
    kind = d.attr("direction", b"forward").decode()
    ways = {"forward": (False,), "reverse": (True,), "bidirectional": (False, True)}
    if kind not in ways:
        raise d.rejected(f"direction {kind!r}", f"direction is {', '.join(ways)}")
    given = [each.decode() for each in d.attr("activations", ())]
    if given and given != _GATES * len(ways[kind]):
        raise d.rejected(f"activations {given}", f"activations are {', '.join(_GATES)}")
    if d.attr("clip") is not None or d.flag("input_forget"):
        raise d.rejected("clip or input_forget", "gates are neither clipped nor coupled")
    shape, hidden = d.shape(X), d.integer("hidden_size", 0)
    if shape is None or len(shape) != 3 or 0 in shape:
        raise d.rejected(f"X {list(shape or ())}", "X has a known shape: steps, batch, inputs")
    wanted = {W: (len(ways[kind]), shape[2], 4 * hidden), R: (len(ways[kind]), hidden, 4 * hidden)}
    for index, sizes in wanted.items():
        value, what = d.constant(index), d.operands[index]
        if value is None or value.dtype.name not in BYTES or value.shape != sizes:
            got = what if value is None else f"{what} {value.dtype} {list(value.shape)}"
            raise d.rejected(got, f"{what} is a constant of int8 or uint8, {list(sizes)}")
    return [_Direction(number, reverse) for number, reverse in enumerate(ways[kind])]


def _weights(d: Definition, index: int, scale: int, number: int) -> tuple[str, str]:
    """The weights of a direction as integers less their zero points, and their scales."""
    value = d.constant(index)
    scales, zeros = d.scales(scale), d.constant(scale + 1)
    assert value is not None
    own = value[number]
    each = [np.broadcast_to(_of(number, of, len(value)), own.shape[1:]) for of in (scales, zeros)]
    unit = each[0].astype(np.float32)
    less = own.astype(np.int64) - each[1].astype(np.int64)
    check_sums(d, _MOST * int(np.abs(less).sum(axis=0).max(initial=0)))
    ones = np.ones(own.shape[1:], np.float32)
    operands = (own, ones, each[1].astype(own.dtype))
    names = [d.add_constant(d.operands[index], np.asarray(operand)) for operand in operands]
    return d.add("DequantizeLinear", names, axis=1), d.add_constant(d.operands[scale], unit)


def _of(number: int, values: Values | None, directions: int) -> Values:
    """The numbers of a direction, of one in all, one for each, or one per channel of each; 0 of
    none."""
    if values is None:
        return np.zeros(1, np.int64)
    return values.reshape(directions, -1)[number] if values.size > 1 else values.reshape(1)


def _direction(
    d: Definition, way: _Direction, x: tuple[str, str], sizes: tuple[int, int, int]
) -> tuple[str, str, str]:
    """All states of a direction, (steps, 1, batch, hidden), the last one and the last cell."""
    steps, batch, hidden = sizes
    recurrent, r_scale = _weights(d, R, R_SCALE, way.number)
    weights, w_scale = _weights(d, W, W_SCALE, way.number)
    unit = d.add("Mul", [w_scale, x[1]])
    gates = d.add("Mul", [d.add("MatMul", [x[0], weights]), unit])
    given = d.constant(BIAS)
    if d.input(BIAS) and given is None:
        raise d.rejected("B computed at run time", "B is a constant")
    if given is not None:
        both = given[way.number].reshape(2, 4 * hidden).sum(axis=0)
        gates = d.add("Add", [gates, d.add_constant("B", both.astype(np.float32))])
    parts = _cut(d, gates, [batch] * steps, 0)
    one = d.add_constant("1", np.float32(1))
    state, cell = (_initial(d, index, way, (batch, hidden)) for index in (STATE, CELL))
    states: list[str] = [""] * steps
    for step in range(steps - 1, -1, -1) if way.reverse else range(steps):
        q, scale, zero = quantised(d, state)
        product = d.add("MatMul", [d.add("DequantizeLinear", [q, one, zero]), recurrent])
        counted = d.add("Mul", [product, d.add("Mul", [r_scale, scale])])
        i, o, f, c = _cut(d, d.add("Add", [parts[step], counted]), [hidden] * 4, 1)
        i, o, f = (d.add("Sigmoid", [each]) for each in (i, o, f))
        kept = d.add("Mul", [f, cell])
        cell = d.add("Add", [kept, d.add("Mul", [i, d.add("Tanh", [c])])])
        states[step] = state = d.add("Mul", [o, d.add("Tanh", [cell])])
    shaped = [d.add("Reshape", [each, _sizes(d, 1, 1, batch, hidden)]) for each in states]
    last = [d.add("Reshape", [each, _sizes(d, 1, batch, hidden)]) for each in (state, cell)]
    return d.add("Concat", shaped, axis=0), last[0], last[1]


def _initial(d: Definition, index: int, way: _Direction, sizes: tuple[int, int]) -> str:
    """The initial state of a direction; zeros unless it is given."""
    if not d.input(index):
        return d.add_constant(d.operands[index], np.zeros(sizes, np.float32))
    number = d.add_constant("number", np.int64(way.number))
    return d.add("Gather", [d.input(index), number], axis=0)


def _cut(d: Definition, x: str, sizes: list[int], axis: int) -> list[str]:
    """Parts of these sizes, one behind the other."""
    ends = np.cumsum(sizes)
    return [
        d.add("Slice", [x, *(_sizes(d, each) for each in (end - size, end, axis))])
        for size, end in zip(sizes, ends.tolist(), strict=True)
    ]


def _sizes(d: Definition, *values: int) -> str:
    return d.add_constant("sizes", np.array(values, np.int64))


def _joined(d: Definition, tensors: tuple[str, ...], axis: int, index: int) -> None:
    """Make the tensors of all directions what the node writes, if anything."""
    if d.output(index):
        d.add("Concat", tensors, d.output(index), axis=axis)


# A reference engine runs its own kernel, on real numbers.
CONTRIBUTED: Mapping[str, Row] = {
    "DynamicQuantizeLSTM": Row(_OPERANDS, _dynamic_lstm, integers=False)
}
