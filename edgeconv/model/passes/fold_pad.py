"""Fold a Pad over the spatial dimensions into the padding of the Conv or Pool behind it.

A convolution and an average pool that counts its padding pad with zeros.  A max pool ignores its
padding, so that -infinity may go there, zero too when no input is negative, and of rounded numbers
the lowest that there is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from edgeconv.ir.activation import LARGEST, NONE, Activation, bounds
from edgeconv.ir.edit import Editor
from edgeconv.ir.graph import Node, origins
from edgeconv.ir.grids import last_activation
from edgeconv.ir.quantisation import integers_of, rounding_to
from edgeconv.kernels.lowering.activations import FUNCTIONS
from edgeconv.model.passes.base import Pass, at_each

_KEEPS_VALUES = frozenset({"Concat", "Gather", "Identity", "Pool", "Reshape", "Slice", "Transpose"})
_MAX_DEPTH = 8


def _spatial_pads(node: Node) -> tuple[int, ...] | None:
    """(begins..., ends...) of the spatial dimensions of a constant Pad; None if others grow."""
    pads: Sequence[int] = node.attrs["pads"]
    rank = len(pads) // 2
    batch_and_channels = (*pads[:2], *pads[rank : rank + 2])
    if node.attrs["mode"] != "constant" or any(batch_and_channels) or min(pads, default=0) < 0:
        return None
    return (*pads[2:rank], *pads[rank + 2 :])


def never_negative(editor: Editor, name: str, depth: int = _MAX_DEPTH) -> bool:
    """Whether ``name`` provably holds no negative number (NaN aside)."""
    node = editor.producer(name)
    if node is None or depth == 0:
        return False
    epilogue = node.epilogue
    if epilogue.after != NONE:
        return _range_starts_at_zero(epilogue.after)
    before = _range_starts_at_zero(epilogue.before) or (
        epilogue.before == NONE
        and node.op in _KEEPS_VALUES
        and all(never_negative(editor, i, depth - 1) for i in node.inputs[: _data_inputs(node)])
    )
    if epilogue.residual:
        return before and never_negative(editor, epilogue.residual, depth - 1)
    return before


def _data_inputs(node: Node) -> int:
    return 1 if node.op == "Gather" else len(node.inputs)


def _range_starts_at_zero(function: Activation) -> bool:
    limits = bounds(function)
    # low <= high, or the result is the constant high
    never_negative = FUNCTIONS[function.kind].never_negative
    return never_negative or (limits is not None and min(limits) >= 0)


def _merged(attrs: Mapping[str, Any], pads: Sequence[int]) -> dict[str, Any]:
    total = tuple(a + b for a, b in zip(attrs["pads"], pads, strict=True))
    return {**attrs, "pads": total}


def _conv(pad: Node, pads: Sequence[int], reader: Node, editor: Editor) -> dict[str, Any] | None:
    if pad.attrs["value"] != 0 or reader.inputs[0] != pad.output:
        return None
    return _merged(reader.attrs, pads)


def _every_window_has_data(pads: Sequence[int], reader: Node, editor: Editor) -> bool:
    """Whether each window of ``reader`` covers an element inside ``pads`` (dilation 1 only).

    The pool kernels divide by what they count and start from the first element they see.
    """
    rank = len(pads) // 2
    shape = editor.shape(reader.inputs[0])[2:]
    out = editor.shape(reader.output)[2:]
    own = reader.attrs["pads"]
    for axis in range(rank):
        begin = pads[axis] + own[axis]
        data = shape[axis] - pads[axis] - pads[rank + axis]
        last = (out[axis] - 1) * reader.attrs["strides"][axis]
        if reader.attrs["kernel"][axis] <= begin or last >= begin + data:
            return False
    return set(reader.attrs["dilations"]) == {1}


def _pool(pad: Node, pads: Sequence[int], reader: Node, editor: Editor) -> dict[str, Any] | None:
    if not _every_window_has_data(pads, reader, editor):
        return None
    merged = _merged(reader.attrs, pads)
    if reader.attrs["mode"] == "average":
        # what the Pad added is data to the pool: counted, unlike padding it would not count
        counts_all = reader.attrs["count_include_pad"] or not any(reader.attrs["pads"])
        foldable = pad.attrs["value"] == 0 and counts_all
        return {**merged, "count_include_pad": True} if foldable else None
    value, source = pad.attrs["value"], pad.inputs[0]
    ignorable = value <= -LARGEST or (value <= 0 and never_negative(editor, source))
    return merged if ignorable or value <= _lowest(editor, source) else None


def _lowest(editor: Editor, name: str) -> float:
    """The smallest number of the grid that ``name`` was rounded to; -infinity where it was not."""
    node = editor.producer(name)
    if node is not None and node.op == "Dequantise" and integers_of(node).is_per_tensor:
        last = rounding_to(integers_of(node))
    else:
        last = last_activation(node) if node is not None else NONE
    if last.kind != "grid":
        return -math.inf
    return float(np.float32(last.beta) * np.float32(last.alpha))


_READERS: Mapping[str, Callable[[Node, Sequence[int], Node, Editor], dict[str, Any] | None]] = {
    "Conv": _conv,
    "Pool": _pool,
}


@at_each("Pad")
def run(position: int, editor: Editor) -> None:
    """Fold the Pad at ``position`` if all its readers can take it; otherwise it stays for all."""
    node = editor.node(position)
    pads = _spatial_pads(node)
    readers = editor.readers(node.output)
    if pads is None or not readers or node.output in editor.outputs:
        return
    attrs: list[dict[str, Any]] = []
    for target in readers:
        reader = editor.node(target)
        convert = _READERS.get(reader.op)
        merged = convert(node, pads, reader, editor) if convert else None
        if merged is None or reader.reads().count(node.output) != 1:
            return
        attrs.append(merged)
    for target, merged in zip(readers, attrs, strict=True):
        reader = editor.node(target)
        inputs = (node.inputs[0], *reader.inputs[1:])
        editor.update(target, inputs=inputs, attrs=merged, origin=origins(node, reader))
    editor.replace(position, None)


PASS = Pass(
    run=run,
    requires="a constant Pad of spatial dimensions, by zero in front of Conv and of average Pool "
    "that counts it, by the lowest number (also of a grid, or zero where nothing is negative) in "
    "front of max Pool",
    ensures="the padding is an attribute of the readers; the Pad is gone",
    after=("move_pads", "remove_identity"),
)
