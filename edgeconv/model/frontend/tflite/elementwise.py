"""Operators on each element, and on rows of channels."""

from __future__ import annotations

from typing import Any

import numpy as np

from edgeconv.model.frontend.tflite.elements import alike, element, is_quantised, is_whole
from edgeconv.model.frontend.tflite.writing import Translator, UnsupportedError, Writing
from edgeconv.model.tflite import Operator

_ONLY_BOUNDS = (
    "brought to the grid of the result, as LiteRT's reference kernels do; TensorFlow Lite Micro "
    "only bounds the integers"
)
_COMPARED = (
    "its operands are on different grids and compared as the numbers that they stand for; "
    "TensorFlow Lite's kernels compare their integers"
)
_NEGATED = "counts from the zero point; LiteRT's kernel negates the integers as they are"
_SLOPES = "has slopes of 16 bits; LiteRT's kernel reads their bytes as slopes of 8"
_DIVIDED = "where the divisor is near 0 TensorFlow Lite's kernels make other numbers"


def unary(kind: str, **options: Any) -> Translator:
    """ONNX's ``kind`` of one operand."""

    def write(out: Writing, operator: Operator) -> None:
        _note(out, operator)
        out.result(operator, out.add(kind, [out.operand(operator)], main=True, **options))

    return write


def bounded(kind: str) -> Translator:
    """An activation that is a ReLU with bounds."""

    def write(out: Writing, operator: Operator) -> None:
        x, y = out.tensor(operator, 0), out.model.tensors[operator.outputs[0]]
        if kind.startswith("RELU") and kind != "RELU" and is_quantised(x) and not alike(x, y):
            out.differs(operator, _ONLY_BOUNDS)
        out.result(operator, out.activation(kind, out.real(operator), main=True))

    return write


def binary(kind: str) -> Translator:
    """ONNX's ``kind`` of all operands, and the activation that is fused into it."""

    def write(out: Writing, operator: Operator) -> None:
        operands = [out.operand(operator, index) for index in range(len(operator.inputs))]
        _note(out, operator)
        out.result(operator, out.activated(out.add(kind, operands, main=True), operator))

    return write


def prelu(out: Writing, operator: Operator) -> None:
    """PRELU.  Constant slopes of int16 become real numbers, which no kernel in integers takes."""
    tensor = out.tensor(operator, 1)
    wide = is_quantised(tensor) and tensor.dtype == "int16"
    if wide:
        out.differs(operator, _SLOPES)
    if wide and tensor.data is not None and len(tensor.scale) == 1:
        stored = out.constant(operator, 1, "slopes").astype(np.float32) - tensor.zero[0]
        slopes = out.value(stored * np.float32(tensor.scale[0]), np.float32)
    else:
        slopes = out.operand(operator, 1)
    out.result(operator, out.add("PRelu", [out.operand(operator), slopes], main=True))


def _note(out: Writing, operator: Operator) -> None:
    """Notes where kernels of integers with a scale are known to make something else."""
    tensors = [out.tensor(operator, index) for index in range(len(operator.inputs))]
    tensors.append(out.model.tensors[operator.outputs[0]])
    if not all(map(is_quantised, tensors)):
        return
    equal = all(alike(tensor, tensors[0]) for tensor in tensors)
    if operator.kind in ("MAXIMUM", "MINIMUM") and not equal:
        out.differs(operator, _COMPARED)
    if operator.kind == "NEG" and any(any(tensor.zero) for tensor in tensors):
        out.differs(operator, _NEGATED)
    if operator.kind == "DIV":
        out.differs(operator, _DIVIDED)


def rsqrt(out: Writing, operator: Operator) -> None:
    """RSQRT: 1 / sqrt(x)."""
    root = out.add("Sqrt", [out.real(operator)])
    out.result(operator, out.add("Reciprocal", [root], main=True))


def square(out: Writing, operator: Operator) -> None:
    """SQUARE: x x."""
    x = out.operand(operator)
    out.result(operator, out.add("Mul", [x, x], main=True))


def squared_difference(out: Writing, operator: Operator) -> None:
    """SQUARED_DIFFERENCE: (x - y)^2."""
    d = out.add("Sub", [out.operand(operator), out.operand(operator, 1)])
    out.result(operator, out.add("Mul", [d, d], main=True))


