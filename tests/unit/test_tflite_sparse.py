"""Sparse constants of TensorFlow Lite files: stored as what they are, held to their bounds."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from edgeconv.model.frontend import load, reference_outputs
from tests.tflite_files import refused, saved
from tests.tflite_models import Sketch, Sparse
from tests.tflite_sparse import encoded


def test_sparse_integers_are_stored_as_such(tmp_path: Path) -> None:
    rng, sketch = np.random.default_rng(5), Sketch()
    values = (rng.integers(-9, 10, (4, 8)) * (rng.random((4, 8)) < 0.4)).astype(np.int8)
    stored, sparse = encoded(values, (0, 1, 2), {1}, {1: 4})
    x, y = sketch.tensor("x", (1, 8)), sketch.tensor("y", (1, 4))
    scale: dict[str, Any] = {"scale": [0.5], "zero": [0]}
    c = sketch.tensor("c", (4, 8), "int8", data=stored.tobytes(), sparse=sparse, **scale)
    w = sketch.tensor("w", (4, 8), "int8", **scale)
    sketch.operator("DENSIFY", [c], [w])
    sketch.operator("FULLY_CONNECTED", [x, w, -1], [y])
    path = saved(sketch.bytes([x], [y]), tmp_path)
    layer = next(node for node in load(path).nodes if node.op == "Dense")
    assert "storage" in layer.attrs
    given = rng.standard_normal((1, 8)).astype(np.float32)
    found = reference_outputs(path, {"x": given}).values["y"]
    np.testing.assert_allclose(found, given @ (values.T * 0.5), rtol=1e-5, atol=1e-6)


def _compressed(segments: Sequence[int], indices: Sequence[int]) -> tuple[Any, Any]:
    return (segments, "H"), (indices, "B")


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (
            {"levels": [2, _compressed([0, 1, 3], [0, 4, 1])]},
            "an index of a sparse dimension outside",
        ),
        ({"levels": [2, _compressed([0, 3, 3], [0, 1])]}, "3 segments of 2 places, 2 indices"),
        ({"levels": [2, _compressed([0, 3], [0, 1, 2])]}, "2 segments of 2 places"),
        ({"levels": [2, _compressed([0, 4, 3], [0, 1, 2])]}, "segments descend"),
        ({"levels": [2, _compressed([0, 1, 4], [0, 1, 2, 3])]}, "3 stored elements of which 4"),
        (
            {"levels": [1 << 30, _compressed([0, 1, 3], [0, 1, 2])]},
            "a dimension of 1073741824 indices",
        ),
        ({"levels": [2]}, "1 descriptions of 2 dimensions"),
        ({"order": [0, 0]}, "a walk over dimensions"),
        ({"order": [0, 1, 2]}, "a walk over dimensions"),
        ({"order": [0, 1, 2], "blocks": [1], "levels": [2, 1, 3]}, "blocks of 3 along axis 1"),
        ({"order": [0, 1, 2], "blocks": [9], "levels": [2, 1, 4]}, "blocks of dimensions"),
        ({"order": [0, 1, 2], "blocks": [1], "levels": [2, 4, 0]}, "blocks of 0 along axis 1"),
        (
            {"order": [0, 1, 2], "blocks": [1], "levels": [2, 1, _compressed([0], [])]},
            "a block that is not dense",
        ),
    ],
)
def test_sparse_constants_that_contradict_themselves(
    change: dict[str, Any], reason: str, tmp_path: Path
) -> None:
    sound = {"order": [0, 1], "blocks": [], "levels": [2, _compressed([0, 1, 3], [0, 1, 2])]}
    for of in ({}, change):
        sketch, sparse = Sketch(), Sparse(**{**sound, **of})
        x, y = sketch.tensor("x", (2, 4)), sketch.tensor("y", (2, 4))
        c = sketch.tensor("c", (2, 4), data=np.ones(3, np.float32).tobytes(), sparse=sparse)
        dense = sketch.tensor("dense", (2, 4))
        sketch.operator("DENSIFY", [c], [dense])
        sketch.operator("ADD", [x, dense], [y], activation="NONE")
        path = saved(sketch.bytes([x], [y]), tmp_path)
        if of:
            assert reason in refused(path)
        else:
            load(path)


def test_a_sparse_constant_is_not_larger_than_allowed(tmp_path: Path) -> None:
    """A tensor of 2^36 elements of which one is stored."""
    sketch, size = Sketch(), 1 << 18
    first = _compressed([0, 1], [7])
    sparse = Sparse([0, 1], [], [first, first])
    shape = (size, size)
    c = sketch.tensor("c", shape, data=np.ones(1, np.float32).tobytes(), sparse=sparse)
    y = sketch.tensor("y", shape)
    sketch.operator("DENSIFY", [c], [y])
    assert "folded-bytes" in refused(saved(sketch.bytes([], [y]), tmp_path))
