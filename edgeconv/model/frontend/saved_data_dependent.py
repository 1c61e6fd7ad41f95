"""Operators that find a number of elements at run time as ONNX nodes: what they find, zeros behind
it up to the room that there is, and the number, in one vector."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np

from edgeconv.ir.graph import Node
from edgeconv.model.frontend.saved_nodes import Save, Written


def _with_number(written: Written, found: str, room: int, each: int, y: str) -> None:
    """``found`` [any, each], of which there is room for so many rows."""
    zero, one, bound = (np.array([i], np.int64) for i in (0, 1, room))
    kept = written.add(y, "Slice", found, zero, bound, zero)
    number = written.add(y, "Slice", written.add(y, "Shape", kept), zero, one, zero)
    left = written.add(y, "Sub", bound, number)
    ends = written.add(y, "Concat", np.zeros(2, np.int64), left, zero, axis=0)
    padded = written.add(y, "Pad", kept, ends)
    flat = written.add(y, "Reshape", padded, np.array([room * each], np.int64))
    written.node("Concat", (flat, number), y, axis=0)


def _places(written: Written, node: Node, inputs: tuple[str, ...], y: str) -> None:
    rows = written.add(y, "Transpose", written.add(y, "NonZero", *inputs), perm=[1, 0])
    _with_number(written, rows, written.graph[node.output].size - 1, 1, y)


def _suppression(written: Written, node: Node, inputs: tuple[str, ...], y: str) -> None:
    *given, filled = (*inputs, "")[:6]
    centred = int(node.attrs["centred"])
    if not node.attrs.get("with_count", False):
        written.node("NonMaxSuppression", inputs, y, center_point_box=centred)
        return
    if filled:
        zero = np.array([0], np.int64)
        for at, axis in enumerate((1, 2)):
            given[at] = written.add(y, "Slice", given[at], zero, filled, np.array([axis], np.int64))
    found = written.add(y, "NonMaxSuppression", *given, center_point_box=centred)
    _with_number(written, found, written.graph[node.output].size // 3, 3, y)


SAVED_DATA_DEPENDENT: Mapping[str, Save] = MappingProxyType(
    {"NonMaxSuppression": _suppression, "Places": _places}
)
