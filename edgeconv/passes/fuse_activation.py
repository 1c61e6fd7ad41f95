"""Apply an activation in the registers of the node that computes its argument."""

from __future__ import annotations

from dataclasses import replace

from edgeconv.ir.activation import NONE
from edgeconv.ir.edit import Editor
from edgeconv.ir.graph import Epilogue, Node
from edgeconv.passes.base import Pass, Stage, at_each, fuses
from edgeconv.passes.clamp import compose


def _fused(producer: Node, unary: Node) -> Epilogue | None:
    """The producer's epilogue with the activation of ``unary`` behind it."""
    epilogue, function = producer.epilogue, unary.epilogue.before
    if not epilogue.residual and epilogue.after == NONE:
        both = compose(epilogue.before, function)
        if both is None and function.kind == "grid":  # a residual would go in front of it
            return replace(epilogue, after=function)
        return replace(epilogue, before=both) if both is not None else None
    both = compose(epilogue.after, function)
    return replace(epilogue, after=both) if both is not None else None


@at_each("Unary")
def run(position: int, editor: Editor) -> None:
    """Move a Unary into the epilogue of its producer where nothing else reads the argument."""
    node = editor.node(position)
    writer = editor.private_writer(node.inputs[0], position)
    if writer is None or not node.epilogue.is_only_before:
        return
    producer = editor.node(writer)
    epilogue = _fused(producer, node)
    if fuses(producer.op) and len(producer.outputs) == 1 and epilogue is not None:
        editor.absorb(writer, position, epilogue=epilogue)


PASS = Pass(
    name="fuse_activation",
    run=run,
    requires="a Unary that alone reads the result of an operator with fuses=True, whose epilogue "
    "has room for it or an activation that combines with it",
    ensures="the activation is in the producer's epilogue; the tensor in between is gone",
    stage=Stage.FUSE,
)
