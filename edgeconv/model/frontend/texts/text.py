"""What strings are in a program, and the rewriting of a node that reads some."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper

from edgeconv.ir.layout import Shape
from edgeconv.ir.strings import Strings, encoded
from edgeconv.model.frontend.data_dependent.node import DataDependent, RefusedError, Work
from edgeconv.model.frontend.data_dependent.sizes import largest

ROOM = 64  # bytes of a text that is an input, where nobody states another number


@dataclass(frozen=True, slots=True)
class Labels:
    """Strings that are all among ``table``, which has each once: ``index`` is a tensor of int64,
    of their shape."""

    index: str
    table: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Stored:
    """Strings by their UTF-8: ``stored`` is a tensor of uint8 with a dimension of ``room`` bytes
    behind theirs, zeros where a text is shorter."""

    stored: str
    room: int


Text = Labels | Stored


class TextWork:
    """The rewriting of one node.  ``work``: writes nodes, and knows of sizes that are
    data-dependent; ``kept``: the strings known at run time only, by their names in the model."""

    def __init__(
        self,
        work: Work,
        kept: MutableMapping[str, Text],
        limit: Callable[[str, int], int],
        keep_data_dependent: Callable[[str, DataDependent], None],
    ) -> None:
        self.work, self.kept = work, kept
        self.limit, self.keep_data_dependent = limit, keep_data_dependent
        self.node, self.attrs = work.node, work.attrs
        work.called = "text"

    def constant(self, name: str) -> Strings | None:
        """The strings of a constant; None of others, and of what holds no strings."""
        value = self.work.walk.constant(name) if name else None
        return value if value is not None and value.dtype.kind in "OSU" else None

    def is_text(self, name: str) -> bool:
        """Whether it holds strings."""
        return name in self.kept or self.constant(name) is not None

    def shape(self, name: str) -> Shape:
        """The shape of strings; RefusedError where it is data-dependent."""
        value, text = self.constant(name), self.kept.get(name)
        if value is not None:
            return value.shape
        held = text.index if isinstance(text, Labels) else text.stored if text else name
        dims = self.work.dims(held)
        if self.work.is_data_dependent(held):
            raise RefusedError("how many strings it reads is data-dependent")
        return largest(dims[:-1] if isinstance(text, Stored) else dims)

    def table(self, name: str) -> tuple[str, ...] | None:
        """The texts of which the strings are; None where they are not known."""
        value, text = self.constant(name), self.kept.get(name)
        if value is not None:
            return tuple(dict.fromkeys(map(str, value.reshape(-1))))
        return text.table if isinstance(text, Labels) else None

    def index(self, name: str, table: Sequence[str]) -> str:
        """The places of strings in ``table``, which has them all."""
        at = {text: i for i, text in enumerate(table)}
        value, text = self.constant(name), self.kept.get(name)
        if value is not None:
            places = [at[str(each)] for each in value.reshape(-1)]
            return self.work.constant(np.asarray(places, np.int64).reshape(value.shape))
        assert isinstance(text, Labels)
        if tuple(table[: len(text.table)]) == text.table:
            return text.index
        return self.add("Gather", self.work.constant([at[each] for each in text.table]), text.index)

    def stored(self, name: str, room: int = 0) -> Stored:
        """The bytes of strings, of ``room`` at least."""
        value, text = self.constant(name), self.kept.get(name)
        if not isinstance(text, Stored):
            table = self.table(name) or ()
            wide = max((len(each.encode()) for each in table), default=0)
            room = max(room, wide, 1)
            if value is not None:
                return Stored(self._bytes(map(str, value.reshape(-1)), room, value.shape), room)
            assert isinstance(text, Labels)
            rows = self._bytes(table, room, (len(table),))
            return Stored(self.add("Gather", rows, text.index), room)
        if text.room >= room:
            return text
        rank = len(self.work.dims(text.stored))
        pads = np.zeros((2, rank), np.int64)
        pads[1, -1] = room - text.room
        return Stored(self.add("Pad", text.stored, self.work.constant(pads.reshape(-1))), room)

    def rows(self, values: Sequence[str], room: int) -> str:
        """A constant of the bytes of each, [strings, room]."""
        return self._bytes(values, room, (len(values),))

    def _bytes(self, values: Iterable[str], room: int, shape: Shape) -> str:
        try:
            rows = encoded(values, room)
        except ValueError as error:
            raise RefusedError(str(error)) from None
        return self.work.constant(rows.reshape(*shape, room), np.uint8)

    def keep(self, output: str, text: Text) -> None:
        """Let ``output`` of the model be these strings."""
        self.kept[output] = text

    def add(self, op_type: str, *inputs: str, output: str = "", **attrs: Any) -> str:
        """Write a standard node; returns the name of its only result."""
        return self.work.add(op_type, *inputs, output=output, **attrs)

    def own(self, instead: Mapping[str, str], outputs: Sequence[str]) -> None:
        """Write the node itself, of other inputs and outputs."""
        node = onnx.NodeProto()
        node.CopyFrom(self.node)
        node.input[:] = [instead.get(name, name) for name in node.input]
        node.output[:] = outputs
        node.name = next(filter(None, outputs))
        walk, visit = self.work.walk, self.work.visit
        inside = walk.run_inside(visit, [node], visit.scope.opsets, [*filter(None, outputs)])
        if inside:
            raise RefusedError("; ".join(inside.operators or inside.lines()))

    def all_of(self, tests: str, axis: int = -1) -> str:
        """Whether all tests along an axis hold."""
        numbers = self.add("Cast", tests, to=TensorProto.INT32)
        least = self.add("ReduceMin", numbers, self.work.constant([axis]), keepdims=0)
        return self.add("Cast", least, to=TensorProto.BOOL)


def string_type(shape: Sequence[int] | None) -> onnx.TypeProto:
    """The type of strings in ONNX."""
    return helper.make_tensor_type_proto(TensorProto.STRING, shape)
