"""Layers with filters of int8 that read float32 (TensorFlow's dynamic range quantisation), as
TensorFlow Lite's hybrid kernels compute them: what such a layer reads is quantised as it runs, by
its range.

    q, s, z = quantised(x)        scale and zero point of the range of x, 0 in it
    y = (sum_i (q_i - z) w_i) * (s * unit[c]) + bias[c]

(tensorflow/lite/kernels/conv.cc, depthwise_conv.cc and fully_connected.cc.)  The integers are those
of ONNX's DynamicQuantizeLinear, which rounds x / s, ties to even; TensorFlow Lite's are of x times
1 / s, ties away from 0, so that single ones next to the middle between two may be the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from onnx import TensorProto

from edgeconv.model.frontend.tflite.writing import Writing
from edgeconv.model.tflite import Operator, Tensor

_QUANTISES = "reads float32 beside int8 filters; TensorFlow Lite quantises what it reads as it runs"
_WAY = "computed in float32; --requantise tflite does as it does"
_ROWS = "one scale for each of its {} rows there; computed in float32"
_SYMMETRIC = "around 0 there; computed in float32"
_ONE_SCALE = "with one scale for all filters, of which its kernels differ; computed in float32"


def is_hybrid(out: Writing, operator: Operator, *, axis: int, rows: int) -> bool:
    """Whether a layer is to be computed so: operand 0 is float32, operand 1 int8, constant and
    symmetric.  ``axis``: of output channels among the filters' dimensions; ``rows``: of operand 0,
    each of which has a range of its own; one alone is quantised here.  What is computed in float32
    where TensorFlow Lite quantises is noted."""
    x, w = out.tensor(operator, 0), out.tensor(operator, 1)
    if x.dtype != "float32" or not _is_symmetric(w, axis):
        return False
    if not out.dynamic_quantisation:
        out.differs(operator, f"{_QUANTISES}; {_WAY}")
    elif rows != 1:
        out.differs(operator, f"{_QUANTISES}, with {_ROWS.format(rows)}")
    elif not operator.options.get("asymmetric_quantize_inputs", 1):
        out.differs(operator, f"{_QUANTISES}, {_SYMMETRIC}")
    elif len(w.scale) != w.shape[axis] and operator.kind != "FULLY_CONNECTED":
        out.differs(operator, f"{_QUANTISES}, {_ONE_SCALE}")
    else:
        return True
    return False


def _is_symmetric(w: Tensor, axis: int) -> bool:
    """Whether filters are constants of int8 with a scale for all or one for each of ``axis``."""
    stored = w.dtype == "int8" and w.data is not None and w.blocks is None
    per_channel = w.axis == axis and len(w.scale) == w.shape[axis]
    return stored and (len(w.scale) == 1 or per_channel) and not any(w.zero)


def convolved(
    out: Writing,
    operator: Operator,
    x: str,
    axes: Sequence[int],
    bias: Sequence[str],
    **window: Any,
) -> str:
    """The convolution of ``x``, channels first.  ``axes``: of the filters, output channels first;
    ``bias``: [out_c], if there is one."""
    quantised, scale, zero = out.add_all("DynamicQuantizeLinear", [x], 3)
    w = _filters(out, operator, axes)
    sums = out.add("ConvInteger", [quantised, w, zero], main=True, **window)
    return _scaled(out, operator, sums, scale, bias, (1, -1, 1, 1))


def multiplied(out: Writing, operator: Operator, x: str, bias: Sequence[str]) -> str:
    """The product of ``x`` [..., in_c] with filters [out_c, in_c]."""
    quantised, scale, zero = out.add_all("DynamicQuantizeLinear", [x], 3)
    w = _filters(out, operator, (1, 0))
    sums = out.add("MatMulInteger", [quantised, w, zero], main=True)
    return _scaled(out, operator, sums, scale, bias, (-1,))


def _filters(out: Writing, operator: Operator, axes: Sequence[int]) -> str:
    """The integers of the filters in that order, a constant: what defines products of integers asks
    for their sums."""
    stored = out.constant(operator, 1, "filters")
    return out.value(np.ascontiguousarray(stored.transpose(axes)), np.int8)


def _scaled(
    out: Writing,
    operator: Operator,
    sums: str,
    scale: str,
    bias: Sequence[str],
    shape: tuple[int, ...],
) -> str:
    """``sums`` in real numbers, and the bias.  ``shape``: of one number per output channel."""
    units = np.asarray(out.tensor(operator, 1).scale, np.float32)
    units = np.where(units > 0, np.maximum(units, np.finfo(np.float32).tiny), units)
    unit = out.value(units.reshape(shape) if units.size > 1 else units[0], np.float32)
    real = out.add("Cast", [sums], to=TensorProto.FLOAT)
    y = out.add("Mul", [real, out.add("Mul", [scale, unit])])
    for addend in bias:
        each = addend if len(shape) == 1 else out.add("Reshape", [addend, out.value(shape)])
        y = out.add("Add", [y, each])
    return y
