"""The square of a difference as one node, where TensorFlow Lite's kernels round it as one."""

from __future__ import annotations

from edgeconv.ir.edit import Editor
from edgeconv.ir.graph import origins
from edgeconv.ir.requantisation import TFLITE
from edgeconv.model.passes.base import Pass, at_each


@at_each("Binary")
def run(position: int, editor: Editor) -> None:
    """The Binary at ``position`` may multiply a difference with itself."""
    node = editor.node(position)
    first, second = node.inputs
    if editor.graph.requantise != TFLITE or node.attrs["kind"] != "mul" or first != second:
        return
    difference = editor.made_by(first, "Binary")
    alone = editor.readers(first) == [position] and first not in editor.outputs
    if difference is not None and difference.attrs["kind"] == "sub" and alone:
        attrs = {**difference.attrs, "kind": "squared_difference"}
        both = origins(difference, node)
        editor.update(position, inputs=difference.inputs, attrs=attrs, origin=both)


PASS = Pass(
    run=run,
    requires="of a network with results of TensorFlow Lite's kernels a Binary mul of a Binary sub "
    "with itself, that nothing else reads",
    ensures="both are a Binary squared_difference",
)
