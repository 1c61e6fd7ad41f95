"""One activation of a QuantizeLinear and the DequantizeLinear behind it."""

from __future__ import annotations

from edgeconv.ir.edit import Editor
from edgeconv.ir.graph import Epilogue, origins
from edgeconv.ir.quantisation import SUMS, integers_of, rounding_to
from edgeconv.model.passes.base import Pass, at_each


@at_each("Dequantise")
def run(position: int, editor: Editor) -> None:
    """The Dequantise at ``position`` may follow a Quantise of its scale and zero point."""
    node = editor.node(position)
    quantise = editor.writer(node.inputs[0])
    if quantise is None or editor.node(quantise).op != "Quantise":
        return
    first, encoding = editor.node(quantise), integers_of(node)
    if not encoding.is_per_tensor or integers_of(first) != encoding:
        return
    # int32 is made of whole numbers, which it has all of.
    sums = editor.tensors[first.output].dtype == SUMS
    epilogue = Epilogue() if sums else Epilogue(before=rounding_to(encoding))
    editor.update(
        position,
        op="Identity" if sums else "Unary",
        inputs=first.inputs[:1],
        attrs={},
        epilogue=epilogue,
        origin=origins(first, node),
    )
    # Who wants the integers too gets them of the same numbers, whose quotients are whole.
    if editor.readers(first.output) or first.output in editor.outputs:
        editor.update(quantise, inputs=node.outputs)


PASS = Pass(
    run=run,
    requires="a Dequantise of a Quantise with the same scale and zero point, per tensor",
    ensures="it is a Unary, or of int32 an Identity, of what the Quantise reads; the Quantise is "
    "gone unless others read it",
    after=("quantised_movement",),
)
