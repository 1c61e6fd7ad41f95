"""Operators of TensorFlow Lite of several types at once: comparisons, what is chosen by them, and
sparse constants."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from tests.tflite_cases import Case
from tests.tflite_models import Sketch
from tests.tflite_sparse import encoded

Values = npt.NDArray[Any]
_COMPARISONS = ("EQUAL", "NOT_EQUAL", "LESS", "LESS_EQUAL", "GREATER", "GREATER_EQUAL")
_TYPES = ("float32", "int32", "int64", "int8", "uint8", "bool")


@dataclass(frozen=True)
class TypedCase(Case):
    """A model that is written beforehand, and its inputs."""

    data: bytes = b""
    given: Mapping[str, Values] = field(default_factory=dict)

    def write(self) -> bytes:
        """The model."""
        return self.data

    def inputs(self) -> dict[str, Values]:
        """Numbers for its inputs."""
        return dict(self.given)


def _case(
    kind: str, label: str, inputs: Sequence[Values], shape: Sequence[int], result: str
) -> TypedCase:
    """Inputs of the types that they have, those of 8 bits with a scale, and a ``result``."""
    sketch, given = Sketch(), {}
    scaled: dict[str, Any] = {"scale": [0.25], "zero": [3]}
    for index, values in enumerate(inputs):
        kind_of = values.dtype.name
        name = f"input_{index}"
        own = scaled if kind_of in ("int8", "uint8") else {}
        sketch.tensor(name, values.shape, kind_of, **own)
        given[name] = values
    y = sketch.tensor("output_0", shape, result, **(scaled if result in ("int8", "uint8") else {}))
    sketch.operator(kind, range(len(inputs)), [y])
    data = sketch.bytes(range(len(inputs)), [y])
    return TypedCase(kind, [], [shape], same=True, label=label, data=data, given=given)


def _small(shape: Sequence[int], dtype: str, seed: int) -> Values:
    """Few numbers, so that some are equal."""
    rng = np.random.default_rng(seed)
    low = 0 if dtype in ("uint8", "bool") else -2
    return rng.integers(low, 3 if dtype != "bool" else 2, shape).astype(dtype)


def _comparisons() -> list[TypedCase]:
    found = []
    for kind in _COMPARISONS:
        for dtype in _TYPES:
            if dtype == "bool" and kind not in ("EQUAL", "NOT_EQUAL"):
                continue
            for label, other in (("", (2, 3, 4)), ("broadcast", (3, 1))):
                pair = [_small((2, 3, 4), dtype, 5), _small(other, dtype, 6)]
                found.append(_case(kind, f"{dtype} {label}".strip(), pair, (2, 3, 4), "bool"))
    truths = [_small((2, 3), "bool", 1), _small((2, 3), "bool", 2)]
    for kind in ("LOGICAL_AND", "LOGICAL_OR"):
        found.append(_case(kind, "", truths, (2, 3), "bool"))
    found.append(_case("LOGICAL_NOT", "", truths[:1], (2, 3), "bool"))
    return found


def _selections() -> list[TypedCase]:
    found = []
    for dtype in ("float32", "int32", "int8", "uint8"):
        x, y = _small((2, 3, 4), dtype, 3), _small((2, 3, 4), dtype, 4)
        for kind, label, shape in (
            ("SELECT", "each", (2, 3, 4)),
            ("SELECT", "rows", (2,)),
            ("SELECT", "all", ()),
            ("SELECT_V2", "each", (2, 3, 4)),
            ("SELECT_V2", "broadcast", (3, 1)),
        ):
            condition = _small(shape, "bool", 9)
            found.append(_case(kind, f"{dtype} {label}", [condition, x, y], x.shape, dtype))
        broad = [_small((3, 4), "bool", 9), x[:, :1], y[:1, :, :1]]
        found.append(_case("SELECT_V2", f"{dtype} operands", broad, x.shape, dtype))
    return found


def _sparse() -> list[TypedCase]:
    """DENSIFY, and what reads it: in the encodings that converters write, and others."""
    found = []
    rng = np.random.default_rng(11)
    for dtype in ("float32", "float16", "int8"):
        for label, shape, order, compressed, blocks in (
            ("rows", (4, 6), (0, 1), {1}, {}),
            ("columns", (4, 6), (1, 0), {0}, {}),
            ("both", (4, 6), (0, 1), {0, 1}, {}),
            ("1x4", (4, 8), (0, 1, 2), {1}, {1: 4}),
            ("2x4", (4, 8), (0, 1, 2, 3), {1}, {0: 2, 1: 4}),
            ("filters", (3, 1, 2, 8), (0, 1, 2, 3), {3}, {}),
        ):
            values = (rng.integers(-9, 10, shape) * (rng.random(shape) < 0.3)).astype(dtype)
            stored, sparse = encoded(values, order, compressed, blocks, "iHB")
            own: dict[str, Any] = {"scale": [0.5], "zero": [0]} if dtype == "int8" else {}
            sketch = Sketch()
            x = sketch.tensor("input_0", shape)
            c = sketch.tensor("c", shape, dtype, data=stored.tobytes(), sparse=sparse, **own)
            dense = sketch.tensor("dense", shape, dtype, **own)
            sketch.operator("DENSIFY", [c], [dense])
            real = dense
            if dtype != "float32":
                real = sketch.tensor("real", shape)
                sketch.operator("DEQUANTIZE", [dense], [real])
            y = sketch.tensor("output_0", shape)
            sketch.operator("ADD", [x, real], [y], activation="NONE")
            data = sketch.bytes([x], [y])
            given = {"input_0": np.ones(shape, np.float32)}
            name = f"{dtype} {label}"
            found.append(TypedCase("DENSIFY", [], [shape], label=name, data=data, given=given))
    return found


TYPED_CASES = [*_comparisons(), *_selections(), *_sparse()]
