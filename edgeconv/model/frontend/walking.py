"""What parts of the import ask of the walk over a model's nodes (`walk.Walk`)."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

import onnx

from edgeconv.ir.layout import Shape
from edgeconv.model.frontend.problems import Problems
from edgeconv.model.frontend.values import static_shape
from edgeconv.model.frontend.visit import Scope, Visit
from edgeconv.model.frontend.weights import Values


def shape_of(walk: Walking, name: str) -> Shape | None:
    """The shape of a value, None where it is not known."""
    value, kind = walk.constant(name), walk.type_of(name)
    if value is not None:
        return value.shape
    return static_shape(kind) if kind is not None else None


class Walking(Protocol):
    """The values that are known, names for further ones, and the import of further nodes."""

    def constant(self, name: str) -> Values | None: ...

    def type_of(self, name: str) -> onnx.TypeProto | None: ...

    def stated(self, name: str) -> onnx.TypeProto | None: ...

    def values_to_state(self, names: Sequence[str]) -> str: ...

    def define(self, name: str, value: Values) -> None: ...

    def forget(self, name: str) -> None: ...

    def add_constant(self, hint: str, value: Values) -> str: ...

    def fresh(self, hint: str) -> str: ...

    def run(
        self, nodes: Sequence[onnx.NodeProto], scope: Scope, outputs: Collection[str]
    ) -> None: ...

    def run_inside(
        self,
        visit: Visit,
        nodes: Sequence[onnx.NodeProto],
        opsets: Mapping[str, int],
        outputs: Collection[str],
    ) -> Problems: ...

    def refuse(self, visit: Visit, reason: str) -> None: ...
