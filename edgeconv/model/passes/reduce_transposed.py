"""Reduce a tensor before its Transpose instead of behind it: there is less left to move."""

from __future__ import annotations

from edgeconv.ir.edit import Editor
from edgeconv.ir.graph import Node, origins
from edgeconv.model.passes.base import Pass, at_each


@at_each("Reduce")
def run(position: int, editor: Editor) -> None:
    """Swap a Reduce with the Transpose in front of it."""
    node = editor.node(position)
    transpose = editor.made_by(node.inputs[0], "Transpose")
    if transpose is None or node.epilogue.residual:
        return
    source = editor.tensors[transpose.inputs[0]]
    perm = tuple(transpose.attrs["perm"])
    axes = tuple(sorted(perm[axis] for axis in node.attrs["axes"]))
    kept = [axis for axis in perm if axis not in axes]
    origin = origins(transpose, node)
    attrs = {**node.attrs, "axes": axes}
    if not node.attrs["keepdims"]:
        if kept == sorted(kept):
            editor.update(position, inputs=(source.name,), attrs=attrs, origin=origin)
        return
    shape = tuple(1 if axis in axes else dim for axis, dim in enumerate(source.shape))
    reduced = editor.add_tensor(f"{node.output}.untransposed", shape, like=source)
    name = editor.fresh_node(f"{node.name}.untransposed")
    editor.insert(
        position,
        Node(name, node.op, (source.name,), (reduced,), attrs, node.epilogue, origin),
    )
    editor.replace(
        position,
        Node(node.name, "Transpose", (reduced,), node.outputs, {"perm": perm}, origin=origin),
    )


PASS = Pass(
    run=run,
    requires="Reduce of a Transpose, with keepdims or leaving the other dimensions in order",
    ensures="the Reduce reads what the Transpose read",
    after=("compose_views",),
)
