"""Arithmetic with one constant per channel becomes an Affine, which folds into weights.

A scalar stays a scalar, which takes less flash, unless it stands next to what it may fold into.
"""

from __future__ import annotations

import numpy as np

from edgeconv.ir.edit import Editor
from edgeconv.ir.graph import Array
from edgeconv.ir.layout import Shape
from edgeconv.ir.quantisation import OF_SCALE
from edgeconv.ir.requantisation import TFLITE
from edgeconv.model.passes.base import Pass, at_each
from edgeconv.model.passes.scaling import of_binary

AS_WRITTEN = "as_written"  # attribute of a division that is none by the reciprocal
_FOLDS = frozenset({"Affine", "Conv"})


def per_channel(value: Array, shape: Shape) -> Array | None:
    """``value`` as one number per channel of a (N, C, ...) tensor of ``shape``.

    None when it varies along another dimension or would broadcast the tensor to a larger one.
    """
    if value.ndim > len(shape):
        return None
    aligned = (1,) * (len(shape) - value.ndim) + value.shape
    if any(dim != 1 for axis, dim in enumerate(aligned) if axis != 1):
        return None
    if aligned[1] not in (1, shape[1]):
        return None
    return np.broadcast_to(value.reshape(-1), (shape[1],))


def _may_fold(position: int, editor: Editor) -> bool:
    """Whether a Conv or Affine stands next to the node, with no other reader in between."""
    node = editor.node(position)
    reader = editor.sole_reader(node.output)
    if reader is not None and editor.node(reader).op in _FOLDS and node.epilogue.is_empty:
        return True
    for name in node.inputs:
        producer = editor.producer(name)
        if producer is not None and producer.op in _FOLDS and producer.epilogue.is_empty:
            return editor.sole_reader(name) == position
    return False


def _scale_shift(position: int, editor: Editor) -> tuple[str, Array, Array] | None:
    """(tensor, scale, shift) when the node is such arithmetic on a tensor of rank 3 or more."""
    node = editor.node(position)
    if AS_WRITTEN in node.attrs or (OF_SCALE in node.attrs and editor.graph.requantise == TFLITE):
        return None  # of which TensorFlow Lite's kernels make something of their own
    shape = editor.shape(node.output)
    for which, name in enumerate(node.inputs):
        value = editor.constant(name)
        if value is None:
            continue
        tensor = node.inputs[1 - which]
        if editor.constant(tensor) is not None or editor.shape(tensor) != shape or len(shape) < 3:
            return None
        channels = per_channel(value, shape)
        if channels is None or (value.size == 1 and not _may_fold(position, editor)):
            return None
        pair = of_binary(node, which, channels)
        if pair is not None:
            return tensor, pair[0].astype(value.dtype), pair[1].astype(value.dtype)
    return None


@at_each("Binary")
def run(position: int, editor: Editor) -> None:
    """Rewrite Binary add, sub, mul and div with a per-channel constant as Affine."""
    found = _scale_shift(position, editor)
    if found is not None:
        tensor, scale, shift = found
        output = editor.node(position).output
        names = (
            editor.add_constant(f"{output}.scale", scale),
            editor.add_constant(f"{output}.shift", shift),
        )
        editor.update(position, op="Affine", inputs=(tensor, *names), attrs={})


PASS = Pass(
    run=run,
    requires="Binary add, sub, mul or div of a (N, C, ...) tensor of rank >= 3 with a constant "
    "that varies along the channels only, or a scalar if a Conv or Affine is next to it",
    ensures="it is an Affine",
    after=("fold_dense_bias", "recognise_activations"),
)
