"""TensorFlow Lite models, written field by field."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import flatbuffers
import numpy as np
import numpy.typing as npt
from flatbuffers import number_types

from edgeconv.model.tflite.schema import ACTIVATIONS, MORE_OPTIONS, OPERATORS, OPTIONS, TEXT, TYPES

Values = npt.NDArray[Any]
Numbers = tuple[Sequence[int], str]  # a vector, and its letter of `struct`
_VECTORS = {"i": 1, "H": 2, "B": 3}  # of indices, by their number in their union
IDENTIFIER = b"TFL3"
ADDED = {"SAME": 0, "VALID": 1, **{name: number for number, name in enumerate(ACTIVATIONS)}}
_NUMBERS = {
    "b": number_types.Int8Flags,
    "B": number_types.Uint8Flags,
    "H": number_types.Uint16Flags,
    "?": number_types.BoolFlags,
    "i": number_types.Int32Flags,
    "I": number_types.Uint32Flags,
    "q": number_types.Int64Flags,
    "f": number_types.Float32Flags,
}


@dataclass
class Sparse:
    """How a constant is stored: the order of its dimensions, those that have blocks, and for each
    level its size, or segments and indices."""

    order: Sequence[int]
    blocks: Sequence[int]
    levels: Sequence[int | tuple[Numbers, Numbers]]


@dataclass
class Sketch:
    """A model that is being written: ``tensor`` and ``operator`` add to it."""

    tensors: list[dict[str, Any]] = field(default_factory=list)
    operators: list[dict[str, Any]] = field(default_factory=list)

    def tensor(
        self,
        name: str,
        shape: Sequence[int],
        dtype: str = "float32",
        *,
        scale: Sequence[float] = (),
        zero: Sequence[int] = (),
        axis: int = 0,
        signature: Sequence[int] = (),
        data: bytes = b"",
        variable: bool = False,
        sparse: Sparse | None = None,
        blocks: tuple[int, int, int] | None = None,
    ) -> int:
        """The index of a new tensor."""
        own = {k: v for k, v in locals().items() if k != "self"}
        self.tensors.append(own)
        return len(self.tensors) - 1

    def constant(self, name: str, values: Any, dtype: str, **more: Any) -> int:
        """The index of a new constant."""
        array = np.asarray(values, dtype)
        stored = array.astype(array.dtype.newbyteorder("<")).tobytes()
        return self.tensor(name, array.shape, dtype, data=stored, **more)

    def operator(
        self,
        kind: str,
        inputs: Sequence[int],
        outputs: Sequence[int],
        own: bytes = b"",
        **options: Any,
    ) -> None:
        """``kind``: the schema's name, or another of a custom operator with its ``own`` options."""
        numbers = {k: ADDED.get(v, v) if isinstance(v, str) else v for k, v in options.items()}
        self.operators.append(
            {"kind": kind, "inputs": inputs, "outputs": outputs, "options": numbers, "own": own}
        )

    def bytes(
        self, inputs: Sequence[int], outputs: Sequence[int], bodies: Sequence[Graph] = ()
    ) -> bytes:
        """The file.  ``bodies``: further graphs, their inputs and outputs."""
        return Writer().model([(self, inputs, outputs), *bodies])


Graph = tuple[Sketch, Sequence[int], Sequence[int]]


