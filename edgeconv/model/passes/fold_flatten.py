"""Fold the Transpose in front of a flattened Dense into the order of its weight columns."""

from __future__ import annotations

import math

import numpy as np

from edgeconv.ir.edit import Editor
from edgeconv.ir.graph import origins
from edgeconv.model.passes.base import Pass, at_each


@at_each("Dense")
def run(position: int, editor: Editor) -> None:
    """Dense(Reshape(Transpose(x))) with x (N, ...) and the Reshape to (N, K)."""
    dense = editor.node(position)
    reshape = editor.private_writer(dense.inputs[0], position)
    weights = editor.constant(dense.inputs[1])
    if reshape is None or weights is None or editor.node(reshape).op != "Reshape":
        return
    moved = editor.node(reshape).inputs[0]
    transpose = editor.made_by(moved, "Transpose")
    if transpose is None or editor.sole_reader(moved) != reshape:
        return
    shape, perm = editor.shape(moved), tuple(transpose.attrs["perm"])
    rows = (shape[0], math.prod(shape[1:]))
    if perm[0] != 0 or editor.shape(dense.inputs[0]) != rows:
        return
    columns = weights.reshape(weights.shape[0], *shape[1:])
    straight = columns.transpose(np.argsort(perm)).reshape(weights.shape)
    flat = editor.add_tensor(f"{dense.inputs[0]}.untransposed", rows, editor.tensors[moved])
    name = editor.add_constant(f"{dense.inputs[1]}.untransposed", np.ascontiguousarray(straight))
    origin = origins(transpose, editor.node(reshape))
    editor.update(reshape, inputs=transpose.inputs, outputs=(flat,), origin=origin)
    editor.update(position, inputs=(flat, name, *dense.inputs[2:]))


PASS = Pass(
    run=run,
    requires="Dense of a Reshape to (N, K) of a Transpose that leaves N first, each read once",
    ensures="the Reshape reads what the Transpose read; the weights are in that order",
    after=("compose_views",),
)
