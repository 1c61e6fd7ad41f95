"""Fold the Affine of a batch normalisation into the weights and bias next to it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from edgeconv.ir.edit import Editor
from edgeconv.ir.graph import Node, origins
from edgeconv.model.passes.base import Pass, at_each
from edgeconv.model.passes.scaling import ScaleShift, Weights, of_affine, scale_writer
from edgeconv.model.passes.units import has_units, rescaled


def _is_dense(node: Node, editor: Editor) -> bool:
    """A Dense of (N, C), whose channels are those of an Affine."""
    return node.op == "Dense" and len(editor.shape(node.output)) == 2


def _into_producer(position: int, editor: Editor) -> bool:
    """Conv, Dense (N, C) or Affine, then Affine: one node."""
    node = editor.node(position)
    writer = editor.private_writer(node.inputs[0], position)
    pair = of_affine(node, editor)
    if writer is None or pair is None or not editor.node(writer).epilogue.is_empty:
        return False
    producer = editor.node(writer)
    if producer.op == "Affine":
        return _compose(writer, position, pair, editor)
    if producer.op == "Conv" or _is_dense(producer, editor):
        return scale_writer(writer, position, pair, editor)
    return False


def _compose(first: int, second: int, pair: ScaleShift, editor: Editor) -> bool:
    node, last = editor.node(first), editor.node(second)
    inner = of_affine(node, editor)
    if inner is None:
        return False
    dtype = editor.tensors[node.inputs[1]].dtype
    scale, shift = inner[0] * pair[0], inner[1] * pair[0] + pair[1]
    names = (
        editor.add_constant(f"{node.inputs[1]}.folded", scale.astype(dtype)),
        editor.add_constant(f"{node.inputs[2]}.folded", shift.astype(dtype)),
    )
    editor.replace(first, None)
    editor.update(second, inputs=(node.inputs[0], *names), origin=origins(node, last))
    return True


def _into_reader(position: int, editor: Editor) -> bool:
    """Affine, then Conv or Dense (N, C): one node, unless padding would have to become -shift."""
    node = editor.node(position)
    target = editor.sole_reader(node.output)
    pair = of_affine(node, editor)
    if target is None or pair is None or not node.epilogue.is_empty:
        return False
    reader = editor.node(target)
    if reader.op == "Conv":
        if any(reader.attrs["pads"]) and np.any(pair[1] != 0):
            return False
        groups = int(reader.attrs["groups"])
    elif _is_dense(reader, editor):
        groups = 1
    else:
        return False
    if reader.inputs[0] != node.output or reader.epilogue.residual == node.output:
        return False
    old = Weights.of(reader, editor)
    if old is None or (has_units(reader) and np.any(pair[0] != pair[0][0])):
        return False  # weights would be multiples of no unit per output channel
    new, attrs = old.scale_inputs(*pair, groups), dict(reader.attrs)
    if has_units(reader):
        weights, attrs = rescaled(reader, old.weights, np.full(len(old.weights), pair[0][0]))
        new = replace(new, weights=weights)
    inputs = new.store(reader, editor)
    if inputs is None:
        return False
    inputs = (node.inputs[0], *inputs[1:])
    editor.replace(position, None)
    editor.update(target, inputs=inputs, attrs=attrs, origin=origins(node, reader))
    return True


@at_each("Affine")
def run(position: int, editor: Editor) -> None:
    """Fold an Affine that stands alone between its neighbours and a Conv, Dense or Affine."""
    node = editor.nodes[position]
    while node is not None and node.op == "Affine":
        if not (_into_producer(position, editor) or _into_reader(position, editor)):
            break
        node = editor.nodes[position]


PASS = Pass(
    run=run,
    requires="an Affine that is the sole reader of a Conv, Dense (N, C) or Affine without "
    "epilogue, or whose sole reader is a Dense or a Conv without padding (or the shift is zero)",
    ensures="the Affine is part of the weights and bias of its neighbour",
    after=("binary_to_affine",),
)
