"""Variables of a TensorFlow Lite model: values that a run leaves for the next one.

VAR_HANDLE names one, READ_VARIABLE and ASSIGN_VARIABLE read and write it in the order of the
operators, CALL_ONCE runs a graph before the first run that fills it.  In ONNX a variable that is
read before it is written is an input, and what it is at the end an output; one that CALL_ONCE alone
writes is a constant.  One that nothing writes has lost its value: the converter of TensorFlow 2.21
leaves weights of Keras layers so that a tf.Module holds (findings/keras-weights-in-modules.sh).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from onnx import numpy_helper

from edgeconv.model.frontend.tflite.elements import element, is_quantised, zero_points
from edgeconv.model.frontend.tflite.writing import UnsupportedError, Writing
from edgeconv.model.tflite import DamagedError, Operator, Tensor
from edgeconv.model.tflite.file import ABSENT

KINDS = frozenset({"CALL_ONCE", "VAR_HANDLE", "READ_VARIABLE", "ASSIGN_VARIABLE"})
_FILLS = KINDS - {"CALL_ONCE", "READ_VARIABLE"}
Key = tuple[str, str]  # container and name
Values = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable that is a state: the value that it is as an input and as an output, and what it is
    before the first run, None for zeros."""

    input: str
    output: str
    initial: Values | None


@dataclass(slots=True)
class Variables:
    """The variables of the graph that ``out`` writes, as far as it has come."""

    out: Writing
    _handles: dict[int, Key] = field(default_factory=dict)
    _initial: dict[Key, Values] = field(default_factory=dict)
    _given: dict[Key, tuple[str, Tensor]] = field(default_factory=dict)  # read before it is written
    _now: dict[Key, str] = field(default_factory=dict)
    _written: dict[Key, Tensor] = field(default_factory=dict)

    def write(self, operator: Operator) -> None:
        """What an operator of `KINDS` does.  Raises UnsupportedError."""
        match operator.kind:
            case "CALL_ONCE":
                self._call(operator.options["subgraph"])
            case "VAR_HANDLE":
                self._name(operator)
            case "READ_VARIABLE":
                self._read(operator)
            case _:
                self._assign(operator)

    def finish(self) -> tuple[tuple[Variable, ...], list[Tensor], list[Tensor]]:
        """The states, and the tensors that are the inputs and outputs of the model for them."""
        found: list[Variable] = []
        inputs, outputs = list[Tensor](), list[Tensor]()
        for key, (name, tensor) in self._given.items():
            initial = self._initial.get(key)
            if initial is not None and (initial.shape, initial.dtype.name) != (
                tensor.shape,
                tensor.dtype,
            ):
                got = f"{initial.dtype.name} of shape {list(initial.shape)}"
                raise DamagedError(f"variable {key[1]!r} is read as {tensor.dtype} and was {got}")
            if self._now[key] == name:
                assert initial is not None  # or `_read` had refused it
                self.out.initializers.append(numpy_helper.from_array(initial, name))
                continue
            written = self._written[key]
            if (written.shape, written.dtype) != (tensor.shape, tensor.dtype):
                got = f"written as {written.dtype} of shape {list(written.shape)}"
                raise DamagedError(f"variable {key[1]!r} is read as {tensor.dtype}, {got}")
            after = self.out.name(f"{name}/next")
            self.out.copy(self._now[key], after)
            zeros = initial is None or not initial.any()
            found.append(Variable(name, after, None if zeros else initial))
            inputs.append(_called(tensor, name))
            outputs.append(_called(tensor, after))
        for tensor in self.out.model.tensors:
            if tensor.name in self.out.states:  # that an operator keeps in a tensor
                after = self.out.states[tensor.name]
                found.append(Variable(tensor.name, after, _first(tensor)))
                inputs.append(tensor)
                outputs.append(_called(tensor, after))
        return tuple(found), inputs, outputs

    def _call(self, number: int) -> None:
        """Run a graph that fills variables with constants."""
        bodies = self.out.model.bodies
        if not 0 <= number <= len(bodies):
            raise DamagedError(f"number {number} of {len(bodies) + 1} subgraphs")
        if number in self.out.called:
            return
        self.out.called.add(number)
        graph = bodies[number - 1] if number else self.out.model
        inner = Variables(Writing(graph, *self.out.source))
        for operator in graph.operators:
            if operator.kind not in _FILLS:
                raise UnsupportedError(f"runs {operator.kind} before the first run")
            if operator.kind == "VAR_HANDLE":
                inner._name(operator)
            else:
                self._initial[inner._key(operator)] = inner.out.constant(operator, 1, "a value")

    def _name(self, operator: Operator) -> None:
        (handle,) = _one(operator.outputs, operator)
        self._handles[handle] = operator.options["container"], operator.options["name"]

    def _key(self, operator: Operator) -> Key:
        handle = operator.inputs[0] if operator.inputs else ABSENT
        if handle not in self._handles:
            raise UnsupportedError("reads a handle that no VAR_HANDLE has made")
        return self._handles[handle]

    def _read(self, operator: Operator) -> None:
        key, (place,) = self._key(operator), _one(operator.outputs, operator)
        tensor = self.out.model.tensors[place]
        if not element(tensor) or tensor.free:
            raise UnsupportedError(f"reads a variable of {tensor.dtype}, or of any size")
        if key not in self._now:
            if key not in self._initial and key not in self._assigned():
                raise UnsupportedError(
                    f"reads variable {key[1]!r}, which the file gives no value: where it is a"
                    " weight of a Keras layer, have the tf.Module that was converted track it"
                )
            name = self.out.name(key[1] or "variable")
            self._given[key], self._now[key] = (name, tensor), name
        self.out.copy(self._now[key], tensor.name)

    def _assigned(self) -> frozenset[Key]:
        """The variables that a run writes."""
        operators = self.out.model.operators
        named = {
            place: (each.options["container"], each.options["name"])
            for each in operators
            if each.kind == "VAR_HANDLE"
            for place in each.outputs
        }
        handles = (each.inputs[0] for each in operators if each.kind == "ASSIGN_VARIABLE")
        return frozenset(named[handle] for handle in handles if handle in named)

    def _assign(self, operator: Operator) -> None:
        key = self._key(operator)
        self._now[key] = self.out.stored(operator, 1)
        self._written[key] = self.out.tensor(operator, 1)


def _one(places: Sequence[int], operator: Operator) -> Sequence[int]:
    if len(places) != 1:
        raise DamagedError(f"{operator.kind} with outputs {list(places)}")
    return places


def _first(tensor: Tensor) -> Values | None:
    """What a state of an operator is before the first run: integers that stand for 0."""
    if not is_quantised(tensor) or not any(tensor.zero):
        return None
    return np.full(tensor.shape, zero_points(tensor)[0], tensor.dtype)


def _called(tensor: Tensor, name: str) -> Tensor:
    return replace(tensor, name=name)
