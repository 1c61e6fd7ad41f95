"""Operators on real numbers that ONNX Runtime's optimiser makes of several standard ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from edgeconv.model.frontend.definitions.definition import Definition, Row, Write

_CONV = ("auto_pad", "kernel_shape", "strides", "pads", "dilations", "group")
_POOL = ("auto_pad", "kernel_shape", "strides", "pads", "dilations", "ceil_mode")
# Activation -> the attributes that activation_params has in this order.
_ACTIVATIONS: Mapping[str, Sequence[str]] = {
    "Relu": (),
    "Sigmoid": (),
    "Tanh": (),
    "LeakyRelu": ("alpha",),
    "HardSigmoid": ("alpha", "beta"),
    "Clip": ("min", "max"),
}


def number(d: Definition, name: str, value: float) -> str:
    """A float32 constant of no dimension."""
    return d.add_constant(name, np.float32(value))


def _activated(d: Definition, x: str, kind: str, params: Sequence[float]) -> None:
    """Make ``kind`` of ``x`` what the node writes."""
    y = d.node.output[0]
    if kind not in _ACTIVATIONS:
        raise d.rejected(f"activation {kind!r}", f"it is one of {', '.join(_ACTIVATIONS)}")
    named = dict(zip(_ACTIVATIONS[kind], map(float, params), strict=False))
    if kind == "Clip":
        bounds = (number(d, name, named[name]) if name in named else "" for name in ("min", "max"))
        d.add(kind, [x, *bounds], y)
    else:
        d.add(kind, [x], y, **named)


def text(d: Definition, name: str) -> str:
    """An attribute that is a text, "" where it is absent."""
    value = d.attr(name, b"")
    return value.decode(errors="replace") if isinstance(value, bytes) else ""


def _conv(d: Definition) -> None:
    """activation(Conv(X, W, B) + Z)."""
    y = d.add("Conv", [each for each in map(d.input, range(3)) if each], **d.attrs(*_CONV))
    y = d.add("Add", [y, d.input(3)]) if d.input(3) else y
    _activated_or_not(d, y, text(d, "activation"), d.numbers("activation_params"))


def _nhwc_conv(d: Definition) -> None:
    """Convolution of channels last; of the filters too, [M, kernel, C / group], where that fits."""
    shape, kernel = d.shape(1), d.numbers("kernel_shape", int)
    if shape is None:
        raise d.rejected("W of unknown rank", "the rank is known")
    last, rank = len(shape) - 1, len(shape)
    kernel = kernel or list(shape[1:-1] if d.node.op_type == "NhwcConv" else shape[2:])
    behind, before = [*shape[2:]] == kernel, [*shape[1:-1]] == kernel
    if not (behind or before):
        raise d.rejected(f"W {list(shape)}, kernel_shape {kernel}", "W has the kernel's sizes")
    by_channel = [0, last, *range(1, last)]
    names = [d.add("Transpose", [d.input(0)], perm=by_channel), d.input(1), d.input(2)]
    if before and (not behind or d.node.op_type == "NhwcConv"):
        names[1] = d.add("Transpose", [d.input(1)], perm=by_channel)
    y = d.add("Conv", [each for each in names if each], **d.attrs(*_CONV))
    y = d.add("Transpose", [y], perm=[0, *range(2, rank), 1])
    y = d.add("Add", [y, d.input(3)]) if d.input(3) else y
    _activated_or_not(d, y, text(d, "activation"), d.numbers("activation_params"))


def _gemm(d: Definition) -> None:
    y = d.add("Gemm", list(d.node.input), **d.attrs("alpha", "beta", "transA", "transB"))
    names = d.attrs("activation_alpha", "activation_beta", "activation_gamma")
    _activated_or_not(d, y, text(d, "activation"), [d.number(name, 0.0) for name in names])


def _activated_or_not(d: Definition, y: str, kind: str, params: Sequence[float]) -> None:
    if kind:
        _activated(d, y, kind, params)
    else:
        d.add("Identity", [y], d.node.output[0])


def _matmul(d: Definition) -> None:
    """alpha A' B', each with its last two dimensions or its stack turned."""
    factors = [_turned(d, i, f"trans{name}", f"transBatch{name}") for i, name in enumerate("AB")]
    alpha, y = d.number("alpha", 1.0), d.node.output[0]
    if alpha == 1.0:
        d.add("MatMul", factors, y)
    else:
        d.add("Mul", [d.add("MatMul", factors), number(d, "alpha", alpha)], y)


def _turned(d: Definition, index: int, last: str, stack: str) -> str:
    """An operand of `_matmul`: [M, stack..., K] of ``stack`` is [stack..., M, K] first."""
    x, shape = d.input(index), d.shape(index)
    if not d.flag(last) and not d.flag(stack):
        return x
    if shape is None or len(shape) < 2:
        if shape is not None and not d.flag(stack):  # as numpy's transpose of a vector
            return x
        raise d.rejected(f"{d.operands[index]} {list(shape or ())}", "it has two dimensions")
    axes = list(range(len(shape)))
    if d.flag(stack):
        axes = [*axes[1:-1], axes[0], axes[-1]]
    if d.flag(last):
        axes[-2:] = reversed(axes[-2:])
    return d.add("Transpose", [x], perm=axes)


def _biased(d: Definition) -> str:
    return d.add("Add", [d.input(0), d.input(1)]) if d.input(1) else d.input(0)


def _gelu(**attrs: Any) -> Write:
    def write(d: Definition) -> None:
        d.add("Gelu", [_biased(d)], d.node.output[0], **attrs)

    return write


def _quick_gelu(d: Definition) -> None:
    """x sigmoid(alpha x)."""
    alpha = number(d, "alpha", d.number("alpha", 1.702))
    gate = d.add("Sigmoid", [d.add("Mul", [d.input(0), alpha])])
    d.add("Mul", [d.input(0), gate], d.node.output[0])


def _summed(d: Definition, bias: int) -> str:
    """Input and skip, and a bias."""
    total = d.add("Add", [d.input(0), d.input(1)], "" if d.input(bias) else d.output(3))
    return d.add("Add", [total, d.input(bias)], d.output(3)) if d.input(bias) else total


def _only_sum(d: Definition) -> None:
    if any(d.output(i) for i in (1, 2)):
        raise d.rejected("mean or inverse deviation as outputs", "they are made in training only")


def _skip_layer_norm(d: Definition) -> None:
    _only_sum(d)
    inputs = [each for each in (_summed(d, 4), d.input(2), d.input(3)) if each]
    epsilon = d.number("epsilon", 1e-12)
    d.add("LayerNormalization", inputs, d.node.output[0], axis=-1, epsilon=epsilon)


def _skip_rms_norm(d: Definition) -> None:
    _only_sum(d)
    _rms_norm(d, _summed(d, 3), d.input(2), d.number("epsilon", 1e-12), [-1])


def _simplified_layer_norm(d: Definition) -> None:
    if d.output(1):
        raise d.rejected("inverse deviation as an output", "it is made in training only")
    axis, shape = d.integer("axis", -1), d.shape(0)
    if axis != -1 and shape is None:
        raise d.rejected(f"axis {axis} of an unknown rank", "the rank is known")
    rank = 1 if shape is None else len(shape)  # of an unknown one the axis is -1
    if not -rank <= axis < rank:
        raise d.rejected(f"axis {axis} of {list(shape or ())}", "it is an axis of the data")
    axes = [-1] if axis == -1 else list(range(axis % rank, rank))
    _rms_norm(d, d.input(0), d.input(1), d.number("epsilon", 1e-5), axes)


def _rms_norm(d: Definition, x: str, scale: str, epsilon: float, axes: Sequence[int]) -> None:
    """x / sqrt(mean(x^2) + epsilon) * scale."""
    squares = d.add("Mul", [x, x])
    along = d.add_constant("axes", np.asarray(axes, np.int64))
    mean = d.add("ReduceMean", [squares, along], keepdims=1)
    deviation = d.add("Sqrt", [d.add("Add", [mean, number(d, "epsilon", epsilon)])])
    d.add("Mul", [d.add("Div", [x, deviation]), scale], d.node.output[0])


def _max_pool(d: Definition) -> None:
    """Channels last."""
    rank = len(d.numbers("kernel_shape", int)) + 2
    planes = d.add("Transpose", [d.input(0)], perm=[0, rank - 1, *range(1, rank - 1)])
    y = d.add("MaxPool", [planes], **d.attrs(*_POOL))
    d.add("Transpose", [y], d.node.output[0], perm=[0, *range(2, rank), 1])


def _real(names: str, write: Write) -> Row:
    return Row(names, write, integers=False)


ROWS: Mapping[str, Row] = {
    "FusedConv": _real("X W B? Z?", _conv),
    "NhwcConv": _real("X W B?", _nhwc_conv),
    "NhwcFusedConv": _real("X W B? Z?", _nhwc_conv),
    "FusedGemm": _real("A B C?", _gemm),
    "FusedMatMul": _real("A B", _matmul),
    "TransposeMatMul": _real("A B", _matmul),
    "Gelu": _real("X", _gelu()),
    "BiasGelu": _real("A B", _gelu()),
    "FastGelu": _real("X bias?", _gelu(approximate="tanh")),
    "QuickGelu": _real("X", _quick_gelu),
    "SkipLayerNormalization": _real("input skip gamma beta? bias?", _skip_layer_norm),
    "SkipSimplifiedLayerNormalization": _real("input skip gamma bias?", _skip_rms_norm),
    "SimplifiedLayerNormalization": _real("X scale", _simplified_layer_norm),
    "NhwcMaxPool": _real("x", _max_pool),
}
