"""Transposed convolutions of TensorFlow Lite files that its own runtime does not have, or sizes of
which the file leaves to operators."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest

from edgeconv.model.frontend import load, reference_outputs
from tests.tflite_files import saved
from tests.tflite_models import Sketch


@pytest.mark.parametrize("padding", [1, 2])
@pytest.mark.parametrize(
    ("kernel", "strides"), [((2, 2), (2, 2)), ((3, 2), (2, 1)), ((1, 4), (2, 3))]
)
def test_a_transposed_convolution_of_mediapipe(
    padding: int, kernel: tuple[int, int], strides: tuple[int, int], tmp_path: Path
) -> None:
    """As its own loop: each input is added to what its window reaches."""
    rng = np.random.default_rng(3)
    given = rng.standard_normal((1, 4, 5, 2)).astype(np.float32)
    w = rng.standard_normal((3, *kernel, 2)).astype(np.float32)
    b = rng.standard_normal(3).astype(np.float32)
    around = [
        max(0, taps - (size - 1) % stride - 1) if padding == 1 else 0
        for size, taps, stride in zip((4, 5), kernel, strides, strict=True)
    ]
    sizes = [
        stride * (size - 1) + taps - cut
        for size, taps, stride, cut in zip((4, 5), kernel, strides, around, strict=True)
    ]
    wanted = np.zeros((1, *sizes, 3)) + b
    for y, x, i, j in np.ndindex(4, 5, *kernel):
        row, column = y * strides[0] + i - around[0] // 2, x * strides[1] + j - around[1] // 2
        if 0 <= row < sizes[0] and 0 <= column < sizes[1]:
            wanted[0, row, column] += w[:, i, j] @ given[0, y, x]
    sketch = Sketch()
    operands = [sketch.tensor("x", given.shape)]
    operands += [sketch.constant(n, v, "float32") for n, v in (("w", w), ("b", b))]
    y = sketch.tensor("y", wanted.shape)
    own = struct.pack("<3i", padding, strides[1], strides[0])
    sketch.operator("Convolution2DTransposeBias", operands, [y], own=own)
    path = saved(sketch.bytes([0], [y]), tmp_path)
    assert load(path)["y"].shape == wanted.shape
    found = reference_outputs(path, {"x": given}).values["y"]
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)


def test_filters_of_a_channel_each_in_a_transposed_convolution(tmp_path: Path) -> None:
    """A scale per output channel, the batch free: sizes that the file leaves to SHAPE."""
    rng, sketch = np.random.default_rng(4), Sketch()
    x = sketch.tensor("x", (1, 4, 4, 2), signature=(-1, 4, 4, 2))
    sizes = sketch.tensor("sizes", (4,), "int32", signature=(4,))
    stored = rng.integers(-127, 128, (3, 2, 2, 2))
    scales = [0.5, 0.25, 2.0]
    w = sketch.constant("w", stored, "int8", scale=scales, zero=[0] * 3)
    y = sketch.tensor("y", (1, 8, 8, 3), signature=(-1, 8, 8, 3))
    bounds = [sketch.constant(n, [v], "int32") for n, v in (("0", 0), ("1", 1), ("s", 1))]
    batch, shape = sketch.tensor("batch", (), "int32"), sketch.tensor("shape", (4,), "int32")
    rest = [sketch.constant(f"size {n}", n, "int32") for n in (8, 3)]
    sketch.operator("SHAPE", [x], [shape])
    sketch.operator("STRIDED_SLICE", [shape, *bounds], [batch], shrink=1)
    sketch.operator("PACK", [batch, rest[0], rest[0], rest[1]], [sizes], axis=0, count=4)
    sketch.operator("TRANSPOSE_CONV", [sizes, w, x], [y], padding="SAME", stride_w=2, stride_h=2)
    path = saved(sketch.bytes([x], [y]), tmp_path)
    assert load(path, input_shapes={"x": (2, 4, 4, 2)})["y"].shape == (2, 8, 8, 3)
    given = rng.standard_normal((1, 4, 4, 2)).astype(np.float32)
    found = reference_outputs(path, {"x": given}).values["y"]
    real = stored * np.reshape(scales, (3, 1, 1, 1))
    for i, j in np.ndindex(2, 2):  # windows that do not overlap
        np.testing.assert_allclose(found[:, i::2, j::2], given @ real[:, i, j].T, rtol=1e-5)
