"""LSTM layers of integers as TensorFlow Lite files, and what TensorFlow Lite Micro makes of them in
several runs, from one to the next of which its states stay.

``tflite_lstms.npz`` has the outputs: ``python -m tests.tflite_lstms`` writes it anew where
``tflite-micro`` is installed.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tests.tflite_models import Sketch

Values = npt.NDArray[Any]
EXPECTED = Path(__file__).parent / "tflite_lstms.npz"
RUNS = 4
_ARENA, _ABSENT = 1 << 20, -1
_LIKE = {"int8": ("int32", 0.02, 1), "int16": ("int64", 0.00015, 100)}  # biases, a unit, their size


@dataclass(frozen=True)
class Lstm:
    """A layer.  ``power``: 2^power is a unit of its cell.  ``large``: by what weights are larger,
    so that gates and cells are cut off.  ``zeros``: the zero points of input and state."""

    dtype: str = "int8"
    batch: int = 1
    steps: int = 5
    inputs: int = 7
    units: int = 9
    time_major: bool = False
    clip: float = 10.0
    power: int = -11
    large: float = 1.0
    zeros: tuple[int, int] = (3, -5)

    @property
    def shape(self) -> tuple[int, int]:
        """The first two dimensions of input and output."""
        return (self.steps, self.batch) if self.time_major else (self.batch, self.steps)

    def given(self) -> Values:
        """Inputs of all runs, of the whole range."""
        rng, bounds = np.random.default_rng(99), np.iinfo(self.dtype)
        shape = (RUNS, *self.shape, self.inputs)
        return rng.integers(bounds.min, bounds.max + 1, shape).astype(self.dtype)

    def bytes(self) -> bytes:
        """The file: input ``x``, output ``y``, states ``h`` and ``c``."""
        rng, sketch = np.random.default_rng(self.units + self.steps), Sketch()
        wide, unit, size = _LIKE[self.dtype]
        state: dict[str, Any] = {
            "scale": [0.9 / 128 if size == 1 else 1 / 32768],
            "zero": [self.zeros[1]],
        }
        grid: dict[str, Any] = {"scale": [unit], "zero": [self.zeros[0]]}
        places = [sketch.tensor("x", (*self.shape, self.inputs), self.dtype, **grid)]
        scales = [float(np.float32(rng.uniform(0.003, 0.02) * self.large)) for _ in range(8)]
        for index, scale in enumerate(scales):
            width = self.inputs if index < 4 else self.units
            values = rng.integers(-127, 128, (self.units, width))
            places.append(sketch.constant(f"w{index}", values, "int8", scale=[scale], zero=[0]))
        places += [_ABSENT] * 3
        for index, scale in enumerate(scales[:4]):
            values = rng.integers(-3000, 3000, self.units) * size
            more: dict[str, Any] = {"scale": [unit * scale], "zero": [0]}
            places.append(sketch.constant(f"b{index}", values, wide, **more))
        places += [_ABSENT] * 2
        shape = (self.batch, self.units)
        places.append(sketch.tensor("h", shape, self.dtype, variable=True, **state))
        cell: dict[str, Any] = {"scale": [2.0**self.power], "zero": [0]}
        places.append(sketch.tensor("c", shape, "int16", variable=True, **cell))
        places += [_ABSENT] * 4
        y = sketch.tensor("y", (*self.shape, self.units), self.dtype, **state)
        options = {"activation": "TANH", "cell_clip": self.clip, "time_major": self.time_major}
        sketch.operator("UNIDIRECTIONAL_SEQUENCE_LSTM", places, [y], b"", **options)
        return sketch.bytes([places[0]], [y], [])


_SHORT: dict[str, Any] = {"dtype": "int16", "zeros": (0, 0)}
LSTMS = {
    "int8": Lstm(),
    "int8 batch": Lstm(batch=2, steps=3),
    "int8 time major": Lstm(batch=3, steps=4, time_major=True),
    "int8 small cell": Lstm(power=-15, clip=0.5, units=11),
    "int8 clipped": Lstm(clip=0.3, inputs=16),
    "int8 saturated": Lstm(power=-9, large=3.0),
    "int8 large cell": Lstm(power=-4, large=6.0, clip=0.0),
    "int8 64 units": Lstm(inputs=64, units=64, steps=8),
    "int16": Lstm(**_SHORT),
    "int16 time major": Lstm(batch=2, steps=4, time_major=True, inputs=40, units=20, **_SHORT),
    "int16 saturated": Lstm(steps=9, large=10.0, clip=0.0, **_SHORT),
    "int16 fine cell": Lstm(power=-13, large=4.0, **_SHORT),
}


def _micro(lstm: Lstm) -> Values:
    from tflite_micro.python.tflite_micro import runtime  # noqa: PLC0415 - optional

    interpreter = runtime.Interpreter.from_bytes(lstm.bytes(), arena_size=_ARENA)
    found = []
    for values in lstm.given():
        interpreter.set_input(np.ascontiguousarray(values), 0)
        interpreter.invoke()
        found.append(interpreter.get_output(0).reshape(*lstm.shape, lstm.units).copy())
    return np.stack(found)


def main() -> int:
    """Write what TensorFlow Lite Micro makes."""
    np.savez_compressed(EXPECTED, allow_pickle=False, **{n: _micro(x) for n, x in LSTMS.items()})
    return 0


if __name__ == "__main__":
    sys.exit(main())