def floor_div(out: Writing, operator: Operator) -> None:
    """FLOOR_DIV: the quotient rounded down; ONNX rounds that of integers towards 0."""
    x, y = out.operand(operator), out.operand(operator, 1)
    tensor = out.tensor(operator, 0)
    quotient = out.add("Div", [x, y])
    if not is_whole(tensor):
        out.result(operator, out.add("Floor", [quotient], main=True))
        return
    zero = out.value(0, np.dtype(tensor.dtype))
    rest = out.add("Mod", [x, y])  # of the divisor's sign
    exact = out.add("Equal", [rest, zero])
    apart = out.add("Xor", [out.add("Less", [each, zero]) for each in (x, y)])
    down = out.add("And", [out.add("Not", [exact]), apart])
    one = out.add("Cast", [down], to=element(tensor))
    out.result(operator, out.add("Sub", [quotient, one], main=True))


def floor_mod(out: Writing, operator: Operator) -> None:
    """FLOOR_MOD: what is left of such a quotient, of the divisor's sign; ONNX's of real numbers is
    of the dividend's."""
    x, y = out.operand(operator), out.operand(operator, 1)
    if is_whole(out.tensor(operator, 0)):
        out.result(operator, out.add("Mod", [x, y], main=True))
        return
    rest, zero = out.add("Mod", [x, y], fmod=1), out.value(0, np.float32)
    apart = out.add("Xor", [out.add("Less", [each, zero]) for each in (rest, y)])
    other = out.add("And", [out.add("Not", [out.add("Equal", [rest, zero])]), apart])
    beyond = out.add("Add", [rest, y])
    out.result(operator, out.add("Where", [other, beyond, rest], main=True))


def arc_tangent(out: Writing, operator: Operator) -> None:
    """ATAN2 of y and x: atan(y / x), half a turn further where x is negative."""
    y, x = out.real(operator), out.real(operator, 1)
    zero, turn = out.value(0, np.float32), out.value(np.float32(np.pi), np.float32)
    right = out.add("Atan", [out.add("Div", [y, x])])
    below = out.add("Less", [y, zero])
    shifted = [out.add(kind, [right, turn]) for kind in ("Sub", "Add")]
    left = out.add("Where", [below, *shifted])
    found = out.add("Where", [out.add("Less", [x, zero]), left, right])
    nothing = out.add("And", [out.add("Equal", [each, zero]) for each in (x, y)])
    out.result(operator, out.add("Where", [nothing, zero, found], main=True))


def of_bits(kind: str, **options: str) -> Translator:
    """ONNX's ``kind`` of the bits of two integers."""

    def write(out: Writing, operator: Operator) -> None:
        operands = [out.stored(operator, index) for index in range(2)]
        out.move(operator, out.add(kind, operands, main=True, **options))

    return write


def fake_quant(out: Writing, operator: Operator) -> None:
    """FAKE_QUANT: numbers brought to a grid that has a 0, and back."""
    options = operator.options
    low, high = int(options["narrow"]), (1 << options["bits"]) - 1
    if not 2 <= options["bits"] <= 16 or not options["min"] < options["max"]:
        raise UnsupportedError(f"{options['bits']} bits from {options['min']} to {options['max']}")
    scale = np.float32(options["max"] - options["min"]) / np.float32(high - low)
    zero = np.clip(np.trunc(low - np.float32(options["min"]) / scale + 0.5), low, high)
    grid = [out.value(scale, np.float32), out.value(zero, np.uint16)]
    ends = (out.value((end - zero) * scale, np.float32) for end in (low, high))
    inside = out.add("Clip", [out.real(operator), *ends])
    stored = out.add("QuantizeLinear", [inside, *grid])
    out.result(operator, out.add("DequantizeLinear", [stored, *grid], main=True))


def leaky_relu(out: Writing, operator: Operator) -> None:
    """LEAKY_RELU with its slope."""
    unary("LeakyRelu", alpha=operator.options["alpha"])(out, operator)


def gelu(out: Writing, operator: Operator) -> None:
    """GELU, by erf or by tanh."""
    unary("Gelu", approximate="tanh" if operator.options["approximate"] else "none")(out, operator)


def softmax(out: Writing, operator: Operator) -> None:
    """SOFTMAX of beta x over the last dimension."""
    beta = operator.options["beta"]
    x = out.real(operator) if beta == 1.0 else out.scaled(operator, beta)
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
