"""Read a tensor with constant borders joined to it as a Pad.

A Pad of integers comes in as a Concat of borders for each dimension, and models write causal
padding so.  A Pad can be folded into windows, and what it adds lies on every grid when it is 0.
"""

from __future__ import annotations

import numpy as np

from edgeconv.ir.edit import Editor
from edgeconv.ir.element_types import FLOAT32
from edgeconv.ir.graph import Node
from edgeconv.model.passes.base import Pass, at_each

_CHANNELS = 1


def _filling(borders: list[str], editor: Editor) -> float | None:
    """The number that all elements of the constants ``borders`` are, to the bit, if there is."""
    values = [editor.tensors[name].constant().reshape(-1) for name in borders]
    joined = np.concatenate(values)
    bits = joined.view(f"u{joined.itemsize}")
    return float(joined[0]) if joined.size and (bits == bits[0]).all() else None


def _wanted(node: Node, data: str, editor: Editor) -> bool:
    """Not channels that were not rounded: in a Concat these may lie in the result's memory."""
    plain = editor.tensors[node.output].dtype == FLOAT32 and node.epilogue.is_empty
    channels = int(node.attrs["axis"]) == _CHANNELS and len(editor.shape(node.output)) > 2
    return plain and (data in editor.grids or not channels)


@at_each("Concat")
def run(position: int, editor: Editor) -> None:
    """Turn a Concat into a Pad where it adds one number around one tensor."""
    node = editor.node(position)
    data = [name for name in node.inputs if editor.constant(name) is None]
    borders = [name for name in node.inputs if editor.constant(name) is not None]
    if len(data) != 1 or not borders or not _wanted(node, data[0], editor):
        return
    value = _filling(borders, editor)
    if value is None:
        return
    axis, rank = int(node.attrs["axis"]), len(editor.shape(node.output))
    place, pads = node.inputs.index(data[0]), [0] * (2 * rank)
    pads[axis] = sum(editor.shape(name)[axis] for name in node.inputs[:place])
    pads[rank + axis] = sum(editor.shape(name)[axis] for name in node.inputs[place + 1 :])
    attrs = {"pads": tuple(pads), "mode": "constant", "value": value}
    editor.update(position, op="Pad", inputs=(data[0],), attrs=attrs)


PASS = Pass(
    run=run,
    requires="a Concat of one float32 run-time tensor and of constants that are one number, along "
    "another dimension than the channels or of a tensor that was rounded to a grid",
    ensures="it is a Pad",
    after=("quantised_movement",),
)
