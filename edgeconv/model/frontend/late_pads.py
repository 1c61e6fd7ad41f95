"""Pads by numbers of run time to a shape that nothing states, and what is sliced out of them: the
definition of CenterCropPad, which pads what is too small and crops what is too large.

The padded tensor itself has no static shape.  Its shape is a sum, and a slice of it that has one is
the same slice of the data in a border as large as the slice, which holds whatever the slice can
reach.
"""

from __future__ import annotations

from collections.abc import Collection, Set
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
from onnx import helper

from edgeconv.ir.layout import Shape
from edgeconv.model.frontend.definitions import DEFINED_IN
from edgeconv.model.frontend.values import static_shape
from edgeconv.model.frontend.visit import Visit
from edgeconv.model.frontend.walking import Walking

UNKNOWN_SHAPE = "the shape of its output depends on values computed at run time"
_STANDARD = ("", "ai.onnx")


@dataclass(frozen=True, slots=True)
class _Padded:
    """``data`` of ``shape``, padded along ``axes`` by ``pads``, all begins and then all ends, with
    ``value`` ("": 0)."""

    data: str
    shape: Shape
    axes: tuple[int, ...]
    pads: str
    value: str


class LatePads:
    """The late pads of one model, by the names of their results."""

    def __init__(self, walk: Walking) -> None:
        self._walk = walk
        self._padded: dict[str, _Padded] = {}
        self._visits: dict[str, Visit] = {}

    def names(self) -> Set[str]:
        """The names of the results, which no tensors are made of."""
        return self._padded.keys()

    def keep(self, visit: Visit) -> bool:
        """Whether the node of ``visit`` is such a Pad: it is left to those that read it."""
        node = visit.node
        inputs = [*node.input, "", "", ""][:4]
        if node.op_type != "Pad" or node.domain not in _STANDARD or len(node.input) < 2:
            return False
        modes = [a.s for a in node.attribute if a.name == "mode"]
        data, axes = self._shape(inputs[0]), self._axes(inputs[3])
        if modes not in ([], [b"constant"]) or data is None or (inputs[3] and axes is None):
            return False
        named = _along(axes, len(data))
        if named is None:
            return False
        self._visits[node.output[0]] = visit
        self._padded[node.output[0]] = _Padded(inputs[0], data, named, inputs[1], inputs[2])
        return True

    def refuse(self, outputs: Collection[str]) -> None:
        """Refuse those that are ``outputs`` of the model."""
        for name in self._padded.keys() & set(outputs):
            self._walk.refuse(self._visits[name], UNKNOWN_SHAPE)

    def take(self, visit: Visit) -> bool:
        """Whether the node of ``visit`` reads such a result: then it is done with, or refused."""
        node = visit.node
        read = [name for name in node.input if name in self._padded]
        if not read:
            return False
        padded, standard = self._padded[read[0]], node.domain in _STANDARD
        done = False
        if standard and node.op_type == "Shape" and not node.attribute:
            done = self._write_shape(visit, padded)
        elif standard and node.op_type == "Slice" and read == node.input[:1]:
            done = self._write_slice(visit, padded)
        if not done:
            self._walk.refuse(
                visit, f"the shape of {read[0]} depends on values computed at run time"
            )
        return True

    def _write_shape(self, visit: Visit, padded: _Padded) -> bool:
        nodes = _Nodes(self._walk, visit)
        total = self._growth(nodes, padded)
        spread = nodes.add(
            "ScatterElements",
            nodes.constant(np.zeros(len(padded.shape), np.int64)),
            nodes.constant(np.array(padded.axes, np.int64)),
            total,
        )
        nodes.add(
            "Add", nodes.constant(np.array(padded.shape)), spread, output=visit.node.output[0]
        )
        return nodes.run()

    def _growth(self, nodes: _Nodes, padded: _Padded) -> str:
        """What padding adds to each of its axes."""
        return nodes.add("Add", *(self._half(nodes, padded, i) for i in range(2)))

    def _half(self, nodes: _Nodes, padded: _Padded, which: int) -> str:
        count = len(padded.axes)
        bounds = (nodes.constant(np.array([count * (which + i)])) for i in range(2))
        return nodes.add("Slice", padded.pads, *bounds)

    def _write_slice(self, visit: Visit, padded: _Padded) -> bool:
        """The slice of the data in a border as wide as the result, from start - begin + border
        on."""
        node = visit.node
        inputs = [*node.input, "", "", ""][:5]
        stated = self._walk.stated(node.output[0])
        out, axes = static_shape(stated) if stated is not None else None, self._axes(inputs[3])
        steps = self._walk.constant(inputs[4]) if inputs[4] else np.ones(1)
        along = _along(axes, len(padded.shape))
        known = (axes is not None or not inputs[3]) and along == padded.axes
        if out is None or along is None or not known or steps is None or (steps != 1).any():
            return False
        nodes = _Nodes(self._walk, visit)
        sizes = np.array([padded.shape[axis] for axis in along])
        border = np.array([out[axis] for axis in along])
        start, wide = inputs[1], nodes.constant(border)
        whole = nodes.add("Add", nodes.constant(sizes), self._growth(nodes, padded))
        below = nodes.add("Less", start, nodes.constant(np.zeros(1, np.int64)))
        start = nodes.add("Where", below, nodes.add("Add", start, whole), start)
        begin = nodes.add("Sub", start, self._half(nodes, padded, 0))
        begin = nodes.add("Max", nodes.add("Add", begin, wide), nodes.constant(0 * border))
        begin = nodes.add("Min", begin, nodes.constant(sizes + border))
        named = nodes.constant(np.array(along))
        around = nodes.constant(np.concatenate([border, border]))
        larger = nodes.add("Pad", padded.data, around, padded.value, named)
        end = nodes.add("Add", begin, wide)
        nodes.add("Slice", larger, begin, end, named, output=node.output[0])
        return nodes.run()

    def _axes(self, name: str) -> tuple[int, ...] | None:
        """Constant axes; None where they are none, or absent."""
        value = self._walk.constant(name) if name else None
        return None if value is None else tuple(int(axis) for axis in value.reshape(-1))

    def _shape(self, name: str) -> Shape | None:
        kind = self._walk.type_of(name)
        return static_shape(kind) if kind is not None else None


class _Nodes:
    """Standard nodes in place of one."""

    def __init__(self, walk: Walking, visit: Visit) -> None:
        self._walk, self._visit = walk, visit
        self._nodes: list[onnx.NodeProto] = []

    def constant(self, value: Any) -> str:
        hint = f"{self._visit.name}/constant{len(self._nodes)}"
        return self._walk.add_constant(hint, np.asarray(value, np.int64))

    def add(self, op_type: str, *inputs: str, output: str = "") -> str:
        """Append a node; returns the name of its result."""
        output = output or self._walk.fresh(f"{self._visit.name}/late{len(self._nodes)}")
        self._nodes.append(helper.make_node(op_type, [*inputs], [output], output))
        return output

    def run(self) -> bool:
        """Whether the walk could import them."""
        opsets = self._visit.scope.opsets
        opsets = {**opsets, "": max(opsets.get("", 0), DEFINED_IN)}
        outputs = {*self._visit.node.output, *self._visit.live}
        return not self._walk.run_inside(self._visit, self._nodes, opsets, outputs)


def _along(axes: tuple[int, ...] | None, rank: int) -> tuple[int, ...] | None:
    """Counted from the front; all where none are named, None where one is none of ``rank``."""
    named = tuple(range(rank)) if axes is None else axes
    known = all(-rank <= axis < rank for axis in named)
    return tuple(axis % rank for axis in named) if known else None
