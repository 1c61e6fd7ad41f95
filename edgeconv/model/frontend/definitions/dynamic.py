"""Operators on integers whose scales a model computes at run time, and the sums that come with
them: DynamicQuantizeLinear, MatMulInteger, ConvInteger, and ONNX Runtime's products of these."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np

from edgeconv.model.frontend.definitions.definition import BYTES, Definition, Row, Values

_EXACT = 1 << 24  # up to which float32 has all whole numbers, and adds them up exactly
_MOST = 255  # of an integer of eight bits less its zero point
_HIGH = 16
Operand = tuple[int, int, int]
_WINDOW = ("auto_pad", "kernel_shape", "strides", "pads", "dilations", "group")


def _dynamic_quantise(d: Definition) -> None:
    quantised(d, d.input(0), *map(d.output, range(3)))


def quantised(
    d: Definition, x: str, y: str = "", scale: str = "", zero: str = ""
) -> tuple[str, str, str]:
    """Integers of ``x``, their scale and zero point, made from its range, 0 included.

    Of a tensor of zeros the scale is 1, as ONNX Runtime has it; ONNX's own definition divides by 0.
    """
    none, one = (d.add_constant(name, np.float32(name)) for name in ("0", "1"))
    low = d.add("Min", [d.add("ReduceMin", [x], keepdims=0), none])
    high = d.add("Max", [d.add("ReduceMax", [x], keepdims=0), none])
    extent = d.add("Sub", [high, low])
    step = d.add("Div", [extent, d.add_constant("255", np.float32(_MOST))])
    tiny = d.add_constant("tiny", np.finfo(np.float32).tiny)
    some = d.add("Min", [d.add("Div", [extent, tiny]), one])
    scale = d.add("Max", [step, d.add("Sub", [one, some])], scale)
    steps = d.add("Neg", [d.add("Div", [low, scale])])
    zero = d.add("QuantizeLinear", [steps, one, d.add_constant("zero", np.uint8(0))], zero)
    return d.add("QuantizeLinear", [x, scale, zero], y), scale, zero


def _matmul_integer(d: Definition) -> None:
    sums, rounded = _products(d, d.less_zero(0, 2, -2), 1, 3)
    d.write_sums(sums, rounded=rounded)


def products_to_float(d: Definition, a: Operand, b: Operand) -> str:
    """The product of integers, each given by its input and those of its scale and zero point."""
    sums, _ = _products(d, d.less_zero(a[0], a[2], -2), b[0], b[2])
    return d.add("Mul", [sums, d.add("Mul", [d.input(a[1]), d.input(b[1])])])


def _matmul_to_float(d: Definition) -> None:
    _biased(d, products_to_float(d, (0, 2, 4), (1, 3, 5)), 6)


def _dynamic_matmul(d: Definition) -> None:
    d.check_real(0)
    x, scale, zero = quantised(d, d.input(0))
    one = d.add_constant("1", np.float32(1))
    sums, _ = _products(d, d.add("DequantizeLinear", [x, one, zero]), 1, 3)
    _biased(d, d.add("Mul", [sums, d.add("Mul", [scale, d.input(2)])]), 4)


def _biased(d: Definition, product: str, bias: int) -> None:
    """Make ``product``, and the bias at that input, what the node writes."""
    if d.input(bias):
        d.add("Add", [product, d.input(bias)], d.node.output[0])
    else:
        d.add("Identity", [product], d.node.output[0])


def _products(d: Definition, a: str, index: int, zero: int) -> tuple[str, bool]:
    """Sums of products of ``a``, integers less their zero point, with input ``index``; whether they
    may be rounded."""
    b, weights = d.less_zero(index, zero, -1), _less(d, index, zero, -1)
    if weights is not None:
        if not weights.ndim:
            raise d.rejected(f"{d.operands[index]} []", f"{d.operands[index]} has dimensions")
        axis = -2 if weights.ndim > 1 else 0
        return _summed(d, weights, axis, lambda w: d.add("MatMul", [a, w]), b)
    shape = d.shape(index)
    if shape:
        check_sums(d, _MOST * _MOST * shape[-2 if len(shape) > 1 else 0])
    return d.add("MatMul", [a, b]), False


def _conv_integer(d: Definition) -> None:
    x, w = d.less_zero(0, 2, 1), d.less_zero(1, 3, 0)
    weights = _less(d, 1, 3, 0)
    attrs, shape = d.attrs(*_WINDOW), d.shape(1)
    if weights is None:
        if shape is None:
            raise d.rejected("w of a shape computed at run time", "its shape is known")
        check_sums(d, _MOST * _MOST * math.prod(shape[1:]))
        d.write_sums(d.add("Conv", [x, w], **attrs))
        return
    axes = tuple(range(1, weights.ndim))
    sums, rounded = _summed(d, weights, axes, lambda each: d.add("Conv", [x, each], **attrs), w)
    d.write_sums(sums, rounded=rounded)


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
    if origin.size != 1:
        if not value.ndim or not origin.ndim or value.shape[axis] != origin.size or origin.ndim > 1:
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
) -> tuple[str, bool]:
    """Sums of products with ``weights``, along ``axis``: exact in float32 where none can be beyond
    2^24; else of their upper and lower bits, each exact, and added with one rounding, which is that
    of a Cast to float32.  The second says so."""
    most = _largest(weights, axis)
    if most < _EXACT:
        return product(whole), False
    upper = (weights + _HIGH // 2) // _HIGH
    lower = weights - _HIGH * upper
    check_sums(d, most if max(_largest(upper, axis), _largest(lower, axis)) >= _EXACT else 0)
    parts = []
    for name, values in (("upper", upper), ("lower", lower)):
        stored = d.add_constant(name, values.astype(np.int8))
        scale = d.add_constant(f"{name}/scale", np.float32(1))
        parts.append(product(d.add("DequantizeLinear", [stored, scale])))
    high = d.add("Mul", [parts[0], d.add_constant("upper/factor", np.float32(_HIGH))])
    return d.add("Add", [high, parts[1]]), True


def _largest(weights: Values, axis: int | tuple[int, ...]) -> int:
    return _MOST * int(np.abs(weights).sum(axis).max(initial=0))


def check_sums(d: Definition, most: int) -> None:
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
CONTRIBUTED: Mapping[str, Row] = {
    "MatMulIntegerToFloat": Row(
        "A B a_scale b_scale a_zero_point? b_zero_point? bias?", _matmul_to_float, rounds=False
    ),
    "DynamicQuantizeMatMul": Row("A B b_scale b_zero_point? bias?", _dynamic_matmul),
}
