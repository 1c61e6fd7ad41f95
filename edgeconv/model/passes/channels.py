"""What passes that move channels have in common: Gathers over axis 1 and Conv weights."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from edgeconv.ir.edit import Editor
from edgeconv.ir.graph import Node

Indices = npt.NDArray[np.int64]

CHANNELS = 1  # the axis


def constant_indices(node: Node, editor: Editor) -> Indices | None:
    """The indices, counted from 0, of a Gather by a constant vector; None for other nodes."""
    if node.op != "Gather":
        return None
    indices = editor.constant(node.inputs[1])
    if indices is None or indices.ndim != 1:
        return None
    size = editor.shape(node.inputs[0])[node.attrs["axis"]]
    counted: Indices = np.asarray(indices, dtype=np.int64) % size
    return counted


def channel_indices(node: Node, editor: Editor) -> Indices | None:
    """``constant_indices`` of a Gather of whole channels of (N, C, spatial...)."""
    if node.op != "Gather" or node.attrs["axis"] != CHANNELS or not node.epilogue.is_empty:
        return None
    return constant_indices(node, editor) if len(editor.shape(node.output)) > 2 else None


def is_permutation(indices: Indices, size: int) -> bool:
    """Whether ``indices`` has each of 0 .. size - 1 once."""
    return np.array_equal(np.sort(indices), np.arange(size))


def is_ungrouped(node: Node, editor: Editor) -> bool:
    """A Conv of constant weights in which every output channel reads every input channel."""
    return node.op == "Conv" and node.attrs["groups"] == 1 and _has_constants(node, editor)


def is_depthwise(node: Node, editor: Editor) -> bool:
    """A Conv of constant weights with one filter per channel."""
    if node.op != "Conv" or not _has_constants(node, editor):
        return False
    out_c, in_c = editor.shape(node.inputs[1])[:2]
    return bool(in_c == 1 and node.attrs["groups"] == out_c)


def _has_constants(node: Node, editor: Editor) -> bool:
    return all(not name or editor.constant(name) is not None for name in node.inputs[1:])


def permuted_inputs(node: Node, order: Indices, editor: Editor) -> tuple[str, ...]:
    """Inputs of an ungrouped Conv whose in_c ``i`` is what was in_c ``order[i]``."""
    weights = editor.tensors[node.inputs[1]].constant()
    name = editor.add_constant(f"{node.inputs[1]}.permuted", np.take(weights, order, axis=1))
    return (node.inputs[0], name, *node.inputs[2:])


def permuted_outputs(node: Node, order: Indices, editor: Editor) -> tuple[str, ...]:
    """Inputs of a Conv whose out_c ``i`` computes what was out_c ``order[i]``."""
    names = (
        editor.add_constant(
            f"{name}.permuted", np.take(editor.tensors[name].constant(), order, axis=0)
        )
        if name
        else ""
        for name in node.inputs[1:]
    )
    return (node.inputs[0], *names)
