"""Compute equal things once: same operator, inputs, attributes and epilogue."""

from __future__ import annotations

from edgeconv.ir.edit import Editor
from edgeconv.ir.graph import Graph, Node
from edgeconv.model.passes.base import Pass


def _key(node: Node, editor: Editor) -> tuple[object, ...]:
    """Equal for nodes that compute the same.

    Attributes are plain values, so repr tells all; Reshape and Expand have their result's shape
    in the output tensor only.
    """
    attrs = tuple(sorted((name, repr(value)) for name, value in node.attrs.items()))
    shapes = tuple(editor.shape(out) if out else None for out in node.outputs)
    return node.op, node.inputs, attrs, node.epilogue, shapes


def run(graph: Graph) -> Graph:
    """Let the readers of a repeated node read the first of its kind."""
    editor = Editor(graph)
    first: dict[tuple[object, ...], int] = {}
    for position in editor:
        node = editor.node(position)
        known = first.setdefault(_key(node, editor), position)
        if known == position or any(out in editor.outputs for out in node.outputs):
            continue  # the caller wants an output under its own name
        for mine, theirs in zip(node.outputs, editor.node(known).outputs, strict=True):
            if mine:
                editor.rename_uses(mine, theirs)
    return editor.finish()


PASS = Pass(
    run=run,
    requires="two nodes with equal operator, inputs, attributes, epilogue and output shapes",
    ensures="results that are not graph outputs are computed once",
    after=("remove_identity",),
)
