"""Inputs and outputs that are sequences or optionals: the tensors that they hold, which the program
has as arguments.

A sequence NAME is the tensors NAME_0, NAME_1 ..., as many as the user gives shapes for.  An
optional holds what it may hold, under its own name, unless it is said to hold nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx

from edgeconv.base.arguments import NOTHING
from edgeconv.base.errors import EdgeconvError
from edgeconv.ir.layout import Shape

Values = npt.NDArray[Any]


@dataclass(slots=True)
class ProgramInputs:
    """The inputs of a program for those of a model.  ``tensors``: the inputs of the program.
    ``sequences``: by name the tensors that they hold.  ``absent``: the optionals that hold nothing.
    ``shapes``: those that were given of tensors."""

    tensors: list[onnx.ValueInfoProto] = field(default_factory=list)
    sequences: dict[str, tuple[str, ...]] = field(default_factory=dict)
    absent: set[str] = field(default_factory=set)
    shapes: dict[str, Shape] = field(default_factory=dict)


def element(name: str, index: int) -> str:
    """What the program calls an element of a sequence."""
    return f"{name}_{index}"


def given(
    inputs: Iterable[onnx.ValueInfoProto],
    shapes: Mapping[str, Shape],
    taken: Iterable[str],
    path: Path,
) -> ProgramInputs:
    """What ``inputs`` hold, by the ``shapes`` that the user states; ``taken``: names of the model.

    Raises EdgeconvError for a sequence whose length nobody states, for one of whose elements the
    model has the name for something else, and for what holds no tensors.
    """
    found = ProgramInputs(
        shapes={name: shape for name, shape in shapes.items() if shape != NOTHING}
    )
    known = frozenset(taken)
    for value in inputs:
        name, kind = value.name, value.type
        empty = shapes.get(name) == NOTHING
        if kind.HasField("optional_type"):
            if empty:
                found.absent.add(name)
                continue
            kind = kind.optional_type.elem_type
        if kind.HasField("tensor_type"):
            found.tensors.append(onnx.ValueInfoProto(name=name, type=kind))
        elif kind.HasField("sequence_type"):
            inner = kind.sequence_type.elem_type
            count = _length(name, shapes)
            if not count and not empty:
                raise _unstated(name, path)
            found.sequences[name] = tuple(element(name, i) for i in range(count))
            if double := known.intersection(found.sequences[name]):
                raise _invalid(path, f"{min(double)!r}, and the sequence {name!r}", _DOUBLE)
            found.tensors += [_tensor(each, inner, path) for each in found.sequences[name]]
        else:
            raise _invalid(path, f"input {name!r}, which is no tensor", _TENSORS)
    return found


_TENSORS = "inputs are tensors, or sequences and optionals of tensors"
_DOUBLE = "the elements of a sequence are called after it and their place, which no other value is"


def _length(name: str, shapes: Mapping[str, Shape]) -> int:
    count = 0
    while element(name, count) in shapes:
        count += 1
    return count


def _tensor(name: str, kind: onnx.TypeProto, path: Path) -> onnx.ValueInfoProto:
    """An element, whose sizes are its own: what a dimension is called binds no other element."""
    if not kind.HasField("tensor_type"):
        raise _invalid(path, f"input {name!r}, which is no tensor", _TENSORS)
    value = onnx.ValueInfoProto(name=name, type=kind)
    for dim in value.type.tensor_type.shape.dim:
        dim.ClearField("dim_param")
    return value


def _invalid(path: Path, got: str, rule: str) -> EdgeconvError:
    return EdgeconvError("the model cannot be compiled", where=str(path), got=got, rule=rule)


def _unstated(name: str, path: Path) -> EdgeconvError:
    first, second = (element(name, i) for i in range(2))
    return EdgeconvError(
        "the model cannot be compiled",
        where=str(path),
        got=f"input {name!r}, a sequence of unknown length",
        rule="the program has an argument for each of its tensors",
        hint=f"state them: --input-shape {first}=1x3 --input-shape {second}=1x3, and so on; "
        f"--input-shape {name}=none for none at all",
    )


def fed(
    graph: onnx.GraphProto, feeds: Mapping[str, Values]
) -> dict[str, Values | list[Values] | None]:
    """``feeds`` of a program as an engine wants them that runs the model itself."""
    found: dict[str, Values | list[Values] | None] = dict(feeds)
    for value in graph.input:
        if value.type.HasField("tensor_type") or value.name in feeds:
            continue
        kind = value.type
        if kind.HasField("optional_type"):
            kind = kind.optional_type.elem_type
        held: list[Values] = []
        while element(value.name, len(held)) in found:
            held.append(np.asarray(found.pop(element(value.name, len(held)))))
        absent = value.type.HasField("optional_type") and not held
        found[value.name] = None if absent else held
    return found


def model_names(graph: onnx.GraphProto, names: Iterable[str]) -> list[str]:
    """The model's own names of what has ``names`` in a program."""
    several = {value.name for value in graph.output if not value.type.HasField("tensor_type")}

    def own(name: str) -> str:
        whole, _, place = name.rpartition("_")
        return whole if whole in several and place.isdigit() else name

    return list(dict.fromkeys(map(own, names)))


def told(names: Sequence[str], values: Sequence[Any]) -> dict[str, Values]:
    """What an engine makes of ``names``, as a program calls it."""
    found: dict[str, Values] = {}
    for name, value in zip(names, values, strict=True):
        if isinstance(value, list):
            found |= {element(name, i): np.asarray(each) for i, each in enumerate(value)}
        else:
            found[name] = value
    return found
