"""Merge a Gather by constant indices with the Gathers and Slices behind it."""

from __future__ import annotations

import numpy as np

from edgeconv.ir.edit import Editor
from edgeconv.ir.graph import Node, origins
from edgeconv.model.passes.base import Pass, at_each
from edgeconv.model.passes.channels import Indices, constant_indices


def _selected(reader: Node, axis: int, editor: Editor) -> Indices | None:
    """What ``reader`` takes of its input along ``axis``, if it leaves the others alone."""
    if reader.op == "Gather":
        return constant_indices(reader, editor) if reader.attrs["axis"] == axis else None
    if reader.op != "Slice":
        return None
    before, after = editor.shape(reader.inputs[0]), editor.shape(reader.output)
    steps = reader.attrs["steps"]
    others = (other for other in range(len(after)) if other != axis)
    if any(before[o] != after[o] or (steps[o] != 1 and after[o] > 1) for o in others):
        return None
    taken = reader.attrs["starts"][axis] + steps[axis] * np.arange(after[axis], dtype=np.int64)
    return np.asarray(taken)


def _compose(position: int, editor: Editor) -> None:
    """Let every reader of a Gather take from its source; it stays when one of them cannot."""
    node = editor.node(position)
    indices = constant_indices(node, editor)
    readers = editor.readers(node.output)
    if indices is None or node.output in editor.outputs or not node.epilogue.is_empty:
        return
    axis = node.attrs["axis"]
    selections = [_selected(editor.node(reader), axis, editor) for reader in readers]
    for target, selection in zip(readers, selections, strict=True):
        if selection is None or any(s is None for s in selections):
            return
        reader = editor.node(target)
        name = editor.add_constant(f"{reader.output}.indices", indices[selection])
        editor.update(
            target,
            op="Gather",
            inputs=(node.inputs[0], name),
            attrs={"axis": axis},
            origin=origins(node, reader),
        )


def _as_slice(position: int, editor: Editor) -> None:
    """A Gather of neighbours is a Slice, which may need no code at all."""
    node = editor.node(position)
    indices = constant_indices(node, editor)
    if indices is None or indices.size == 0 or np.any(np.diff(indices) != 1):
        return
    rank, axis = len(editor.shape(node.output)), node.attrs["axis"]
    starts = tuple(int(indices[0]) if other == axis else 0 for other in range(rank))
    attrs = {"starts": starts, "steps": (1,) * rank}
    editor.update(position, op="Slice", inputs=node.inputs[:1], attrs=attrs)


@at_each("Gather")
def run(position: int, editor: Editor) -> None:
    """Compose Gathers along one axis; turn those of consecutive indices into Slices."""
    _compose(position, editor)
    _as_slice(position, editor)


PASS = Pass(
    run=run,
    requires="a Gather by a constant vector read only by such Gathers and Slices of the same axis",
    ensures="they read its source; a Gather of consecutive indices is a Slice",
    after=("channel_shuffle",),
)
