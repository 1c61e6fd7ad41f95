"""Add a residual in the registers of the convolution whose result it is added to."""

from __future__ import annotations

from edgeconv.ir.activation import NONE
from edgeconv.ir.edit import Editor
from edgeconv.ir.graph import Epilogue, Node
from edgeconv.model.passes.base import Pass, Stage, at_each

_HOSTS = frozenset({"Conv", "Dense"})


def _adds_tensors(node: Node, editor: Editor) -> bool:
    """Whether ``node`` adds two run-time tensors of one shape; at most an activation follows."""
    if node.attrs["kind"] != "add" or node.epilogue.residual:
        return False
    shape = editor.shape(node.output)
    return node.epilogue.after == NONE and all(
        editor.constant(name) is None and editor.shape(name) == shape for name in node.inputs
    )


def _host(position: int, editor: Editor) -> tuple[int, str] | None:
    """(producer that takes the addition, residual); of two candidates the one that runs later.

    The other is then complete when it is needed, and the order of execution stays as it is.
    """
    best: tuple[int, str] | None = None
    operands = editor.node(position).inputs
    for name, other in (operands, operands[::-1]):
        writer = editor.private_writer(name, position)
        if writer is None:
            continue
        producer = editor.node(writer)
        if producer.op not in _HOSTS or not producer.epilogue.is_only_before:
            continue
        if best is None or editor.runs_after(writer, best[0]):
            best = writer, other
    return best


@at_each("Binary")
def run(position: int, editor: Editor) -> None:
    """Turn Binary add into the residual of a Conv or Dense that nothing else reads."""
    node = editor.node(position)
    host = _host(position, editor) if _adds_tensors(node, editor) else None
    if host is not None:
        writer, residual = host
        before = editor.node(writer).epilogue.before
        epilogue = Epilogue(before, residual, after=node.epilogue.before)
        editor.absorb(writer, position, epilogue=epilogue)


PASS = Pass(
    run=run,
    requires="Binary add of two run-time tensors of one shape, one of which is the result of a "
    "Conv or Dense that nothing else reads and that has no residual yet",
    ensures="the addition, and an activation behind it, are in the producer's epilogue",
    stage=Stage.FUSE,
    after=("fuse_activation",),
)
