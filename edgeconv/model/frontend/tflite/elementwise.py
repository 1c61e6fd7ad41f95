"""Operators on each element, and on rows of channels."""

from __future__ import annotations

from typing import Any

import numpy as np

from edgeconv.model.frontend.tflite.writing import (
    Translator,
    UnsupportedError,
    Writing,
    element,
    is_quantised,
)
from edgeconv.model.tflite import Operator


def unary(kind: str, **options: Any) -> Translator:
    """ONNX's ``kind`` of one operand."""

    def write(out: Writing, operator: Operator) -> None:
        out.result(operator, out.add(kind, [out.real(operator)], main=True, **options))

    return write


def bounded(kind: str) -> Translator:
    """An activation that is a ReLU with bounds."""

    def write(out: Writing, operator: Operator) -> None:
        out.result(operator, out.activation(kind, out.real(operator), main=True))

    return write


def binary(kind: str) -> Translator:
    """ONNX's ``kind`` of all operands, and the activation that is fused into it."""

    def write(out: Writing, operator: Operator) -> None:
        operands = [out.real(operator, index) for index in range(len(operator.inputs))]
        out.result(operator, out.activated(out.add(kind, operands, main=True), operator))

    return write


def rsqrt(out: Writing, operator: Operator) -> None:
    """RSQRT: 1 / sqrt(x)."""
    root = out.add("Sqrt", [out.real(operator)])
    out.result(operator, out.add("Reciprocal", [root], main=True))


def square(out: Writing, operator: Operator) -> None:
    """SQUARE: x x."""
    x = out.real(operator)
    out.result(operator, out.add("Mul", [x, x], main=True))


def squared_difference(out: Writing, operator: Operator) -> None:
    """SQUARED_DIFFERENCE: (x - y)^2."""
    d = out.add("Sub", [out.real(operator), out.real(operator, 1)])
    out.result(operator, out.add("Mul", [d, d], main=True))


def leaky_relu(out: Writing, operator: Operator) -> None:
    """LEAKY_RELU with its slope."""
    unary("LeakyRelu", alpha=operator.options["alpha"])(out, operator)


def gelu(out: Writing, operator: Operator) -> None:
    """GELU, by erf or by tanh."""
    unary("Gelu", approximate="tanh" if operator.options["approximate"] else "none")(out, operator)


def softmax(out: Writing, operator: Operator) -> None:
    """SOFTMAX of beta x over the last dimension."""
    x, beta = out.real(operator), operator.options["beta"]
    if beta != 1.0:
        x = out.add("Mul", [x, out.value(beta, np.float32)])
    out.result(operator, out.add("Softmax", [x], main=True, axis=-1))


def l2_normalisation(out: Writing, operator: Operator) -> None:
    """L2_NORMALIZATION over the last dimension."""
    y = out.add("LpNormalization", [out.real(operator)], main=True, axis=-1, p=2)
    out.result(operator, out.activated(y, operator))


def quantise(out: Writing, operator: Operator) -> None:
    """QUANTIZE real numbers, or integers of another scale."""
    if not is_quantised(out.model.tensors[operator.outputs[0]]):
        raise UnsupportedError("writes integers without a scale")
    out.result(operator, out.real(operator))


def dequantise(out: Writing, operator: Operator) -> None:
    """DEQUANTIZE integers; of float16 constants, which are read as float32."""
    out.result(operator, out.real(operator))


def cast(out: Writing, operator: Operator) -> None:
    """CAST between numbers: what can be evaluated when compiling, or is float32."""
    target = out.model.tensors[operator.outputs[0]]
    if not element(target):
        raise UnsupportedError(f"writes {target.dtype}")
    y = out.add("Cast", [out.stored(operator, 0)], main=True, to=element(target))
    out.move(operator, y)