class Writer:
    """What a file is written with."""

    def __init__(self) -> None:
        self.builder = flatbuffers.Builder(1024)

    def numbers(self, values: Sequence[Any], code: str) -> int:
        flags = _NUMBERS[code]
        self.builder.StartVector(flags.bytewidth, len(values), flags.bytewidth)
        for value in reversed(values):
            self.builder.Prepend(flags, flags.py_type(value))
        return int(self.builder.EndVector())

    def data(self, values: bytes) -> int:
        self.builder.StartVector(1, len(values), 16)
        self.builder.head -= len(values)
        self.builder.Bytes[self.builder.head : self.builder.head + len(values)] = values
        return int(self.builder.EndVector())

    def offsets(self, places: Sequence[int]) -> int:
        self.builder.StartVector(4, len(places), 4)
        for place in reversed(places):
            self.builder.PrependUOffsetTRelative(place)
        return int(self.builder.EndVector())

    def table(self, *fields: tuple[int, str, Any]) -> int:
        """Fields by number, with a letter of `struct`, or "@" for what has been written."""
        self.builder.StartObject(1 + max((number for number, _, _ in fields), default=0))
        for number, code, value in fields:
            if code == "@":
                self.builder.PrependUOffsetTRelativeSlot(number, value, 0)
            else:
                self.builder.Prepend(_NUMBERS[code], _NUMBERS[code].py_type(value))
                self.builder.Slot(number)
        return int(self.builder.EndObject())

    def tensor(self, number: int, of: dict[str, Any]) -> int:
        name, shape = self.builder.CreateString(of["name"]), self.numbers(of["shape"], "i")
        fields = [
            (0, "@", shape),
            (1, "b", TYPES.index(of["dtype"])),
            (2, "I", number + 1 if of["data"] else 0),
            (3, "@", name),
            (5, "?", of["variable"]),
        ]
        if of["signature"]:
            fields.append((7, "@", self.numbers(of["signature"], "i")))
        if of["scale"]:
            scale, zero = self.numbers(of["scale"], "f"), self.numbers(of["zero"], "q")
            fields.append(
                (4, "@", self.table((2, "@", scale), (3, "@", zero), (6, "i", of["axis"])))
            )
        if of["blocks"]:
            details = [(i, "i", each) for i, each in enumerate(of["blocks"])]
            own = self.table(*details)
            fields.append((4, "@", self.table((4, "B", 2), (5, "@", own))))
        if of["sparse"]:
            fields.append((6, "@", self.sparsity(of["sparse"])))
        return self.table(*fields)

    def sparsity(self, of: Sparse) -> int:
        levels = self.offsets([self.level(each) for each in of.levels])
        order, blocks = self.numbers(of.order, "i"), self.numbers(of.blocks, "i")
        return self.table((0, "@", order), (1, "@", blocks), (2, "@", levels))

    def level(self, of: int | tuple[Numbers, Numbers]) -> int:
        if isinstance(of, int):
            return self.table((0, "b", 0), (1, "i", of))
        kinds = [_VECTORS[code] for _, code in of]
        segments, indices = (self.table((0, "@", self.numbers(*each))) for each in of)
        return self.table(
            (0, "b", 1),
            (2, "B", kinds[0]),
            (3, "@", segments),
            (4, "B", kinds[1]),
            (5, "@", indices),
        )

    def operator(self, of: dict[str, Any], codes: Sequence[str]) -> int:
        fields = [
            (0, "I", codes.index(of["kind"])),
            (1, "@", self.numbers(of["inputs"], "i")),
            (2, "@", self.numbers(of["outputs"], "i")),
        ]
        first = 3 if of["kind"] in OPTIONS else 11
        layout = {**OPTIONS, **MORE_OPTIONS}.get(of["kind"])
        if layout is not None:
            own = []
            texts = {
                name: self.builder.CreateString(value)
                for name, value in of["options"].items()
                if layout.fields[name].code == TEXT
            }
            for name, value in of["options"].items():
                of_field = layout.fields[name]
                if of_field.code == TEXT:
                    own.append((of_field.number, "@", texts[name]))
                elif of_field.code.startswith("*"):
                    own.append((of_field.number, "@", self.numbers(value, of_field.code[1:])))
                else:
                    own.append((of_field.number, of_field.code, value))
            fields += [(first, "B", layout.kind), (first + 1, "@", self.table(*own))]
        if of["own"]:
            fields.append((5, "@", self.data(of["own"])))
        return self.table(*fields)

    def code(self, kind: str) -> int:
        if kind not in OPERATORS:
            return self.table((0, "b", 32), (1, "@", self.builder.CreateString(kind)), (3, "i", 32))
        number = OPERATORS.index(kind)
        return self.table(
            (0, "b", min(number, 127)),
            (2, "i", 2 if kind == "BROADCAST_TO" else 1),
            (3, "i", number),
        )

    def graph(self, of: Graph, codes: Sequence[str], first: int) -> int:
        """``first``: the number of buffers of the graphs in front of it."""
        sketch, inputs, outputs = of
        tensors = [self.tensor(number, each) for number, each in enumerate(sketch.tensors, first)]
        operators = [self.operator(each, codes) for each in sketch.operators]
        return self.table(
            (0, "@", self.offsets(tensors)),
            *((i, "@", self.numbers(each, "i")) for i, each in ((1, inputs), (2, outputs)) if each),
            (3, "@", self.offsets(operators)),
            (4, "@", self.builder.CreateString("main")),
        )

    def signature(self, *named: dict[str, int]) -> int:
        """``named``: tensors of the first graph by what the signature calls them, its inputs and
        its outputs."""
        maps = [
            [
                self.table((0, "@", self.builder.CreateString(name)), (1, "I", index))
                for name, index in each.items()
            ]
            for each in named
        ]
        key = self.builder.CreateString("serving_default")
        fields = [(i, "@", self.offsets(each)) for i, each in enumerate(maps)]
        return self.table(*fields, (2, "@", key))

    def model(
        self,
        graphs: Sequence[Graph],
        signature: tuple[dict[str, int], dict[str, int]] | None = None,
    ) -> bytes:
        sketches = [sketch for sketch, _, _ in graphs]
        codes = list(dict.fromkeys(each["kind"] for of in sketches for each in of.operators))
        contents = [b"", *(each["data"] for of in sketches for each in of.tensors)]
        buffers = [self.table((0, "@", self.data(d))) if d else self.table() for d in contents]
        firsts = [sum(len(of.tensors) for of in sketches[:i]) for i in range(len(sketches))]
        written = [self.graph(of, codes, first) for of, first in zip(graphs, firsts, strict=True)]
        called = [self.offsets([self.signature(*signature)])] if signature else []
        root = self.table(
            (0, "I", 3),
            (1, "@", self.offsets([self.code(kind) for kind in codes])),
            (2, "@", self.offsets(written)),
            (3, "@", self.builder.CreateString("edgeconv's tests")),
            (4, "@", self.offsets(buffers)),
            *((7, "@", each) for each in called),
        )
        self.builder.Finish(root, file_identifier=IDENTIFIER)
        return bytes(self.builder.Output())


