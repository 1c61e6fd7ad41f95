"""Recognise the channel shuffle of ShuffleNet: Reshape, Transpose, Reshape are one Gather.

Zhang et al., "ShuffleNet", Section 3.1: channels seen as (groups, C / groups) are transposed.
"""

from __future__ import annotations

import math

import numpy as np

from edgeconv.ir.edit import Editor
from edgeconv.ir.graph import origins
from edgeconv.ir.layout import Shape
from edgeconv.model.passes.base import Pass, at_each
from edgeconv.model.passes.channels import CHANNELS, Indices


def _shuffle(shape: Shape, split: Shape, perm: tuple[int, ...]) -> Indices | None:
    """The channel that each output channel comes from; None when more than channels move.

    ``shape`` is (N, C, spatial...), ``split`` what it is seen as: (N, g, C / g, ...) or, for
    N = 1, (g, C / g, ...).
    """
    if shape[0] == 1 and split[0] != 1:
        split, perm = (1, *split), (0, *(axis + 1 for axis in perm))
    if len(split) < 3 or split[0] != shape[0] or split[1] * split[2] != shape[1]:
        return None
    if perm != (0, 2, 1, *range(3, len(split))):
        return None
    return np.arange(shape[1], dtype=np.int64).reshape(split[1:3]).T.reshape(-1)


@at_each("Reshape")
def run(position: int, editor: Editor) -> None:
    """The node at ``position`` is the last Reshape of the three."""
    node = editor.node(position)
    transpose = editor.made_by(node.inputs[0], "Transpose")
    reshape = editor.made_by(transpose.inputs[0], "Reshape") if transpose else None
    if transpose is None or reshape is None:
        return
    shape = editor.shape(reshape.inputs[0])
    if len(shape) < 3 or editor.shape(node.output) != shape or math.prod(shape) == 0:
        return
    perm = tuple(transpose.attrs["perm"])
    indices = _shuffle(shape, editor.shape(reshape.output), perm)
    if indices is None:
        return
    name = editor.add_constant(f"{node.output}.channels", indices)
    editor.update(
        position,
        op="Gather",
        inputs=(reshape.inputs[0], name),
        attrs={"axis": CHANNELS},
        origin=origins(reshape, transpose, node),
    )


PASS = Pass(
    run=run,
    requires="(N, C, ...) seen as (N, g, C / g, ...), transposed in the middle, and seen as before",
    ensures="it is a Gather over axis 1 by a constant",
    after=("compose_views",),
)
