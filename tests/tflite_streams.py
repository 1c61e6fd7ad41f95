"""Streaming networks as TensorFlow Lite files: int8, their windows in variables, as keyword
spotters of the microWakeWord kind have them, and what LiteRT's reference kernels make of them.

``tflite_streams.npz`` has the outputs of LiteRT: ``python -m tests.tflite_streams`` writes it anew
where ``ai-edge-litert`` is installed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tests.tflite_models import Sketch

Values = npt.NDArray[Any]
EXPECTED = Path(__file__).parent / "tflite_streams.npz"
STEPS = 200
_X = (0.1015625, -128)  # scale and zero point


class Stream:
    """A network that takes some frames of 40 features a step.

    ``initial``: of its first window, None for what fills it with zeros.
    """

    def __init__(self, seed: int, frames: int = 3, initial: int | None = None) -> None:
        self.rng = np.random.default_rng(seed)
        self.main, self.once = Sketch(), Sketch()
        self.frames, self.initial, self.count = frames, initial, 0
        self.main.operator("CALL_ONCE", [], [], subgraph=1)

    def tensor(self, name: str, shape: tuple[int, ...], grid: tuple[float, int]) -> int:
        scale, zero = grid
        return self.main.tensor(name, shape, "int8", scale=[scale], zero=[zero])

    def window(self, x: int, rows: int, kept: int, width: int, grid: tuple[float, int]) -> int:
        """``rows`` of ``width`` channels behind the ``kept`` ones of before, which move on."""
        number, self.count = self.count, self.count + 1
        name = f"stream_{number}/states"
        shape = (1, kept, 1, width)
        own = self.once.tensor(f"handle_{number}", (), "resource")
        zero = grid[1] if self.initial is None else self.initial
        value = self.once.constant(f"zeros_{number}", np.full(shape, zero), "int8")
        self.once.operator("VAR_HANDLE", [], [own], container="", name=name)
        self.once.operator("ASSIGN_VARIABLE", [own, value], [])
        handle = self.main.tensor(f"handle_{number}", (), "resource")
        self.main.operator("VAR_HANDLE", [], [handle], container="", name=name)
        before = self.tensor(f"read_{number}", shape, grid)
        self.main.operator("READ_VARIABLE", [handle], [before])
        whole = self.tensor(f"window_{number}", (1, kept + rows, 1, width), grid)
        self.main.operator("CONCATENATION", [before, x], [whole], axis=1, activation="NONE")
        ends = [
            self.main.constant(f"{what}_{number}", value, "int32")
            for what, value in (
                ("begin", [0, rows, 0, 0]),
                ("end", [0, kept + rows, 0, 0]),
                ("strides", [1, 1, 1, 1]),
            )
        ]
        after = self.tensor(f"after_{number}", shape, grid)
        self.main.operator("STRIDED_SLICE", [whole, *ends], [after], begin=13, end=13)
        self.main.operator("ASSIGN_VARIABLE", [handle, after], [])
        return whole

    def filters(self, kind: str, shape: tuple[int, ...], unit: float) -> list[int]:
        axis = 3 if kind == "DEPTHWISE_CONV_2D" else 0
        count, number = shape[axis], len(self.main.tensors)
        scale = self.rng.uniform(0.002, 0.006, count).astype(np.float32)
        values = self.rng.integers(-127, 128, shape)
        grid = {"scale": scale.tolist(), "zero": [0] * count}
        w = self.main.constant(f"w_{number}", values, "int8", axis=axis, **grid)
        grid["scale"] = (np.float32(unit) * scale).tolist()
        bias = self.rng.integers(-900, 900, count)
        return [w, self.main.constant(f"b_{number}", bias, "int32", **grid)]

    def bytes(self, blocks: int = 2, width: int = 16) -> bytes:
        """A convolution over windows, then depthwise and pointwise ones, then a score."""
        image = self.tensor("features", (1, self.frames, 40), _X)
        shape = self.main.constant("shape", [1, self.frames, 1, 40], "int32")
        x, grid = self.tensor("as_image", (1, self.frames, 1, 40), _X), _X
        self.main.operator("RESHAPE", [image, shape], [x])
        whole = self.window(x, self.frames, 2, 40, grid)
        plain: dict[str, Any] = {"padding": "VALID", "stride_w": 1, "stride_h": 1}
        made = self.tensor("conv", (1, 1, 1, width), (0.06, -128))
        weights = self.filters("CONV_2D", (width, self.frames + 2, 1, 40), grid[0])
        strided = {**plain, "stride_h": self.frames}
        self.main.operator("CONV_2D", [whole, *weights], [made], **strided, activation="RELU")
        x, grid = made, (0.06, -128)
        for block in range(blocks):
            kept = 4 + 2 * block
            whole = self.window(x, 1, kept, width, grid)
            deep = self.tensor(f"depthwise_{block}", (1, 1, 1, width), (0.05, 3))
            weights = self.filters("DEPTHWISE_CONV_2D", (1, kept + 1, 1, width), grid[0])
            more = {**plain, "depth_multiplier": 1, "activation": "NONE"}
            self.main.operator("DEPTHWISE_CONV_2D", [whole, *weights], [deep], **more)
            grid = (0.055 + 0.01 * block, -128)
            made = self.tensor(f"pointwise_{block}", (1, 1, 1, width), grid)
            weights = self.filters("CONV_2D", (width, 1, 1, width), 0.05)
            self.main.operator("CONV_2D", [deep, *weights], [made], **plain, activation="RELU")
            x = made
        whole = self.window(x, 1, 5, width, grid)
        flat = self.tensor("flat", (1, 6 * width), grid)
        to = self.main.constant("to", [1, 6 * width], "int32")
        self.main.operator("RESHAPE", [whole, to], [flat])
        weights = self.filters("FULLY_CONNECTED", (1, 6 * width), grid[0])
        score = self.tensor("score", (1, 1), (0.09, 12))
        self.main.operator("FULLY_CONNECTED", [flat, *weights], [score], activation="NONE")
        y = self.tensor("probability", (1, 1), (1 / 256, -128))
        self.main.operator("LOGISTIC", [score], [y])
        return self.main.bytes([image], [y], bodies=[(self.once, [], [])])


def inputs(stream: Stream) -> Values:
    """All steps of a sequence."""
    rng = np.random.default_rng(7)
    return rng.integers(-128, 127, (STEPS, 1, stream.frames, 40)).astype(np.int8)


STREAMS: dict[str, Callable[[], Stream]] = {
    "three": lambda: Stream(1),
    "one": lambda: Stream(2, frames=1),
    "begun": lambda: Stream(3, initial=-60),
}


def _of_litert(data: bytes, sequence: Values) -> Values:
    from ai_edge_litert.interpreter import (  # noqa: PLC0415 - optional
        Interpreter,
        OpResolverType,
    )

    plain = OpResolverType.BUILTIN_REF
    interpreter = Interpreter(model_content=data, experimental_op_resolver_type=plain)
    interpreter.allocate_tensors()
    given, made = (
        f()[0]["index"] for f in (interpreter.get_input_details, interpreter.get_output_details)
    )
    found = []
    for each in sequence:
        interpreter.set_tensor(given, each)
        interpreter.invoke()
        found.append(interpreter.get_tensor(made))
    return np.array(found)


def main() -> int:
    """Write EXPECTED anew."""
    found: dict[str, Any] = {}
    for name, make in STREAMS.items():
        stream = make()
        found[name] = _of_litert(stream.bytes(), inputs(stream))
    np.savez_compressed(EXPECTED, **found)
    return 0


if __name__ == "__main__":
    sys.exit(main())
