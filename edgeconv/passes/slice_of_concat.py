"""Take a Slice from the one input of a Concat that it lies in."""

from __future__ import annotations

from dataclasses import replace

from edgeconv.ir.edit import Editor
from edgeconv.ir.graph import Graph
from edgeconv.passes.base import Pass


def _rewrite(position: int, editor: Editor) -> None:
    node = editor.node(position)
    concat = editor.producer(node.inputs[0])
    if concat is None or concat.op != "Concat" or not concat.epilogue.is_empty:
        return
    axis = concat.attrs["axis"]
    starts, steps = node.attrs["starts"], node.attrs["steps"]
    size = editor.shape(node.output)[axis]
    if size == 0:
        return
    ends = starts[axis], starts[axis] + (size - 1) * steps[axis]
    begin = 0
    for name in concat.inputs:
        end = begin + editor.shape(name)[axis]
        if begin <= min(ends) and max(ends) < end:
            moved = (*starts[:axis], starts[axis] - begin, *starts[axis + 1 :])
            origin = tuple(dict.fromkeys((*concat.origin, *node.origin)))
            attrs = {"starts": moved, "steps": steps}
            editor.replace(position, replace(node, inputs=(name,), attrs=attrs, origin=origin))
            return
        begin = end


def run(graph: Graph) -> Graph:
    """Bypass every Concat that a Slice takes one input, or a part of it, from."""
    editor = Editor(graph)
    for position in editor:
        if editor.node(position).op == "Slice":
            _rewrite(position, editor)
    return editor.finish()


PASS = Pass(
    name="slice_of_concat",
    run=run,
    requires="a Slice of a Concat that lies within one of its inputs",
    ensures="the Slice reads that input; a Slice of all of it is left to remove_identity",
    after=("remove_identity",),
)
