"""Reading a model file without copying its weights.

Protobuf parses a message into memory of its own and refuses more than 2 GiB.  So the file is
mapped, its wire format is walked (``edgeconv.base.wire_format``), and every large ``raw_data``
is replaced by an external-data reference to the bytes of the file itself before protobuf sees the
model.
"""

from __future__ import annotations

import hashlib
import mmap
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import onnx
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import DecodeError, Message

from edgeconv.base import limits
from edgeconv.base.errors import EdgeconvError
from edgeconv.base.wire_format import LENGTH, VARINT, MalformedError, fields, map_file
from edgeconv.model.frontend import tflite
from edgeconv.model.frontend.mapped_constants import refer
from edgeconv.model.frontend.maps import as_tensors
from edgeconv.model.frontend.tflite import Variable
from edgeconv.model.model_path import readable
from edgeconv.model.tflite import DamagedError, is_tflite

# Messages to descend into: message -> field number -> message (onnx.proto).
_CHILDREN: dict[str, dict[int, str]] = {
    "model": {7: "graph"},
    "graph": {1: "node", 5: "tensor"},
    "node": {5: "attribute"},
    "attribute": {5: "tensor", 6: "graph"},
    "tensor": {},
}
_RAW_DATA = 9  # TensorProto
_SMALL = 4096  # bytes below which a message is left to protobuf
_DEEPEST = 100  # messages within each other that protobuf parses
_SUBGRAPH = 3  # of them are a graph, its node and the attribute with the next graph


@dataclass(frozen=True, slots=True)
class ModelFile:
    """A parsed model whose large tensors refer to ``content``, the mapped file.

    ``translated``: it was no ONNX model; ``notes`` say what of the file ``model`` does not have, or
    has in another form.  ``effects``: values of it that stand for what nodes do beside their
    results.  ``states``: inputs and outputs of it that stand for variables of the file.
    ``signature``: what the file's own signature calls inputs and outputs, by name.
    """

    path: Path
    model: onnx.ModelProto
    content: mmap.mmap
    translated: bool = False
    notes: tuple[str, ...] = ()
    effects: tuple[str, ...] = ()
    states: tuple[Variable, ...] = ()
    signature: Mapping[str, str] = field(default_factory=dict)

    @property
    def state_names(self) -> tuple[tuple[str, str], ...]:
        """The input and the output of each state."""
        return tuple((state.input, state.output) for state in self.states)


def read(path: Path, *, dynamic_quantisation: bool = False) -> ModelFile:
    """Map and parse ``path``.  ``dynamic_quantisation``: of TensorFlow Lite's layers with int8
    filters (`tflite.translate`); what an ONNX file quantises at run time it says itself.

    Raises EdgeconvError: exit status 2 when the path cannot be read, 1 when the file is no model.
    """
    try:
        with readable(path):
            content = map_file(path)
    except ValueError:
        raise _no_model(path, "an empty file") from None
    if is_tflite(content):
        return _translated(path, content, dynamic_quantisation)
    return _parsed(path, content)


def _translated(path: Path, content: mmap.mmap, dynamic_quantisation: bool) -> ModelFile:
    """A TensorFlow Lite model."""
    try:
        found = tflite.translate(content, str(path), dynamic_quantisation=dynamic_quantisation)
    except DamagedError as error:
        what = "not a readable TensorFlow Lite model"
        rule = "every offset, size and index in it lies within the file"
        raise EdgeconvError(what, where=str(path), got=str(error), rule=rule) from None
    read = found.notes, found.effects, found.states, found.signature
    return ModelFile(path, found.model, content, True, *read)


def _parsed(path: Path, content: mmap.mmap) -> ModelFile:
    """An ONNX model."""
    model = onnx.ModelProto()
    try:
        rewriter = _Rewriter(content, path)
        model.ParseFromString(b"".join(rewriter.message(0, len(content), "model", 0)))
        _check_text(model)
    except (MalformedError, DecodeError):
        _check_depth(content, path)
        starts_like_onnx = content[0] == 1 << 3 | VARINT  # ir_version comes first
        got = "a file that ends early or is damaged" if starts_like_onnx else "other data"
        raise _no_model(path, got) from None
    if not model.ir_version or not model.HasField("graph"):
        raise _no_model(path, "a protobuf message without ir_version and graph")
    return ModelFile(path, model, content, notes=as_tensors(model))


