"""Operators on integers of constant scales: ONNX's QLinearConv and QLinearMatMul, and what ONNX
Runtime has beside them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from edgeconv.model.frontend.definitions.definition import Definition, Row, Write

_UNARY = "X X_scale X_zero_point? Y_scale Y_zero_point?"
_BINARY = "A A_scale A_zero_point? B B_scale B_zero_point? C_scale C_zero_point?"
_WINDOW = ("auto_pad", "kernel_shape", "strides", "pads")


def _conv(d: Definition) -> None:
    """A bias counts in units of the product of both scales."""
    if d.scaled_at_run_time(1, 2, 4, 5, 6, 7) and not d.input(8):
        x, w = d.input(0), d.input(3)
        x = d.add("DequantizeLinear", [x, d.input(1), d.input(2)])
        w = d.add("DequantizeLinear", [w, d.input(4), d.input(5)], axis=0)
        y = d.add("Conv", [x, w], **d.attrs(*_WINDOW, "dilations", "group"))
        d.add("QuantizeLinear", [y, d.input(6), d.input(7)], d.node.output[0])
        return
    inputs = [d.real(0), d.real(3, axis=0)]
    inputs += d.bias(8, d.scales(1) * d.scales(4), 0)
    d.round(d.add("Conv", inputs, **d.attrs(*_WINDOW, "dilations", "group")), 6)


def _matmul(d: Definition) -> None:
    if d.scaled_at_run_time(1, 2, 4, 5, 6, 7):
        a, b = (d.add("DequantizeLinear", [d.input(i + j) for j in range(3)]) for i in (0, 3))
        scaling = [d.input(6), d.input(7)]
        d.add("QuantizeLinear", [d.add("MatMul", [a, b]), *scaling], d.node.output[0])
        return
    d.round(d.add("MatMul", [d.real(0, axis=-2), d.real(3, axis=-1)]), 6)


def _gemm(d: Definition) -> None:
    """C counts in units of alpha * a_scale * b_scale; without y_scale the result stays real."""
    inputs = [d.real(0), d.real(3, axis=0 if d.number("transB", 0) else 1)]
    inputs += d.bias(6, np.float32(d.number("alpha", 1.0)) * d.scales(1) * d.scales(4), -1)
    attrs = d.attrs("alpha", "transA", "transB")
    if d.input(7):
        d.round(d.add("Gemm", inputs, **attrs), 7)
    else:
        d.add("Gemm", inputs, d.node.output[0], **attrs)


def _binary(op: str) -> Write:
    return lambda d: d.round(d.add(op, [d.real(0), d.real(3)]), 6)


def _unary(op: str, *attributes: str) -> Write:
    return lambda d: d.round(d.add(op, [d.real(0)], **d.attrs(*attributes)), 3)


def _concat(d: Definition) -> None:
    parts = [d.real(i) for i in range(2, len(d.node.input), 3)]
    d.round(d.add("Concat", parts, axis=d.attr("axis")), 0)


def _mean(d: Definition) -> None:
    axes = d.numbers("axes", int)
    given = [d.add_constant("axes", np.asarray(axes, np.int64))] if axes else []
    keep = d.attrs("keepdims")
    d.round(d.add("ReduceMean", [d.real(0), *given], **keep), 3)


def _where(d: Definition) -> None:
    d.round(d.add("Where", [d.input(0), d.real(1), d.real(4)]), 7)


def _softmax(d: Definition) -> None:
    """Its attribute ``opset`` says whether ``axis`` is one dimension or the first of several."""
    x, along = d.real(0), d.number("opset", 13) >= 13
    axis = d.number("axis", -1 if along else 1)
    if along or axis == -1:
        return d.round(d.add("Softmax", [x], axis=axis), 3)
    rows = d.add("Softmax", [d.add("Flatten", [x], axis=axis)], axis=1)
    d.round(d.add("Reshape", [rows, d.add("Shape", [x])]), 3)
    return None


ROWS: Mapping[str, Row] = {
    "QLinearConv": Row(
        "x x_scale x_zero_point w w_scale w_zero_point y_scale y_zero_point B?", _conv
    ),
    "QLinearMatMul": Row(
        "a a_scale a_zero_point b b_scale b_zero_point y_scale y_zero_point", _matmul
    ),
    "QGemm": Row("A a_scale a_zero_point B b_scale b_zero_point C? y_scale? y_zero_point?", _gemm),
    "QLinearAdd": Row(_BINARY, _binary("Add")),
    "QLinearMul": Row(_BINARY, _binary("Mul")),
    "QLinearSigmoid": Row(_UNARY, _unary("Sigmoid")),
    "QLinearLeakyRelu": Row(_UNARY, _unary("LeakyRelu", "alpha")),
    "QLinearAveragePool": Row(
        _UNARY, _unary("AveragePool", *_WINDOW, "ceil_mode", "count_include_pad")
    ),
    "QLinearGlobalAveragePool": Row(_UNARY, _unary("GlobalAveragePool")),
    # ONNX Runtime's kernel overflows for some sizes and scales: of one element it makes 0, not 1.
    "QLinearSoftmax": Row(_UNARY, _softmax, engine_differs=True),
    "QLinearReduceMean": Row(
        "data data_scale data_zero_point? reduced_scale reduced_zero_point?", _mean
    ),
    "QLinearWhere": Row(
        "condition X x_scale x_zero_point Y y_scale y_zero_point z_scale z_zero_point", _where
    ),
    "QLinearConcat": Row("Y_scale Y_zero_point", _concat, "X X_scale X_zero_point"),
}
