"""Take a Slice from the one input of a Concat that it lies in."""

from __future__ import annotations

from edgeconv.ir.edit import Editor
from edgeconv.ir.graph import origins
from edgeconv.model.passes.base import Pass, at_each


@at_each("Slice")
def run(position: int, editor: Editor) -> None:
    """The Slice at ``position`` may take one input of a Concat, or a part of it."""
    node = editor.node(position)
    concat = editor.made_by(node.inputs[0], "Concat")
    if concat is None:
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
            attrs = {"starts": moved, "steps": steps}
            editor.update(position, inputs=(name,), attrs=attrs, origin=origins(concat, node))
            return
        begin = end


PASS = Pass(
    run=run,
    requires="a Slice of a Concat that lies within one of its inputs",
    ensures="the Slice reads that input; a Slice of all of it is left to remove_identity",
    after=("remove_identity",),
)