def _check_text(message: Any) -> None:
    """Raise MalformedError where a string is no UTF-8: protobuf would hand it out as bytes."""
    for descriptor, value in message.ListFields():
        values = [value] if isinstance(value, Message | str | bytes) else value
        if descriptor.type == FieldDescriptor.TYPE_STRING:
            if any(isinstance(text, bytes) for text in values):
                raise MalformedError
        elif descriptor.type == FieldDescriptor.TYPE_MESSAGE:
            for inner in values:
                _check_text(inner)


def digest(contents: Sequence[mmap.mmap]) -> Future[str]:
    """SHA-256 of the files one after the other, computed in a thread of its own."""

    def compute() -> str:
        total = hashlib.sha256()
        for content in contents:
            total.update(content)
        return total.hexdigest()

    executor = ThreadPoolExecutor(max_workers=1)
    future = executor.submit(compute)
    executor.shutdown(wait=False)
    return future


def _no_model(path: Path, got: str) -> EdgeconvError:
    rule = "an ONNX model in binary protobuf form, or a .tflite file, is needed"
    return EdgeconvError("not a readable ONNX model", where=str(path), got=got, rule=rule)


def _encode(value: int) -> bytes:
    encoded = bytearray()
    while value >= 0x80:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


class _Rewriter:
    """Messages in pieces, their large ``raw_data`` turned into references.

    Raises EdgeconvError where what is left for protobuf is too large, or too long to walk.
    """

    def __init__(self, content: mmap.mmap, path: Path) -> None:
        self._content, self._path = content, path
        self._kept = 0  # bytes
        self._deadline = limits.Deadline.of("model-seconds", str(path))

    def message(self, at: int, end: int, message: str, depth: int) -> list[bytes]:
        """``message`` from ``at`` to ``end``, which ``depth`` others are around."""
        children, pieces, last = _CHILDREN[message], [], []
        for number, wire, start, value, after in fields(self._content, at, end):
            large = wire == LENGTH and after - value > _SMALL
            if large and message == "tensor" and number == _RAW_DATA:
                last.append(_reference(value, after - value))  # behind a stated data_location
            elif large and number in children and depth < _DEEPEST:
                inner = b"".join(self.message(value, after, children[number], depth + 1))
                pieces += [_encode(number << 3 | LENGTH), _encode(len(inner)), inner]
            else:
                self._keep(after - start)
                pieces.append(self._content[start:after])
        return pieces + last

    def _keep(self, size: int) -> None:
        self._kept += size
        limits.held("model-structure-bytes", self._kept, str(self._path))
        self._deadline.check()


def _check_depth(content: mmap.mmap, path: Path) -> None:
    """EdgeconvError where protobuf has refused a message because subgraphs are nested too deep."""
    waiting, deepest = [(0, len(content), "model", 0)], 0
    while waiting:
        at, end, message, depth = waiting.pop()
        deepest = max(deepest, depth)
        children = _CHILDREN[message]
        with suppress(MalformedError):
            for number, wire, _, value, after in fields(content, at, end):
                if wire == LENGTH and number in children:
                    waiting.append((value, after, children[number], depth + 1))
    if deepest >= _DEEPEST - 1:
        raise EdgeconvError(
            "not a readable ONNX model",
            where=str(path),
            got=f"{deepest // _SUBGRAPH} subgraphs within each other",
            rule=f"protobuf reads messages of {_DEEPEST} levels, {_DEEPEST // _SUBGRAPH} subgraphs",
            hint="write branches as functions, or take them out where their condition is known",
        )


def _reference(offset: int, length: int) -> bytes:
    """Fields of a TensorProto that say where in the model file its data lies."""
    return refer(onnx.TensorProto(), offset, length).SerializeToString()
