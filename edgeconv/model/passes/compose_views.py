"""Merge Reshapes and Transposes in a row, and spell as Reshape what moves no element."""

from __future__ import annotations

from edgeconv.ir.edit import Editor
from edgeconv.ir.graph import Node, origins
from edgeconv.ir.layout import Shape
from edgeconv.model.passes.base import Pass, at_each


def keeps_order(perm: tuple[int, ...], shape: Shape) -> bool:
    """Whether a Transpose of a tensor of ``shape`` leaves its elements where they are in memory."""
    moved = [axis for axis in perm if shape[axis] != 1]
    return moved == sorted(moved)


def _single_element_axes(node: Node, editor: Editor) -> bool:
    """A Reduce over dimensions of size 1 by an operation that returns its only operand."""
    shape = editor.shape(node.inputs[0])
    plain = node.attrs["kind"] in ("mean", "sum", "max", "min", "prod")
    return plain and all(shape[axis] == 1 for axis in node.attrs["axes"])


def _is_view(node: Node, editor: Editor) -> bool:
    """Whether ``node``, which is no Reshape, gives its input's elements in the same order."""
    if not node.epilogue.is_empty:
        return False
    if node.op == "Transpose":
        return keeps_order(tuple(node.attrs["perm"]), editor.shape(node.inputs[0]))
    return node.op == "Reduce" and _single_element_axes(node, editor)


def _compose(position: int, editor: Editor) -> None:
    """Let a Reshape or Transpose read what the one in front of it reads."""
    node = editor.node(position)
    first = editor.made_by(node.inputs[0], node.op) if node.inputs else None
    if first is None or node.op not in ("Reshape", "Transpose"):
        return
    attrs = dict(node.attrs)
    if node.op == "Transpose":
        attrs["perm"] = tuple(first.attrs["perm"][axis] for axis in node.attrs["perm"])
    editor.update(position, inputs=first.inputs, attrs=attrs, origin=origins(first, node))


@at_each()
def run(position: int, editor: Editor) -> None:
    """Compose chains of views; the first of a chain dies unless something else reads it."""
    _compose(position, editor)
    if _is_view(editor.node(position), editor):
        editor.update(position, op="Reshape", attrs={})
        _compose(position, editor)


PASS = Pass(
    run=run,
    requires="a Reshape of a Reshape, a Transpose of a Transpose, a Transpose that moves "
    "dimensions of size 1 only, a Reduce over such dimensions",
    ensures="at most one Reshape or Transpose in a row; none that is the other in disguise",
    after=("remove_identity",),
)
