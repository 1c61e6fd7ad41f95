"""Bring Pads by a constant together, and behind a Transpose, next to what can fold them.

A model converted from a channels-last framework pads in front of the Transpose that its
convolution reads.
"""

from __future__ import annotations

import struct
from dataclasses import replace

from edgeconv.ir.edit import Editor
from edgeconv.ir.graph import Node, origins
from edgeconv.model.passes.base import Pass, at_each


def _same_number(one: Node, other: Node) -> bool:
    """Whether both Pads add the same number, to the bit."""
    constant = one.attrs["mode"] == other.attrs["mode"] == "constant"
    return constant and struct.pack("<d", one.attrs["value"]) == struct.pack(
        "<d", other.attrs["value"]
    )


def _merge(position: int, behind: int, editor: Editor) -> None:
    """One Pad for those at ``position`` and ``behind``."""
    first, second = editor.node(position), editor.node(behind)
    pads = tuple(a + b for a, b in zip(first.attrs["pads"], second.attrs["pads"], strict=True))
    origin = origins(first, second)
    attrs = {**second.attrs, "pads": pads}
    editor.update(behind, inputs=first.inputs, attrs=attrs, origin=origin)


def _swap(position: int, behind: int, editor: Editor) -> None:
    """Transpose, then pad, instead of the Pad at ``position`` and the Transpose ``behind``."""
    pad, transpose = editor.node(position), editor.node(behind)
    perm, rank = tuple(transpose.attrs["perm"]), len(transpose.attrs["perm"])
    x = pad.inputs[0]
    shape = tuple(editor.shape(x)[axis] for axis in perm)
    moved = editor.add_tensor(f"{x}.transposed", shape, like=editor.tensors[x])
    given = pad.attrs["pads"]
    pads = tuple(given[start + axis] for start in (0, rank) for axis in perm)
    attrs = {**pad.attrs, "pads": pads}
    editor.replace(position, replace(transpose, inputs=(x,), outputs=(moved,)))
    padded = replace(pad, inputs=(moved,), outputs=transpose.outputs, attrs=attrs)
    editor.replace(behind, padded)


@at_each("Pad")
def run(position: int, editor: Editor) -> None:
    """Move the Pad at ``position`` into the Pad, or behind the Transpose, that alone reads it."""
    node = editor.node(position)
    behind = editor.sole_reader(node.output)
    if behind is None or node.attrs["mode"] != "constant":
        return
    reader = editor.node(behind)
    if reader.op == "Pad" and _same_number(node, reader):
        _merge(position, behind, editor)
    elif reader.op == "Transpose":
        _swap(position, behind, editor)


PASS = Pass(
    run=run,
    requires="a constant Pad that only a Pad by the same number, or only a Transpose, reads",
    ensures="one Pad does what both did; the Transpose comes first",
    after=("sink_transposes",),
)
