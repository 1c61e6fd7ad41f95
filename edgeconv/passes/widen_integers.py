"""Move integers as real numbers: the kernels that move data know elements of one size."""

from __future__ import annotations

from edgeconv.ir.edit import Editor
from edgeconv.passes.base import Pass, Stage, at_each
from edgeconv.passes.quantised_movement import moves_integers, widen


@at_each()
def run(position: int, editor: Editor) -> None:
    """Widen what ``quantised_movement`` has left: integers from one caller's buffer to another."""
    if moves_integers(editor.node(position), editor):
        widen(position, editor)


PASS = Pass(
    name="widen_integers",
    run=run,
    requires="data movement of integers, their scales unknown or different",
    ensures="integers are read and written by Quantise and Dequantise only",
    stage=Stage.FUSE,
)