def quantised_network(seed: int = 0) -> bytes:
    """Convolution, depthwise convolution, 1x1 convolution, mean, dense layer and softmax, int8."""
    rng = np.random.default_rng(seed)
    sketch = Sketch()
    x = sketch.tensor("input", (1, 12, 10, 3), "int8", scale=[0.0235], zero=[-4])
    shapes = [("conv", (8, 3, 3, 3)), ("depthwise", (1, 3, 3, 8)), ("pointwise", (16, 1, 1, 8))]
    unit, sizes = 0.0235, (1, 6, 5)
    for number, (name, shape) in enumerate(shapes):
        axis = 3 if name == "depthwise" else 0
        out_c = shape[axis]
        scale = rng.uniform(0.004, 0.01, out_c).astype(np.float32)
        w = sketch.constant(
            f"{name}/w",
            rng.integers(-127, 128, shape),
            "int8",
            scale=scale.tolist(),
            zero=[0] * out_c,
            axis=axis,
        )
        b = sketch.constant(
            f"{name}/b",
            rng.integers(-2000, 2000, out_c),
            "int32",
            scale=(np.float32(unit) * scale).tolist(),
            zero=[0] * out_c,
        )
        unit = 0.041 + 0.01 * number
        y = sketch.tensor(
            name, (*sizes, out_c), "int8", scale=[unit], zero=[-128 + 100 * (number // 2)]
        )
        options: dict[str, Any] = {"padding": "SAME", "stride_w": 1, "stride_h": 1}
        if name == "conv":
            options |= {"stride_w": 2, "stride_h": 2}
        kind = "DEPTHWISE_CONV_2D" if name == "depthwise" else "CONV_2D"
        sketch.operator(
            kind, [x, w, b], [y], **options, activation="NONE" if number == 2 else "RELU"
        )
        x = y
    mean = sketch.tensor("mean", (1, 16), "int8", scale=[0.03], zero=[3])
    axes = sketch.constant("axes", [1, 2], "int32")
    sketch.operator("MEAN", [x, axes], [mean], keep_dims=False)
    w = sketch.constant(
        "dense/w", rng.integers(-127, 128, (5, 16)), "int8", scale=[0.006], zero=[0]
    )
    b = sketch.constant(
        "dense/b", rng.integers(-500, 500, 5), "int32", scale=[0.03 * 0.006], zero=[0]
    )
    dense = sketch.tensor("dense", (1, 5), "int8", scale=[0.05], zero=[7])
    sketch.operator("FULLY_CONNECTED", [mean, w, b], [dense], activation="NONE")
    y = sketch.tensor("scores", (1, 5), "int8", scale=[1 / 256], zero=[-128])
    sketch.operator("SOFTMAX", [dense], [y], beta=1.0)
    return sketch.bytes([0], [y])
