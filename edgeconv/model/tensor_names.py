"""The names of a model's tensors, read without the rest of it: completion waits for no parser."""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from pathlib import Path

from edgeconv.base import limits
from edgeconv.base.wire_format import LENGTH, MalformedError, fields, map_file
from edgeconv.model import tflite as tflite_format

# Of onnx.proto.
_GRAPH = 7  # of ModelProto
_NODE, _INITIALIZER, _INPUT = 1, 5, 11  # of GraphProto
_OUTPUT = 2  # of NodeProto
_VALUE_NAME, _TENSOR_NAME = 1, 8  # of ValueInfoProto and TensorProto


def tensor_names(path: Path) -> tuple[str, ...]:
    """Inputs and results of nodes, in the order of the file; constants are none.

    Raises OSError, EdgeconvError beyond a limit, and ValueError for what is no model.
    """
    with map_file(path) as content:
        try:
            if tflite_format.is_tflite(content):
                return _of_tflite(content, str(path))
            return tuple(_names(content, str(path)))
        except (MalformedError, UnicodeDecodeError, tflite_format.DamagedError):
            raise ValueError(f"{path} is no model") from None


def input_names(path: Path) -> tuple[str, ...]:
    """The inputs of the model, without those that are constants.  Raises as `tensor_names`."""
    with map_file(path) as content:
        try:
            if tflite_format.is_tflite(content):
                model = tflite_format.read(content, str(path))
                return tuple(model.tensors[index].name for index in model.inputs)
            return tuple(_names(content, str(path), results=False))
        except (MalformedError, UnicodeDecodeError, tflite_format.DamagedError):
            raise ValueError(f"{path} is no model") from None


def _of_tflite(content: mmap.mmap, where: str) -> tuple[str, ...]:
    model = tflite_format.read(content, where)
    written = [index for operator in model.operators for index in operator.outputs]
    return tuple(model.tensors[index].name for index in (*model.inputs, *written))


def _names(content: mmap.mmap, where: str, *, results: bool = True) -> Iterator[str]:
    deadline = limits.Deadline.of("model-seconds", where)
    found: dict[str, None] = {}
    constants: set[str] = set()
    nodes = 0
    for at, end in _inside(content, 0, len(content), _GRAPH):
        for number, wire, _, value, after in fields(content, at, end):
            if wire != LENGTH:
                continue
            if number == _NODE:
                nodes = limits.held("model-nodes", nodes + 1, where)
                deadline.check()
                found |= dict.fromkeys(_texts(content, value, after, _OUTPUT) if results else ())
            elif number == _INPUT:
                found |= dict.fromkeys(_texts(content, value, after, _VALUE_NAME))
            elif number == _INITIALIZER:
                constants.update(_texts(content, value, after, _TENSOR_NAME))
    return (name for name in found if name and name not in constants)


def _inside(content: mmap.mmap, at: int, end: int, wanted: int) -> Iterator[tuple[int, int]]:
    """Where the fields of that number lie."""
    for number, wire, _, value, after in fields(content, at, end):
        if number == wanted and wire == LENGTH:
            yield value, after


def _texts(content: mmap.mmap, at: int, end: int, wanted: int) -> Iterator[str]:
    for value, after in _inside(content, at, end, wanted):
        yield content[value:after].decode("utf-8")
