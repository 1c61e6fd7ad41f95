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
    names = [written.fresh(f"{y}/{what}") for what in ("cut", "size", "number", "left", "ends")]
    kept, size, number, left, ends = names
    zero, one = (written.constant(f"{y}/axis", np.array([i], np.int64)) for i in range(2))
    bound = written.constant(f"{y}/room", np.array([room], np.int64))
    written.node("Slice", (found, zero, bound, zero), kept)
    written.node("Shape", (kept,), size)
    written.node("Slice", (size, zero, one, zero), number)
    written.node("Sub", (bound, number), left)
    begins = written.constant(f"{y}/begins", np.zeros(2, np.int64))
    written.node("Concat", (begins, left, zero), ends, axis=0)
    padded, flat = (written.fresh(f"{y}/{what}") for what in ("padded", "flat"))
    written.node("Pad", (kept, ends), padded)
    shape = written.constant(f"{y}/shape", np.array([room * each], np.int64))
    written.node("Reshape", (padded, shape), flat)
    written.node("Concat", (flat, number), y, axis=0)


def _places(written: Written, node: Node, inputs: tuple[str, ...], y: str) -> None:
    found, rows = (written.fresh(f"{y}/{what}") for what in ("found", "rows"))
    written.node("NonZero", inputs, found)
    written.node("Transpose", (found,), rows, perm=[1, 0])
    _with_number(written, rows, written.graph[node.output].size - 1, 1, y)


def _suppression(written: Written, node: Node, inputs: tuple[str, ...], y: str) -> None:
    *given, filled = (*inputs, "")[:6]
    centred = int(node.attrs["centred"])
    if not node.attrs.get("with_count", False):
        written.node("NonMaxSuppression", inputs, y, center_point_box=centred)
        return
    if filled:
        zero = written.constant(f"{y}/zero", np.array([0], np.int64))
        for at, axis in enumerate((1, 2)):
            along = written.constant(f"{y}/axis", np.array([axis], np.int64))
            there = written.fresh(f"{y}/{given[at]}")
            written.node("Slice", (given[at], zero, filled, along), there)
            given[at] = there
    found = written.fresh(f"{y}/found")
    written.node("NonMaxSuppression", given, found, center_point_box=centred)
    _with_number(written, found, written.graph[node.output].size // 3, 3, y)


SAVED_DATA_DEPENDENT: Mapping[str, Save] = MappingProxyType(
    {"NonMaxSuppression": _suppression, "Places": _places}
)
