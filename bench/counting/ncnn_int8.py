"""Quantised models as ncnn takes them: in float32 for pnnx, and what pnnx wrote in int8.

`without_rounding` leaves QuantizeLinear and DequantizeLinear out of a model.  `quantise` writes
.param and .bin as ncnn2int8 does: filters in int8 with a scale per channel, and results rescaled in
integers where only layers in int8 read them.  What a layer reads has one scale for all: how many
instructions are executed does not depend on it, results are none that anyone should use.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO

import numpy as np
import numpy.typing as npt
import onnx
from onnx import numpy_helper

from edgeconv.base.errors import EdgeconvError

_MAGIC, _HALVES, _BYTES = "7767517", 0x01306B47, 0x000D4B38
_SCALE = 127 / 4  # of what layers read
_RESCALED = 100  # added to the term of scales where the result is int8 as well
_LEAST = 1e-9  # in place of the largest number of a filter that is all zero
Floats = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class _Kind:
    """Keys of a layer's parameters, and ncnn2int8's term of scales, of which there is one for each
    output or, by the key ``groups``, for each group."""

    bias: int
    size: int
    scales: int
    groups: int | None = None


_KINDS: Mapping[str, _Kind] = {
    "Convolution": _Kind(bias=5, size=6, scales=2),
    "ConvolutionDepthWise": _Kind(bias=5, size=6, scales=1, groups=7),
    "InnerProduct": _Kind(bias=1, size=2, scales=2),
}
_RESCALING = ("Convolution", "ConvolutionDepthWise")
# Layers that have nothing in .bin.
_PLAIN = frozenset(
    ("BinaryOp", "Clip", "Concat", "Dropout", "Flatten", "HardSigmoid", "HardSwish", "Input")
    + ("Noop", "Permute", "Pooling", "ReLU", "Reduction", "Reshape", "ShuffleChannel", "Sigmoid")
    + ("Slice", "Softmax", "Split", "Swish")
)


@dataclass(frozen=True, slots=True)
class _Layer:
    type: str
    name: str
    read: tuple[str, ...]
    written: tuple[str, ...]
    parameters: Mapping[int, str]

    @classmethod
    def of(cls, line: str) -> _Layer:
        kind, name, count, results, *rest = line.split()
        blobs, ends = rest[: int(count) + int(results)], rest[int(count) + int(results) :]
        pairs = (word.split("=") for word in ends)
        return cls(
            kind,
            name,
            tuple(blobs[: int(count)]),
            tuple(blobs[int(count) :]),
            {int(key): value for key, value in pairs},
        )

    def __str__(self) -> str:
        counts = (str(len(self.read)), str(len(self.written)))
        ends = (f"{key}={value}" for key, value in self.parameters.items())
        return " ".join((self.type, self.name, *counts, *self.read, *self.written, *ends))

    def number(self, key: int) -> int:
        return int(self.parameters.get(key, "0"))


def without_rounding(path: Path) -> onnx.ModelProto:
    """The model at ``path`` without roundings, and with constants in float32 in place of those
    that DequantizeLinear makes."""
    model = onnx.load(path)
    graph = model.graph
    constants = {each.name: numpy_helper.to_array(each) for each in graph.initializer}
    same: dict[str, str] = {}
    kept, added = [], []
    for node in graph.node:
        for index, name in enumerate(node.input):
            node.input[index] = same.get(name, name)
        if node.op_type == "DequantizeLinear" and node.input[0] in constants:
            x, scale, *zero = (constants[name] for name in node.input)
            axis = next((each.i for each in node.attribute if each.name == "axis"), 1)
            shape = [-1 if scale.ndim and at == axis else 1 for at in range(x.ndim)]
            less = zero[0].astype(np.int32).reshape(shape) if zero else 0
            real = (x.astype(np.int32) - less) * scale.reshape(shape)
            added.append(numpy_helper.from_array(real.astype(np.float32), node.output[0]))
        elif node.op_type in ("QuantizeLinear", "DequantizeLinear"):
            same[node.output[0]] = node.input[0]
        else:
            kept.append(node)
    named = {port.name: same[port.name] for port in graph.output if port.name in same}
    for node in kept:  # results that were rounded last keep their names
        for names in (node.input, node.output):
            for index, name in enumerate(names):
                names[index] = next((out for out, each in named.items() if each == name), name)
    del graph.node[:]
    graph.node.extend(kept)
    graph.initializer.extend(added)
    read = {name for node in kept for name in node.input}
    for each in [each for each in graph.initializer if each.name not in read]:
        graph.initializer.remove(each)
    return model


def quantise(stem: Path, to: Path) -> None:
    """``to``.ncnn.param and .bin of those of ``stem``.  Raises EdgeconvError of layers with weights
    that are not among those that it knows."""
    magic, counts, *lines = stem.with_name(f"{stem.name}.ncnn.param").read_text().splitlines()
    assert magic == _MAGIC
    layers = [_Layer.of(line) for line in lines if line.strip()]
    unknown = {layer.type for layer in layers} - _PLAIN - set(_KINDS)
    if unknown:
        raise EdgeconvError("ncnn's int8 is not known of layers", got=", ".join(sorted(unknown)))
    written = [_with_scales(layer, layers) for layer in layers]
    text = "\n".join((magic, counts, *map(str, written), ""))
    to.with_name(f"{to.name}.ncnn.param").write_text(text, encoding="utf-8")
    data = stem.with_name(f"{stem.name}.ncnn.bin"), to.with_name(f"{to.name}.ncnn.bin")
    with data[0].open("rb") as stream, data[1].open("wb") as out:
        for layer in written:
            if layer.type in _KINDS:
                out.writelines(_weights(layer, stream))


def _with_scales(layer: _Layer, layers: Sequence[_Layer]) -> _Layer:
    if layer.type not in _KINDS:
        return layer
    term = _KINDS[layer.type].scales
    if layer.type in _RESCALING and all(_readers_rescale(layer.written, layers)):
        term += _RESCALED
    return replace(layer, parameters={**layer.parameters, 8: str(term)})


def _readers_rescale(blobs: Sequence[str], layers: Sequence[_Layer]) -> Iterator[bool]:
    """Of each layer that reads one of these, Split aside, whether it takes int8."""
    readers = [layer for layer in layers if set(layer.read) & set(blobs)]
    yield bool(readers)
    for reader in readers:
        if reader.type == "Split":
            yield from _readers_rescale(reader.written, layers)
        else:
            yield reader.type in _RESCALING


def _weights(layer: _Layer, stream: BinaryIO) -> Iterator[bytes]:
    """What .bin has of a layer, from what it had in floats."""
    kind = _KINDS[layer.type]
    outputs, bias = layer.number(0), layer.number(kind.bias)
    filters = _floats(stream, layer.number(kind.size))
    biases = np.frombuffer(stream.read(4 * outputs), "<f4") if bias else None
    rows = filters.reshape(layer.number(kind.groups) if kind.groups else outputs, -1)
    scales = 127 / np.maximum(np.abs(rows).max(axis=1), _LEAST)
    whole = np.rint(rows * scales[:, None]).astype(np.int8).tobytes()
    yield np.uint32(_BYTES).tobytes() + whole + bytes(-len(whole) % 4)
    if biases is not None:
        yield biases.tobytes()
    yield scales.astype("<f4").tobytes()
    yield np.float32(_SCALE).tobytes()
    if layer.number(8) > _RESCALED:
        yield np.float32(_SCALE).tobytes()


def _floats(stream: BinaryIO, count: int) -> Floats:
    tag = int.from_bytes(stream.read(4), "little")
    if tag not in (0, _HALVES):
        raise EdgeconvError("weights of ncnn are neither float16 nor float32", got=f"{tag:#x}")
    stored = np.dtype("<f2" if tag else "<f4")
    data = stream.read(-(-stored.itemsize * count // 4) * 4)
    return np.frombuffer(data, stored, count).astype(np.float32)
