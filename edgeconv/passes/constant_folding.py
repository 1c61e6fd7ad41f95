"""Evaluate nodes whose inputs are all constant.

The frontend folds constants of the model as it reads it; these arise when a rewrite makes an input
constant.  Operators whose result may be far larger than their inputs (Expand, Tile, Resize) stay
in the program: storing their result would trade flash for nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from edgeconv.ir.activation import Activation
from edgeconv.ir.edit import Editor
from edgeconv.ir.graph import Epilogue, Node
from edgeconv.ir.layout import Shape
from edgeconv.passes.base import Pass, at_each

Values = npt.NDArray[Any]

_erf = np.vectorize(math.erf, otypes=[np.float64])


def _gelu_tanh(x: Values) -> Any:
    return x / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


_ACTIVATIONS: Mapping[str, Callable[[Values, float, float], Any]] = {
    "none": lambda x, alpha, beta: x,
    "relu": lambda x, alpha, beta: np.maximum(x, 0),
    "clip": lambda x, alpha, beta: np.minimum(np.maximum(x, alpha), beta),
    "leaky_relu": lambda x, alpha, beta: np.where(x < 0, alpha * x, x),
    "hard_sigmoid": lambda x, alpha, beta: np.clip(alpha * x + beta, 0, 1),
    "hard_swish": lambda x, alpha, beta: x * np.clip(alpha * x + beta, 0, 1),
    "sigmoid": lambda x, alpha, beta: 1 / (1 + np.exp(-x)),
    "silu": lambda x, alpha, beta: x / (1 + np.exp(-x)),
    "tanh": lambda x, alpha, beta: np.tanh(x),
    "gelu": lambda x, alpha, beta: x / 2 * (1 + _erf(x / math.sqrt(2))),
    "gelu_tanh": lambda x, alpha, beta: _gelu_tanh(x),
    "elu": lambda x, alpha, beta: np.where(x < 0, alpha * np.expm1(np.minimum(x, 0)), x),
    "softplus": lambda x, alpha, beta: np.logaddexp(0, x),
    "erf": lambda x, alpha, beta: _erf(x),
    "exp": lambda x, alpha, beta: np.exp(x),
    "log": lambda x, alpha, beta: np.log(x),
    "sqrt": lambda x, alpha, beta: np.sqrt(x),
    "abs": lambda x, alpha, beta: np.abs(x),
    "neg": lambda x, alpha, beta: -x,
    "reciprocal": lambda x, alpha, beta: 1 / x,
    "floor": lambda x, alpha, beta: np.floor(x),
    "ceil": lambda x, alpha, beta: np.ceil(x),
    "round": lambda x, alpha, beta: np.round(x),
}

_BINARY: Mapping[str, Callable[[Values, Values], Any]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "min": np.minimum,
    "max": np.maximum,
    "pow": np.power,
    "prelu": lambda a, b: np.where(a < 0, a * b, a),
}


def _slice(node: Node, inputs: Sequence[Values], shape: Shape) -> Values:
    value = inputs[0]
    for axis, size in enumerate(shape):
        taken = node.attrs["starts"][axis] + node.attrs["steps"][axis] * np.arange(size)
        value = np.take(value, taken, axis)
    return value


def _affine(node: Node, inputs: Sequence[Values], shape: Shape) -> Any:
    x, scale, shift = inputs
    channels = (-1, *(1,) * (x.ndim - 2))
    return x * scale.reshape(channels) + shift.reshape(channels)


# Moving data keeps its type; arithmetic is done on float64 copies and rounded once.
_MOVES: Mapping[str, Callable[[Node, Sequence[Values], Shape], Any]] = {
    "Concat": lambda node, inputs, shape: np.concatenate(inputs, node.attrs["axis"]),
    "Gather": lambda node, inputs, shape: np.take(inputs[0], inputs[1], node.attrs["axis"]),
    "Identity": lambda node, inputs, shape: inputs[0],
    "Reshape": lambda node, inputs, shape: inputs[0].reshape(shape),
    "Slice": _slice,
    "Transpose": lambda node, inputs, shape: np.transpose(inputs[0], node.attrs["perm"]),
}
_REDUCE: Mapping[str, Callable[[Values, Shape], Any]] = {
    "l1": lambda x, axes: np.sum(np.abs(x), axes),
    "l2": lambda x, axes: np.sqrt(np.sum(np.square(x), axes)),
    "max": np.max,
    "mean": np.mean,
    "min": np.min,
    "prod": np.prod,
    "sum": np.sum,
    "sum_square": lambda x, axes: np.sum(np.square(x), axes),
}
_ARITHMETIC: Mapping[str, Callable[[Node, Sequence[Values], Shape], Any]] = {
    "Affine": _affine,
    "Binary": lambda node, inputs, shape: _BINARY[node.attrs["kind"]](inputs[0], inputs[1]),
    "Reduce": lambda node, inputs, shape: np.asarray(
        _REDUCE[node.attrs["kind"]](inputs[0], tuple(node.attrs["axes"]))
    ).reshape(shape),
    "Unary": lambda node, inputs, shape: inputs[0],
}


def _activate(function: Activation, x: Values) -> Any:
    if function.kind == "grid":
        steps = x.astype(np.float32) / np.float32(function.alpha)  # as kernels and ONNX divide
        whole = np.clip(np.rint(steps), function.beta, function.gamma)
        return whole * function.alpha
    return _ACTIVATIONS[function.kind](x, function.alpha, function.beta)


def _value(node: Node, editor: Editor) -> Values | None:
    """The value of the node's output, or None when it cannot be had before run time."""
    inputs = [editor.constant(name) for name in node.inputs]
    present = [value for value in inputs if value is not None]
    output = editor.tensors[node.output]
    if len(present) != len(inputs) or not inputs or node.epilogue.residual:
        return None
    with np.errstate(all="ignore"):  # an infinity or NaN is what the program would compute too
        if node.op in _MOVES and node.epilogue.is_empty:
            value = _MOVES[node.op](node, present, output.shape)
        elif node.op in _ARITHMETIC and np.dtype(output.dtype).kind == "f":
            wide = [operand.astype(np.float64) for operand in present]
            value = _ARITHMETIC[node.op](node, wide, output.shape)
            value = _activate(node.epilogue.after, _activate(node.epilogue.before, value))
        else:
            return None
        return np.ascontiguousarray(value.astype(output.dtype)).reshape(output.shape)


@at_each()
def run(position: int, editor: Editor) -> None:
    """Replace a node of constant inputs by its value, under the same tensor name.

    What writes a graph output copies its value there.
    """
    node = editor.node(position)
    written = node.output in editor.outputs  # the caller's buffer has to be
    value = None if written and node.op == "Identity" else _value(node, editor)
    if value is None:
        return
    if written:
        name = editor.add_constant(f"{node.output}/value", value)
        editor.update(position, op="Identity", inputs=(name,), attrs={}, epilogue=Epilogue())
    else:
        editor.make_constant(position, value)


PASS = Pass(
    name="constant_folding",
    run=run,
    requires="an element-wise, reducing or data-moving node of constants",
    ensures="no such node but copies to graph outputs",
    after=("remove_identity",),
)
