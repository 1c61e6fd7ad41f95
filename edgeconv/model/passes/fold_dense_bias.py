"""Fold arithmetic with a constant row or scalar into the weights and bias of a Dense."""

from __future__ import annotations

import numpy as np

from edgeconv.ir.edit import Editor
from edgeconv.ir.graph import Array
from edgeconv.model.passes.base import Pass, at_each
from edgeconv.model.passes.scaling import of_binary, scale_writer


def _row(value: Array, rank: int, out_c: int) -> Array | None:
    """``value`` as one number per output of a Dense; None when it varies along another axis."""
    if value.ndim > rank or value.size not in (1, out_c):
        return None
    if value.size != 1 and value.shape[-1] != out_c:
        return None
    return np.broadcast_to(value.reshape(-1), (out_c,))


@at_each("Binary")
def run(position: int, editor: Editor) -> None:
    """Fold Binary add, sub, mul, div behind a Dense that nothing else reads."""
    node = editor.node(position)
    shape = editor.shape(node.output)
    for which, name in enumerate(node.inputs):
        value, tensor = editor.constant(name), node.inputs[1 - which]
        dense = editor.private_writer(tensor, position)
        if value is None or dense is None or not editor.made_by(tensor, "Dense"):
            continue
        row = _row(value, len(shape), shape[-1]) if editor.shape(tensor) == shape else None
        pair = None if row is None else of_binary(node, which, row)
        if pair and scale_writer(dense, position, pair, editor):
            return


PASS = Pass(
    run=run,
    requires="Binary add, sub, mul or div of a constant (a scalar or one value per output) with "
    "the result of a Dense without epilogue that nothing else reads",
    ensures="the Binary is part of the Dense's weights and bias",
    after=("constant_folding", "recognise_activations"),
)
