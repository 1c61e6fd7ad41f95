"""Apply an activation in the registers of the node that computes its argument."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from edgeconv.ir.activation import NONE, Activation
from edgeconv.ir.edit import Editor
from edgeconv.ir.graph import Epilogue, Node
from edgeconv.ir.grids import integers_for
from edgeconv.model.passes.base import Pass, Stage, at_each, fuses
from edgeconv.model.passes.clamp import compose

# Operators whose kernels of integers round once; those of a Conv or Dense round twice.
_ROUND_ONCE = frozenset({"Binary", "Pool", "Reduce", "Resize", "Softmax"})


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


def _is_table_behind(producer: Node, unary: Node, grids: Mapping[str, Activation]) -> bool:
    """Whether ``producer`` may be computed in integers if ``unary`` stays: it rounds once to eight
    bits then, and a table makes the other integer of each, at the cost of a load."""
    last, reads = unary.epilogue.before, producer.inputs
    if producer.op not in _ROUND_ONCE or not producer.epilogue.is_only_before:
        return False
    if compose(producer.epilogue.before, last) is not None:
        return False
    known = [producer.epilogue.before, last, *(grids.get(name, NONE) for name in reads)]
    return all((found := integers_for(each)) is not None and found.bits == 8 for each in known)


@at_each("Unary")
def run(position: int, editor: Editor) -> None:
    """Move a Unary into the epilogue of its producer where nothing else reads the argument."""
    node = editor.node(position)
    writer = editor.private_writer(node.inputs[0], position)
    if writer is None or not node.epilogue.is_only_before:
        return
    producer = editor.node(writer)
    epilogue = _fused(producer, node)
    if not fuses(producer.op) or len(producer.outputs) != 1 or epilogue is None:
        return
    if not _is_table_behind(producer, node, editor.grids):
        editor.absorb(writer, position, epilogue=epilogue)


PASS = Pass(
    run=run,
    requires="a Unary that alone reads the result of an operator with fuses=True, whose epilogue "
    "has room for it or an activation that combines with it, and which does not round to eight "
    "bits in integers what the Unary rounds again",
    ensures="the activation is in the producer's epilogue; the tensor in between is gone",
    stage=Stage.FUSE,
)
