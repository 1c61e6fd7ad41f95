"""Changes of a TensorFlow Lite model as it is written: operands, results, types, sizes, options.

Changed bytes are mostly refused where the file is read.  These are files that read well, of
operators that are given what they are not made for.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from edgeconv.model.tflite.schema import OPTIONS, TYPES
from tests.tflite_models import Sketch

NUMBERS = (0, 1, 2, -1, 3, 65535, 65536, (1 << 31) - 1, -(1 << 31), 1 << 30)
_SHAPES: tuple[tuple[int, ...], ...] = (
    *((), (0,), (1,), (1, 0, 3, 4), (1, 4), (4, 4), (1, 1, 1, 1), (1, 3, 3, 3), (2, 3, 4, 5, 6)),
    *(((1 << 31) - 1,), ((1 << 31) - 1,) * 4, (65536, 65536)),
)
_SCALES = (0.0, -1.0, 1e-45, 1e38, float("inf"), 0.5)
_ZEROS = (0, 127, -128, 255, 1 << 40)


def _operands(source: random.Random, of: Sketch) -> None:
    """Another tensor of the file, one less, or one more."""
    operator = source.choice(of.operators)
    inputs = list(operator["inputs"])
    other = source.randrange(-1, len(of.tensors))
    if inputs and source.random() < 0.6:
        inputs[source.randrange(len(inputs))] = other
    elif inputs and source.random() < 0.5:
        inputs.pop()
    else:
        inputs.append(other)
    operator["inputs"] = inputs


def _results(source: random.Random, of: Sketch) -> None:
    """The same of what is written: an input, a constant, something twice, nothing."""
    operator = source.choice(of.operators)
    outputs = list(operator["outputs"])
    other = source.randrange(len(of.tensors))
    if outputs and source.random() < 0.5:
        outputs[source.randrange(len(outputs))] = other
    elif outputs and source.random() < 0.5:
        outputs.pop()
    else:
        outputs.append(other)
    operator["outputs"] = outputs


def _shape(source: random.Random, of: Sketch) -> None:
    tensor = source.choice(of.tensors)
    if tensor["shape"] and source.random() < 0.5:
        shape = list(tensor["shape"])
        shape[source.randrange(len(shape))] = source.choice((0, 1, 2, 7, 65536))
        tensor["shape"] = tuple(shape)
    else:
        tensor["shape"] = source.choice(_SHAPES)


def _type(source: random.Random, of: Sketch) -> None:
    source.choice(of.tensors)["dtype"] = source.choice(TYPES)


def _option(source: random.Random, of: Sketch) -> None:
    """One that is a number; what has a byte is one of a few."""
    operator = source.choice(of.operators)
    options: dict[str, Any] = operator["options"]
    layout = OPTIONS.get(operator["kind"])
    codes = {name: layout.fields[name].code for name in options} if layout else {}
    names = [name for name, code in codes.items() if not code.startswith("*")]
    if names:
        name = source.choice(names)
        number = source.choice(NUMBERS)
        options[name] = number if codes[name] == "i" else number % 3


def _constant(source: random.Random, of: Sketch) -> None:
    """A number of 32 bits in a constant, which may be an axis, a size or a permutation."""
    tensor = source.choice(of.tensors)
    data = bytearray(tensor["data"])
    if len(data) >= 4:
        at = source.randrange(0, len(data) - 3, 4)
        data[at : at + 4] = (source.choice(NUMBERS) % (1 << 32)).to_bytes(4, "little")
        tensor["data"] = bytes(data)


def _scaling(source: random.Random, of: Sketch) -> None:
    tensor = source.choice(of.tensors)
    count = source.choice((1, 1, 2, 3))
    tensor["scale"] = [source.choice(_SCALES)] * count
    tensor["zero"] = [source.choice(_ZEROS)] * count
    tensor["axis"] = source.randrange(-1, 4)


_CHANGES: tuple[Callable[[random.Random, Sketch], None], ...] = (
    *(_operands, _operands, _results, _shape, _type, _option, _option, _constant, _scaling),
)


def mutated(source: random.Random, of: Sketch, inputs: list[int], outputs: list[int]) -> bytes:
    """The file after one to three changes of ``of``, which begins and ends with these tensors; now
    and then with others."""
    for _ in range(source.choice((1, 1, 2, 3))):
        source.choice(_CHANGES)(source, of)
    if source.random() < 0.1:
        outputs = [source.randrange(len(of.tensors)) for _ in range(source.randrange(3))]
    if source.random() < 0.1:
        inputs = [source.randrange(len(of.tensors)) for _ in range(source.randrange(3))]
    return of.bytes(inputs, outputs)
