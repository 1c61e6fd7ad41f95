"""Evaluate nodes whose inputs are all constant.

The frontend folds constants of the model as it reads it; these arise when a rewrite makes an input
constant.  Operators whose result may be far larger than their inputs (Expand, Tile, Resize) stay
in the program: storing their result would trade flash for nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from edgeconv.ir.edit import Editor
from edgeconv.ir.graph import Epilogue, Node
from edgeconv.ir.layout import Shape
from edgeconv.kernels.lowering.activations import evaluate
from edgeconv.kernels.lowering.binary_values import BINARY
from edgeconv.model.passes.base import Pass, at_each

Values = npt.NDArray[Any]


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
    "Binary": lambda node, inputs, shape: BINARY[node.attrs["kind"]](inputs[0], inputs[1]),
    "Reduce": lambda node, inputs, shape: np.asarray(
        _REDUCE[node.attrs["kind"]](inputs[0], tuple(node.attrs["axes"]))
    ).reshape(shape),
    "Unary": lambda node, inputs, shape: inputs[0],
}


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
            value = evaluate(node.epilogue.after, evaluate(node.epilogue.before, value))
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
    run=run,
    requires="an element-wise, reducing or data-moving node of constants",
    ensures="no such node but copies to graph outputs",
    after=("remove_identity",),
)
