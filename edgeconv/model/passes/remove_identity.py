"""Remove nodes that copy their input: Identity, a Reshape to the same shape, a Pad by nothing..."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from edgeconv.ir.edit import Editor
from edgeconv.ir.graph import Node
from edgeconv.model.passes.base import Pass, at_each


def _always(node: Node, editor: Editor) -> bool:
    return True  # the shapes agree, which run() has made sure of


def _transpose(node: Node, editor: Editor) -> bool:
    perm = tuple(node.attrs["perm"])
    return perm == tuple(sorted(perm))


def _slice(node: Node, editor: Editor) -> bool:
    shape = editor.shape(node.output)
    return all(step == 1 or dim == 1 for step, dim in zip(node.attrs["steps"], shape, strict=True))


def _pad(node: Node, editor: Editor) -> bool:
    return not any(node.attrs["pads"])


def _pool(node: Node, editor: Editor) -> bool:
    window = (*node.attrs["kernel"], *node.attrs["strides"])
    return set(window) == {1} and not any(node.attrs["pads"])


def _single_input(node: Node, editor: Editor) -> bool:
    return len(node.inputs) == 1


def _gather(node: Node, editor: Editor) -> bool:
    indices = editor.constant(node.inputs[1])
    dim = editor.shape(node.output)[node.attrs["axis"]]
    return indices is not None and np.array_equal(indices, np.arange(dim))


def _affine(node: Node, editor: Editor) -> bool:
    scale, shift = editor.constant(node.inputs[1]), editor.constant(node.inputs[2])
    if scale is None or shift is None:
        return False
    return bool(np.all(scale == 1) and np.all(shift == 0))


def _neutral_constant(node: Node, editor: Editor) -> bool:
    neutral = {"add": 0.0, "sub": 0.0, "mul": 1.0, "div": 1.0, "pow": 1.0}.get(node.attrs["kind"])
    value = editor.constant(node.inputs[1])
    return neutral is not None and value is not None and bool(np.all(value == neutral))


def _resize(node: Node, editor: Editor) -> bool:
    return all(scale == 1 for scale in node.attrs["scales"])


def _dense(node: Node, editor: Editor) -> bool:
    """As saved recurrent layers have one, whose inputs are multiplied already."""
    weights = editor.constant(node.inputs[1])
    bias = editor.constant(node.inputs[2]) if len(node.inputs) > 2 and node.inputs[2] else 0.0
    if weights is None or bias is None or np.any(bias):
        return False
    return np.array_equal(weights, np.eye(len(weights)))


_COPIES: Mapping[str, Callable[[Node, Editor], bool]] = {
    "Affine": _affine,
    "Binary": _neutral_constant,
    "Concat": _single_input,
    "Dense": _dense,
    "Expand": _always,
    "Gather": _gather,
    "Identity": _always,
    "Pad": _pad,
    "Pool": _pool,
    "Reshape": _always,
    "Resize": _resize,
    "Slice": _slice,
    "Tile": _always,
    "Transpose": _transpose,
    "Unary": _always,
}


@at_each()
def run(position: int, editor: Editor) -> None:
    """Remove a node whose output equals its first input element by element."""
    node = editor.node(position)
    copies = _COPIES.get(node.op)
    if copies is None or not node.epilogue.is_empty:
        return
    source, target = editor.tensors[node.inputs[0]], editor.tensors[node.output]
    if (source.shape, source.dtype) == (target.shape, target.dtype) and copies(node, editor):
        editor.bypass(position)


PASS = Pass(
    run=run,
    requires="a node with an empty epilogue whose output repeats its first input",
    ensures="such a node exists only where it wires a caller's input or a constant to an output",
)
