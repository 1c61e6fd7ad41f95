"""Operators on integers whose scales a model computes at run time, and the sums that come with
them: DynamicQuantizeLinear, MatMulInteger and ConvInteger."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from edgeconv.frontend.definitions.definition import BYTES, Definition, Row, Values

_EXACT = 1 << 24  # up to which float32 has all whole numbers, and adds them up exactly
_MOST = 255  # of an integer of eight bits less its zero point
_HIGH = 16
_WINDOW = ("auto_pad", "kernel_shape", "strides", "pads", "dilations", "group")


def _dynamic_quantise(d: Definition) -> None:
    """Scale and zero point for the range of x, 0 included.

    Of a tensor of zeros the scale is 1, as ONNX Runtime has it; ONNX's own definition divides by 0.
    """
    x, tiny = d.input(0), float(np.finfo(np.float32).tiny)
    zero, one = (d.add_constant(name, np.float32(name)) for name in ("0", "1"))
    low = d.add("Min", [d.add("ReduceMin", [x], keepdims=0), zero])
    high = d.add("Max", [d.add("ReduceMax", [x], keepdims=0), zero])
    extent = d.add("Sub", [high, low])
    step = d.add("Div", [extent, d.add_constant("255", np.float32(_MOST))])
    some = d.add("Min", [d.add("Div", [extent, d.add_constant("tiny", np.float32(tiny))]), one])
    scale = d.add("Max", [step, d.add("Sub", [one, some])], d.output(1))
    steps = d.add("Neg", [d.add("Div", [low, scale])])
    none = d.add_constant("zero", np.uint8(0))
    origin = d.add("QuantizeLinear", [steps, one, none], d.output(2))
    d.add("QuantizeLinear", [x, scale, origin], d.node.output[0])


def _matmul_integer(d: Definition) -> None:
    a, b = d.less_zero(0, 2, -2), d.less_zero(1, 3, -1)
    weights = _less(d, 1, 3, -1)
    shape = d.shape(1)
    if weights is None:
        terms = None if shape is None else shape[-2] if len(shape) > 1 else shape[0]
        _check(d, 0 if terms is None else _MOST * _MOST * terms)
        return d.write_sums(d.add("MatMul", [a, b]))
    axis = -2 if weights.ndim > 1 else 0
    return _summed(d, weights, axis, lambda w: d.add("MatMul", [a, w]), b)


def _conv_integer(d: Definition) -> None:
    x, w = d.less_zero(0, 2, 1), d.less_zero(1, 3, 0)
    weights = _less(d, 1, 3, 0)
    if weights is None:
        raise d.rejected("w computed at run time", "w must be constant")
    attrs = d.attrs(*_WINDOW)
    axes = tuple(range(1, weights.ndim))
    return _summed(d, weights, axes, lambda each: d.add("Conv", [x, each], **attrs), w)


def _less(d: Definition, index: int, zero: int, axis: int) -> Values | None:
    """Constant weights less their zero point; None where they are computed at run time."""
    value, origin = d.constant(index), d.constant(zero)
    if value is None or (origin is None and d.input(zero)):
        return None
    if value.dtype.name not in BYTES:
        raise d.rejected(f"weights of {value.dtype}", f"they are {' or '.join(BYTES)}")
    steps = value.astype(np.int64)
    if origin is None:
        return steps
    shape = [1] * value.ndim
    if origin.size > 1:
        if not value.ndim or value.shape[axis] != origin.size or origin.ndim > 1:
            got = f"{d.operands[zero]} {list(origin.shape)} of weights {list(value.shape)}"
            raise d.rejected(got, "it is one number, or one per output channel")
        shape[axis] = -1
    return steps - origin.astype(np.int64).reshape(shape)


def _summed(
    d: Definition,
    weights: Values,
    axis: int | tuple[int, ...],
    product: Callable[[str], str],
    whole: str,
) -> None:
    """Sums of products with ``weights``, along ``axis``: exact in float32 where none can be beyond
    2^24; else of their upper and lower bits, each exact, and added with one rounding, which is that
    of the Cast to float32 behind it."""
    most = _largest(weights, axis)
    if most < _EXACT:
        return d.write_sums(product(whole))
    upper = (weights + _HIGH // 2) // _HIGH
    lower = weights - _HIGH * upper
    _check(d, most if max(_largest(upper, axis), _largest(lower, axis)) >= _EXACT else 0)
    parts = []
    for name, values in (("upper", upper), ("lower", lower)):
        stored = d.add_constant(name, values.astype(np.int8))
        scale = d.add_constant(f"{name}/scale", np.float32(1))
        parts.append(product(d.add("DequantizeLinear", [stored, scale])))
    high = d.add("Mul", [parts[0], d.add_constant("upper/factor", np.float32(_HIGH))])
    return d.write_sums(d.add("Add", [high, parts[1]]), rounded=True)


def _largest(weights: Values, axis: int | tuple[int, ...]) -> int:
    return _MOST * int(np.abs(weights).sum(axis).max(initial=0))


def _check(d: Definition, most: int) -> None:
    """Reject sums that may be beyond what is computed."""
    if most >= _EXACT:
        raise d.rejected(
            f"sums up to {most}",
            f"sums of integers are computed in float32, which is exact up to {_EXACT}",
            "quantise statically: ONNX Runtime's quantize_static",
        )


ROWS: Mapping[str, Row] = {
    "DynamicQuantizeLinear": Row("x", _dynamic_quantise),
    "MatMulInteger": Row("A B a_zero_point? b_zero_point?", _matmul_integer, rounds=False),
    "ConvInteger": Row("x w x_zero_point? w_zero_point?", _conv_integer, rounds=False),
}
