"""Recurrent layers: ONNX's LSTM and RNN, whose weights are those of all gates in one.

States begin with zeros in every run, as a Keras layer means it that is not stateful; kernels of
TensorFlow Lite go on from the last run until they are reset, as an LSTM in integers does here, too
(`integer_recurrent`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from edgeconv.model.frontend.clipped_cells import DOMAIN, Sizes, function
from edgeconv.model.frontend.tflite.elements import has, is_quantised
from edgeconv.model.frontend.tflite.integer_recurrent import in_integers, integer_lstm
from edgeconv.model.frontend.tflite.writing import UnsupportedError, Writing
from edgeconv.model.tflite import Operator, Tensor
from edgeconv.model.tflite.schema import ACTIVATIONS

_FUNCTIONS = {"NONE": "Affine", "RELU": "Relu", "TANH": "Tanh"}
_GATES = 4  # of an LSTM: input, forget, cell, output here; input, output, forget, cell in ONNX
_ORDER = (0, 3, 1, 2)
_MOST_BIAS = 1 << 31
_PEEPHOLES = (0, 2, 1)  # of cell to input, forget, output: those of ONNX
# Operands of one direction of an LSTM, from the first weights on.
_RECURRENT, _CELL, _BIASES, _PROJECTION, _LENGTH = 4, 8, 11, 15, 17


@dataclass(frozen=True, slots=True)
class _Weights:
    """W, R and B of one direction, "" for no B, and peepholes, "" for none."""

    w: str
    r: str
    b: str
    p: str
    hidden: int


def sequence_lstm(out: Writing, operator: Operator) -> None:
    """UNIDIRECTIONAL_SEQUENCE_LSTM: every state."""
    if operator.options["diagonal"]:
        raise UnsupportedError("diagonal weights of its state")
    if in_integers(out, operator):
        integer_lstm(out, operator)
        return
    _refuse_more(operator, (20, 21, 22, 23), "normalised gates")
    own = _lstm_weights(out, operator, 1)
    for place in (18, 19):
        _from_zeros(out, operator, place)
    _written(out, operator, "LSTM", [own])


def bidirectional_lstm(out: Writing, operator: Operator) -> None:
    """BIDIRECTIONAL_SEQUENCE_LSTM: states of both directions, apart or side by side."""
    _refuse_more(operator, range(39, 48), "a second input")
    ways = [_lstm_weights(out, operator, first) for first in (1, 1 + _LENGTH)]
    for place in range(35, 39):
        _from_zeros(out, operator, place)
    _written(out, operator, "LSTM", ways)


def sequence_rnn(out: Writing, operator: Operator) -> None:
    """UNIDIRECTIONAL_SEQUENCE_RNN: input, weights, those of the state, bias, state."""
    _from_zeros(out, operator, 4)
    _written(out, operator, "RNN", [_rnn_weights(out, operator, 1)])


def bidirectional_rnn(out: Writing, operator: Operator) -> None:
    """BIDIRECTIONAL_SEQUENCE_RNN: states of both directions, apart or side by side."""
    _refuse_more(operator, range(9, 12), "a second input")
    for place in (4, 8):
        _from_zeros(out, operator, place)
    ways = [_rnn_weights(out, operator, first) for first in (1, 5)]
    _written(out, operator, "RNN", ways)


def svdf(out: Writing, operator: Operator) -> None:
    """SVDF: what filters make of the input, of so many runs; sums of these over time, and over the
    filters of a unit (Nakkiran et al. 2015, "Compressing deep neural networks using a
    rank-constrained topology").  The state, which runs hand on, is an input and an output."""
    x, features, times, state = (out.tensor(operator, index) for index in (0, 1, 2, 4))
    rank, count = operator.options["rank"], features.shape[0]
    steps = times.shape[-1]
    if rank < 1 or count % rank or math.prod(state.shape) != x.shape[0] * count * steps:
        got = f"{count} filters of rank {rank} in {steps} steps"
        raise UnsupportedError(f"{got}, a state {list(state.shape)}")
    turned = out.transposed(out.real(operator, 1), (1, 0))
    newest = out.add("MatMul", [out.real(operator), turned])
    before = out.add("Reshape", [out.state(operator, 4), out.value([-1, count, steps])])
    kept = out.add("Slice", [before, *map(out.value, ([1], [steps], [2]))])
    newest = out.add("Unsqueeze", [_rounded(out, newest, state), out.value([2])])
    memory = out.add("Concat", [kept, newest], axis=2)
    out.hand_on(operator, 4, out.add("Reshape", [memory, out.value(state.shape)]))
    weighted = out.add("Mul", [_real(out, memory, state), out.real(operator, 2)])
    sums = out.add("ReduceSum", [weighted, out.value([2])], keepdims=0)
    if rank > 1:
        sums = out.add("Reshape", [sums, out.value([-1, count // rank, rank])])
        sums = out.add("ReduceSum", [sums, out.value([2])], keepdims=0)
    if has(operator, 3):
        sums = out.add("Add", [sums, _real_bias(out, operator, 3)], main=True)
    out.result(operator, out.activated(sums, operator))


def _rounded(out: Writing, name: str, tensor: Tensor) -> str:
    """Real numbers as such elements as ``tensor`` has."""
    if not is_quantised(tensor):
        return name
    return out.add("QuantizeLinear", [name, *out.scaling(tensor)])


def _real(out: Writing, name: str, tensor: Tensor) -> str:
    """Elements such as ``tensor`` has in real numbers."""
    if not is_quantised(tensor):
        return name
    return out.add("DequantizeLinear", [name, *out.scaling(tensor)])


def _real_bias(out: Writing, operator: Operator, index: int) -> str:
    """Operand ``index`` in real numbers, of int32 and int64 by the scale that it states."""
    tensor = out.tensor(operator, index)
    if tensor.dtype not in ("int32", "int64"):
        return out.real(operator, index)
    values = out.constant(operator, index, "a bias")
    if len(tensor.scale) != 1 or np.abs(values.astype(np.float64)).max(initial=0) >= _MOST_BIAS:
        raise UnsupportedError("adds a bias beyond 32 bits, or of several scales")
    scale = out.value(tensor.scale[0], np.float32)
    return out.add("DequantizeLinear", [out.value(values, np.int32), scale])


def _refuse_more(operator: Operator, places: Sequence[int], what: str) -> None:
    if any(has(operator, place) for place in places):
        raise UnsupportedError(f"with {what}")


def _from_zeros(out: Writing, operator: Operator, place: int) -> None:
    """A state is a variable, which begins with zeros."""
    if not out.tensor(operator, place).stays:
        raise UnsupportedError("a state that is given")


def _lstm_weights(out: Writing, operator: Operator, first: int) -> _Weights:
    _refuse_more(operator, range(first + _PROJECTION, first + _LENGTH), "a projection")
    coupled = not has(operator, first)
    hidden = out.tensor(operator, first + 1).shape[0]

    def joined(start: int, order: Sequence[int], axis: int) -> str:
        """Operands of all gates in ONNX's order, and a first dimension for the direction."""
        names = [
            _real_bias(out, operator, start + gate)
            if gate or not coupled  # else 1 less the forget gate: that of the other sign
            else out.add("Neg", [_real_bias(out, operator, start + 1)])
            for gate in order
        ]
        return out.add("Unsqueeze", [out.add("Concat", names, axis=axis), out.value([0])])

    biases = joined(first + _BIASES, _ORDER, 0)
    zeros = out.value(np.zeros((1, _GATES * hidden)), np.float32)
    peepholes = ""
    if has(operator, first + _CELL + 1):
        peepholes = joined(first + _CELL, _PEEPHOLES, 0)
    return _Weights(
        joined(first, _ORDER, 0),
        joined(first + _RECURRENT, _ORDER, 0),
        out.add("Concat", [biases, zeros], axis=1),
        peepholes,
        hidden,
    )


def _rnn_weights(out: Writing, operator: Operator, first: int) -> _Weights:
    hidden = out.tensor(operator, first).shape[0]
    w, r, b = (
        out.add("Unsqueeze", [out.real(operator, first + index), out.value([0])])
        for index in range(3)
    )
    zeros = out.value(np.zeros((1, hidden)), np.float32)
    return _Weights(w, r, out.add("Concat", [b, zeros], axis=1), "", hidden)


def _reach(out: Writing, operator: Operator) -> int:
    """How many steps there are."""
    shape = out.tensor(operator, 0).shape
    if len(shape) != 3:
        raise UnsupportedError(f"an input of shape {list(shape)}")
    return shape[0 if operator.options["time_major"] else 1]


def _written(out: Writing, operator: Operator, kind: str, ways: Sequence[_Weights]) -> None:
    """The layer, its states as the operator has them: [steps, batch, hidden] or the batch first."""
    _reach(out, operator)
    number, major = operator.options["activation"], operator.options["time_major"]
    function = ACTIVATIONS[number] if 0 <= number < len(ACTIVATIONS) else ""
    if function not in _FUNCTIONS or (kind == "LSTM" and function != "TANH"):
        raise UnsupportedError(f"with {function or number} as its function")
    x = out.real(operator)
    x = x if major else out.transposed(x, (1, 0, 2))
    operands = [_all(out, [getattr(way, name) for way in ways]) for name in ("w", "r", "b")]
    options: dict[str, Any] = {"hidden_size": ways[0].hidden}
    options["direction"] = "bidirectional" if len(ways) > 1 else "forward"
    if kind == "LSTM":
        operands += ["", "", "", _all(out, [way.p for way in ways])]
    else:
        options["activations"] = [_FUNCTIONS[function]] * len(ways)
        if function == "NONE":
            options |= {"activation_alpha": [1.0] * len(ways), "activation_beta": [0.0] * len(ways)}
    # [steps, directions, batch, hidden]
    if kind == "LSTM" and 0 < operator.options["cell_clip"] < _reach(out, operator):
        y = _clipped(out, operator, [x, *operands[:3], operands[-1]], options)
    else:  # a cell grows by 1 a step at most
        while not operands[-1]:
            operands.pop()
        y = out.add(kind, [x, *operands], main=True, **options)
    if len(ways) > 1 and not operator.options["merge_outputs"]:
        for index in range(2):
            place = out.value(index)
            one = out.add("Gather", [y, place], axis=1)
            out.result(operator, one if major else out.transposed(one, (1, 0, 2)), index)
        return
    y = out.transposed(y, (0, 2, 1, 3) if major else (2, 0, 1, 3))
    sizes = out.value([0, 0, len(ways) * ways[0].hidden])
    out.result(operator, out.add("Reshape", [y, sizes]))


def _clipped(
    out: Writing, operator: Operator, operands: Sequence[str], options: Mapping[str, Any]
) -> str:
    """An LSTM whose cell may grow beyond what it is clipped to."""
    clip, backward = operator.options["cell_clip"], [False, True]
    directions = 2 if options["direction"] == "bidirectional" else 1
    sizes = Sizes(_reach(out, operator), directions, options["hidden_size"], clip)
    name = f"LSTM_{len(out.functions)}"
    out.functions.append(function(name, backward[:directions], sizes, peepholes=bool(operands[-1])))
    return out.add(name, operands, main=True, domain=DOMAIN, cell_clip=clip, **options)


def _all(out: Writing, names: Sequence[str]) -> str:
    """Operands of all directions in one; "" of none."""
    if len(set(map(bool, names))) > 1:
        raise UnsupportedError("peepholes in one direction")
    return names[0] if len(names) == 1 or not names[0] else out.add("Concat", names, axis=0)
