"""Arithmetic with one constant per channel becomes an Affine, which folds into weights.

A scalar stays a scalar, which takes less flash, unless it stands next to what it may fold into.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import numpy.typing as npt

from edgeconv.ir.edit import Editor
from edgeconv.ir.graph import Array, Graph
from edgeconv.ir.layout import Shape
from edgeconv.passes.base import Pass, fuses

_FOLDS = frozenset({"Affine", "Conv"})

Reals = npt.NDArray[np.float64]

# (kind, position of the constant) -> constant to (scale, shift), in float64
_SCALE_SHIFT: Mapping[tuple[str, int], Callable[[Reals], tuple[Reals, Reals]]] = {
    ("add", 0): lambda c: (np.ones_like(c), c),
    ("add", 1): lambda c: (np.ones_like(c), c),
    ("sub", 0): lambda c: (-np.ones_like(c), c),
    ("sub", 1): lambda c: (np.ones_like(c), -c),
    ("mul", 0): lambda c: (c, np.zeros_like(c)),
    ("mul", 1): lambda c: (c, np.zeros_like(c)),
    ("div", 1): lambda c: (1 / c, np.zeros_like(c)),
}


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
    shape = editor.shape(node.output)
    for which, name in enumerate(node.inputs):
        value = editor.constant(name)
        convert = _SCALE_SHIFT.get((node.attrs["kind"], which))
        if value is None or value.dtype.kind != "f" or convert is None:
            continue
        tensor = node.inputs[1 - which]
        if editor.constant(tensor) is not None or editor.shape(tensor) != shape or len(shape) < 3:
            return None
        channels = per_channel(value, shape)
        if channels is None or (value.size == 1 and not _may_fold(position, editor)):
            return None
        with np.errstate(divide="ignore", over="ignore"):
            pair = convert(channels.astype(np.float64))
            scale, shift = (part.astype(value.dtype) for part in pair)
        if not (np.isfinite(scale).all() and np.isfinite(shift).all()):
            return None  # 1 / c overflows where x / c need not
        return tensor, scale, shift
    return None


def run(graph: Graph) -> Graph:
    """Rewrite Binary add, sub, mul and div with a per-channel constant as Affine."""
    editor = Editor(graph)
    for position in editor:
        node = editor.node(position)
        if node.op != "Binary" or not (node.epilogue.is_empty or fuses("Affine")):
            continue
        found = _scale_shift(position, editor)
        if found is not None:
            tensor, scale, shift = found
            names = (
                editor.add_constant(f"{node.output}.scale", scale),
                editor.add_constant(f"{node.output}.shift", shift),
            )
            editor.update(position, op="Affine", inputs=(tensor, *names), attrs={})
    return editor.finish()


PASS = Pass(
    name="binary_to_affine",
    run=run,
    requires="Binary add, sub, mul or div of a (N, C, ...) tensor of rank >= 3 with a constant "
    "that varies along the channels only, or a scalar if a Conv or Affine is next to it",
    ensures="it is an Affine",
    after=("fold_dense_bias", "recognise_activations"),
)
