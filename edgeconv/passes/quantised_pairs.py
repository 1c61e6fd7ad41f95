"""One activation of a QuantizeLinear and the DequantizeLinear behind it."""

from __future__ import annotations

from edgeconv.ir.edit import Editor
from edgeconv.ir.graph import Epilogue, Graph, Node
from edgeconv.ir.quantisation import integers_of, rounding_to
from edgeconv.passes.base import Pass


def _pair(position: int, editor: Editor) -> None:
    node = editor.node(position)
    quantise = editor.writer(node.inputs[0])
    if quantise is None or editor.node(quantise).op != "Quantise":
        return
    first, encoding = editor.node(quantise), integers_of(node)
    if not encoding.is_per_tensor or integers_of(first) != encoding:
        return
    epilogue = Epilogue(before=rounding_to(encoding))
    origin = tuple(dict.fromkeys((*first.origin, *node.origin)))
    inputs = (first.inputs[0],)
    editor.replace(
        position, Node(node.name, "Unary", inputs, node.outputs, epilogue=epilogue, origin=origin)
    )
    # Who wants the integers too gets them of the same numbers, whose quotients are whole.
    if editor.readers(first.output) or first.output in editor.outputs:
        editor.update(quantise, inputs=node.outputs)


def run(graph: Graph) -> Graph:
    """Replace every such pair of one scale and zero point."""
    editor = Editor(graph)
    for position in editor:
        if editor.node(position).op == "Dequantise":
            _pair(position, editor)
    return editor.finish()


PASS = Pass(
    name="quantised_pairs",
    run=run,
    requires="a Dequantise of a Quantise with the same scale and zero point, per tensor",
    ensures="it is a Unary of what the Quantise reads; the Quantise is gone unless others read it",
    after=("quantised_movement",),
)
