"""The walk's share of strings that are known at run time only.

Where all texts that there can be are known, as those of a classifier's labels, strings are their
indices in a table, and moving and comparing them is done with the indices.  Others, as inputs are,
are bytes of UTF-8, so many for each text, zeros behind its end.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

import numpy as np
import onnx

from edgeconv.ir.graph import Texts as Port
from edgeconv.ir.layout import Shape
from edgeconv.model.frontend.data_dependent import DataDependentShapes
from edgeconv.model.frontend.data_dependent.node import RefusedError
from edgeconv.model.frontend.definitions import row_of
from edgeconv.model.frontend.texts import edited, moved
from edgeconv.model.frontend.texts.text import (
    ROOM,
    Labels,
    Stored,
    Text,
    TextWork,
    string_type,
)
from edgeconv.model.frontend.visit import Visit
from edgeconv.model.frontend.walking import Walking, shape_of

_DOMAINS = ("", "ai.onnx", "ai.onnx.ml")
_RULES: Mapping[str, Callable[[TextWork], None]] = MappingProxyType(
    {
        **dict.fromkeys(moved.MOVING, moved.move),
        "Equal": moved.equal,
        "Shape": moved.measure,
        "Size": moved.measure,
        **edited.RULES,
    }
)
_EXAMPLES = 64
_FINDING = ("RegexFullMatch", "StringSplit")
_UNKNOWN = "strings at run time are moved, compared, joined, split and looked up"


class Texts:
    """The strings of one model.  ``kept``: those known at run time only, by name; ``rooms``: how
    many bytes each text of an input has, where the user states it."""

    def __init__(self, walk: Walking, data_dependent: DataDependentShapes) -> None:
        self._walk, self._data_dependent = walk, data_dependent
        self.kept: dict[str, Text] = {}
        self._inputs: set[str] = set()
        self._met: dict[str, None] = {}  # strings that others are compared with

    def names(self) -> set[str]:
        """The names of what is no tensor under that name."""
        return set(self.kept)

    def type_of(self, name: str) -> onnx.TypeProto | None:
        """The type of strings at run time; None of other values."""
        return string_type(self.shape(name)) if name in self.kept else None

    def shape(self, name: str) -> Shape | None:
        """The shape of strings at run time; None where it is not known."""
        text = self.kept[name]
        if isinstance(text, Labels):
            return shape_of(self._walk, text.index)
        found = shape_of(self._walk, text.stored)
        return None if found is None else found[:-1]

    def examples(self) -> tuple[str, ...]:
        """Strings that the model compares others with, the first of them."""
        return tuple(self._met)[:_EXAMPLES]

    def room(self, name: str) -> int:
        """The bytes of each text of an input."""
        return self._data_dependent.stated_most(name, ROOM)

    def take_input(self, name: str, visit: Visit) -> None:
        """The input ``name``, a tensor of bytes, is strings from now on."""
        held = self._walk.fresh(f"{name}/bytes")
        node = onnx.helper.make_node("Identity", [name], [held], held)
        self._walk.run([node], replace(visit.scope, origin=name), [held])
        self.kept[name] = Stored(held, self.room(name))
        self._inputs.add(name)

    def take(self, visit: Visit) -> bool:
        """Whether the node of ``visit`` reads strings at run time, or chooses some there: then it
        is done with, or refused."""
        node = visit.node
        reads = [name for name in node.input if name]
        strings = [name for name in reads if name in self.kept or self._is_constant(name)]
        known = [self._walk.constant(name) is not None for name in reads]
        if not strings or node.domain not in _DOMAINS:
            return False
        if all(known):
            return self._finds_nothing(node, strings)
        for value in filter(self._is_constant, strings):
            constant = self._walk.constant(value)
            assert constant is not None
            self._met |= dict.fromkeys(map(str, constant.reshape(-1)[:_EXAMPLES]))
        rule = _RULES.get(node.op_type)
        if rule is None:
            if row_of(node) is not None:
                return False
            self._walk.refuse(visit, f"not of strings at run time: {_UNKNOWN}")
            return True
        data_dependent = self._data_dependent
        work = TextWork(
            data_dependent.work(visit),
            self.kept,
            data_dependent.stated_most,
            data_dependent.keep,
        )
        try:
            rule(work)
        except RefusedError as error:
            self._walk.refuse(visit, str(error))
        return True

    def _finds_nothing(self, node: onnx.NodeProto, strings: Sequence[str]) -> bool:
        """Whether the node looks for something in no strings at all, which needs no evaluator."""
        value = self._walk.constant(strings[0])
        if value is None or value.size or node.op_type not in _FINDING:
            return False
        made = {
            "RegexFullMatch": (np.zeros(value.shape, np.bool_),),
            "StringSplit": (np.zeros((*value.shape, 0), object), np.zeros(value.shape, np.int64)),
        }
        for name, result in zip(node.output, made[node.op_type], strict=False):
            if name:
                self._walk.define(name, result)
        return True

    def _is_constant(self, name: str) -> bool:
        value = self._walk.constant(name)
        return value is not None and value.dtype.kind in "OSU"

    def finish(self, names: Sequence[str], visit: Visit) -> list[Port]:
        """Write the tensors that those of ``names`` are that hold strings."""
        found = []
        for name in names:
            if self._is_constant(name):
                self._as_labels(name, visit)
            if name not in self.kept:
                continue
            text = self.kept.pop(name)
            if name in self._inputs:  # a tensor of that name
                found.append(Port(name))
                continue
            held = text.index if isinstance(text, Labels) else text.stored
            node = onnx.helper.make_node("Identity", [held], [name], f"{name}/text")
            self._walk.run([node], replace(visit.scope, origin=name), [name])
            found.append(Port(name, text.table if isinstance(text, Labels) else ()))
        return found

    def _as_labels(self, name: str, visit: Visit) -> None:
        """Strings that are the same in every run, as others."""
        work = TextWork(
            self._data_dependent.work(visit),
            self.kept,
            self._data_dependent.stated_most,
            self._data_dependent.keep,
        )
        table = work.table(name) or ("",)
        self.kept[name] = Labels(work.index(name, table), table)
        self._walk.forget(name)
