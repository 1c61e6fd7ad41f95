"""Take the maximum of integers as real numbers of the same value."""

from __future__ import annotations

from edgeconv.ir.edit import Editor
from edgeconv.model.passes.base import Pass, Stage, at_each
from edgeconv.model.passes.quantised_movement import moves_integers, widen


@at_each()
def run(position: int, editor: Editor) -> None:
    """Widen what ``quantised_movement`` has left of pools: integers of a caller's buffer."""
    if editor.node(position).op == "Pool" and moves_integers(editor.node(position), editor):
        widen(position, editor)


PASS = Pass(
    run=run,
    requires="a max Pool of integers, their scales unknown or different",
    ensures="pools are of float32",
    stage=Stage.FUSE,
)
