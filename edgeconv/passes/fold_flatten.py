"""Fold the Transpose in front of a flattened Dense into the order of its weight columns."""

from __future__ import annotations

import math

import numpy as np

from edgeconv.ir.edit import Editor
from edgeconv.ir.graph import Graph
from edgeconv.passes.base import Pass


def _fold(position: int, editor: Editor) -> None:
    """Dense(Reshape(Transpose(x))) with x (N, ...) and the Reshape to (N, K)."""
    dense = editor.node(position)
    reshape = editor.writer(dense.inputs[0])
    weights = editor.constant(dense.inputs[1])
    if reshape is None or weights is None or editor.node(reshape).op != "Reshape":
        return
    moved = editor.node(reshape).inputs[0]
    transpose = editor.producer(moved)
    if transpose is None or transpose.op != "Transpose":
        return
    shape, perm = editor.shape(moved), tuple(transpose.attrs["perm"])
    rows = (shape[0], math.prod(shape[1:]))
    sole = editor.sole_reader(dense.inputs[0]) == position and editor.sole_reader(moved) == reshape
    if perm[0] != 0 or not sole or editor.shape(dense.inputs[0]) != rows:
        return
    columns = weights.reshape(weights.shape[0], *shape[1:])
    straight = columns.transpose(np.argsort(perm)).reshape(weights.shape)
    flat = editor.add_tensor(f"{dense.inputs[0]}.untransposed", rows, editor.tensors[moved])
    name = editor.add_constant(f"{dense.inputs[1]}.untransposed", np.ascontiguousarray(straight))
    origin = tuple(dict.fromkeys((*transpose.origin, *editor.node(reshape).origin)))
    editor.update(reshape, inputs=transpose.inputs, outputs=(flat,), origin=origin)
    editor.update(position, inputs=(flat, name, *dense.inputs[2:]))


def run(graph: Graph) -> Graph:
    """Permute the weights of every such Dense and flatten what the Transpose read."""
    editor = Editor(graph)
    for position in editor:
        if editor.node(position).op == "Dense":
            _fold(position, editor)
    return editor.finish()


PASS = Pass(
    name="fold_flatten",
    run=run,
    requires="Dense of a Reshape to (N, K) of a Transpose that leaves N first, each read once",
    ensures="the Reshape reads what the Transpose read; the weights are in that order",
    after=("compose_views",),
)
