"""UNIDIRECTIONAL_SEQUENCE_LSTM of int8 and int16 activations: computed in integers, as TensorFlow
Lite Micro does, its states kept from run to run."""

from __future__ import annotations

import numpy as np

from edgeconv.ir.requantisation.tflite_lstm import GATES, Grid, ShortLstm, in_reach, short_lstm
from edgeconv.model.frontend.clipped_cells import DOMAIN
from edgeconv.model.frontend.short_lstm import NAME, attributes, function
from edgeconv.model.frontend.tflite.elements import has, is_quantised, zero_points
from edgeconv.model.frontend.tflite.writing import UnsupportedError, Writing
from edgeconv.model.tflite import Operator, Tensor
from edgeconv.model.tflite.schema import ACTIVATIONS

_BITS = {"int8": 8, "int16": 16}
_BIASES = {"int8": "int32", "int16": "int64"}
_X, _WEIGHTS, _RECURRENT, _PEEPHOLES, _BIAS, _H, _C = 0, 1, 5, 9, 12, 18, 19
_BEYOND = (*range(_PEEPHOLES, _BIAS), *range(16, _H), *range(20, 24))


def in_integers(out: Writing, operator: Operator) -> bool:
    """Whether Micro has a kernel in integers for such activations and weights; others are computed
    with real numbers."""
    tensors = [out.tensor(operator, place) for place in (_X, _H, _C)]
    x, h, c = tensors
    weights, biases = range(_WEIGHTS, _PEEPHOLES), range(_BIAS, _BIAS + len(GATES))
    return (
        all(map(is_quantised, tensors))
        and x.dtype in _BITS
        and (h.dtype, c.dtype) == (x.dtype, "int16")
        and all(has(operator, place) for place in (*weights, *biases))
        and all(out.tensor(operator, place).dtype == _BIASES[x.dtype] for place in biases)
        and not any(has(operator, place) for place in _BEYOND)
    )


def integer_lstm(out: Writing, operator: Operator) -> None:
    """The layer in integers.  Raises UnsupportedError for what Micro's kernel computes otherwise
    than it means to."""
    tensors = out.model.tensors
    x, h = (out.tensor(operator, place) for place in (_X, _H))
    y = tensors[operator.outputs[0]]
    function_of_cell = operator.options["activation"]
    if not 0 <= function_of_cell < len(ACTIVATIONS) or ACTIVATIONS[function_of_cell] != "TANH":
        raise UnsupportedError(f"activation {function_of_cell} in integers")
    if (y.dtype, y.scale, y.zero) != (h.dtype, h.scale, h.zero):
        raise UnsupportedError("a result on another grid than the state, whose integers it is")
    major, hidden = operator.options["time_major"], h.shape[-1]
    form = _form(out, operator)
    name = f"{NAME}_{len(out.functions)}"
    out.functions.append(function(name, form, hidden, time_major=major))
    places = (*range(_WEIGHTS, _PEEPHOLES), *range(_BIAS, _BIAS + len(GATES)))
    operands = [out.stored(operator, _X), out.state(operator, _H), out.state(operator, _C)]
    operands += [out.stored(operator, place) for place in places]
    every, cell = out.add_all(
        name, operands, 2, main=True, domain=DOMAIN, **attributes(form, time_major=major)
    )
    steps = x.shape[0 if major else 1]
    last = out.add("Gather", [every, out.value(steps - 1)], axis=0 if major else 1)
    out.hand_on(operator, _H, last)
    out.hand_on(operator, _C, cell)
    out.copy(every, y.name)


def _form(out: Writing, operator: Operator) -> ShortLstm:
    x, h, c = (out.tensor(operator, place) for place in (_X, _H, _C))
    bits = _BITS[x.dtype]
    scales = tuple(
        tuple(_scale_of(out, operator, place) for place in range(first, first + len(GATES)))
        for first in (_WEIGHTS, _RECURRENT)
    )
    if zero_points(c) != [0]:
        raise UnsupportedError("a cell with a zero point")
    try:
        of_x, of_h = (Grid(each.scale[0], zero_points(each)[0], bits) for each in (x, h))
        form = short_lstm(of_x, of_h, c.scale[0], scales, operator.options["cell_clip"])
    except ValueError as error:
        raise UnsupportedError(str(error)) from None
    for gate in range(len(GATES)):
        w, r, b = (
            out.constant(operator, first + gate, what).astype(np.int64)
            for first, what in ((_WEIGHTS, "weights"), (_RECURRENT, "weights"), (_BIAS, "a bias"))
        )
        holds = in_reach(form, w, form.zero_x, b, form.of_x[gate])
        if not holds or not in_reach(form, r, form.zero_h, None, form.of_h[gate]):
            raise UnsupportedError(f"sums of its {GATES[gate]} gate that 32 bits may not hold")
    return form


def _scale_of(out: Writing, operator: Operator, place: int) -> float:
    tensor: Tensor = out.tensor(operator, place)
    if tensor.dtype != "int8" or len(tensor.scale) != 1 or zero_points(tensor) != [0]:
        raise UnsupportedError("weights that are no int8 of one scale and zero point 0")
    return tensor.scale[0]
