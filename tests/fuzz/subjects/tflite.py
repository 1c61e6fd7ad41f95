"""TensorFlow Lite models: read, optimised, planned and emitted, and compared with ONNX Runtime."""

from __future__ import annotations

import random
from pathlib import Path

from tests.fuzz.mutate_tflite import mutated
from tests.fuzz.subject import Subject
from tests.fuzz.subjects import models
from tests.tflite_cases import CASES
from tests.tflite_engines import ALL_CASES
from tests.tflite_models import quantised_network

_ALIGNED = (1, 2, 4, 8)
_NUMBERS = (0, 1, 2, 127, 128, 255, 1 << 15, (1 << 31) - 1, (1 << 32) - 1)


def make(source: random.Random, folder: Path) -> Path:
    """A sound model, some numbers of it others: offsets, lengths, indices, sizes, options; or one
    whose operators are given what they are not made for."""
    path = folder / f"{source.choice(models.BOARDS)}.tflite"
    if source.random() < 0.5:
        path.write_bytes(mutated(source, *source.choice(CASES).sketch()))
        return path
    whole = quantised_network if source.random() < 0.2 else source.choice(ALL_CASES).write
    data = bytearray(whole())
    for _ in range(source.choice((1, 1, 2, 6))):
        size = source.choice(_ALIGNED)
        place = source.randrange(0, len(data) - size, size)
        old = int.from_bytes(data[place : place + size], "little")
        number = source.choice((old + source.choice((-4, -1, 1, 4)), source.choice(_NUMBERS)))
        data[place : place + size] = (number % (1 << 8 * size)).to_bytes(size, "little")
    if source.random() < 0.1:
        del data[source.randrange(len(data)) :]
    path.write_bytes(data)
    return path


SUBJECT = Subject("tflite", make, models.read)
