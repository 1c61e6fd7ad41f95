"""Operators of TensorFlow Lite, read as ONNX, against what its own runtimes make of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from edgeconv.model.frontend import load, reference_outputs
from tests.tflite_cases import EXPECTED, Case
from tests.tflite_engines import ALL_CASES, MICRO, UNSTABLE

# On whatever grid the result is; and what is defined by Micro's own integers.
_MICROS = ("PAD", "RESIZE_NEAREST_NEIGHBOR", "UNIDIRECTIONAL_SEQUENCE_LSTM")
_ROUNDINGS = 1  # TFLite rounds more than once on its way to a result
# What every engine has otherwise, and steps by which they are off on purpose: docs/tflite.md.
OFF = {"NEG int8": 33, "DIV int8": 255, "SOFTMAX int16 0.0011": 2}
OFF |= {"RESIZE_BILINEAR int16 7x9": 49, "RESIZE_BILINEAR int16 3x2": 8}
OFF |= {f"SQUARED_DIFFERENCE int16 {label}": 4 for label in ("of two", "by a vector")}
WITHOUT = UNSTABLE | {"REVERSE_SEQUENCE float32 int8"}  # which no engine computes


@pytest.mark.parametrize("case", ALL_CASES, ids=lambda case: case.name)
def test_an_operator_is_what_its_own_runtime_makes_of_it(case: Case, tmp_path: Path) -> None:
    path = tmp_path / "case.tflite"
    path.write_bytes(case.write())
    graph, count = load(path), len(case.shapes)
    states = {name: np.zeros(graph[name].shape, graph[name].dtype) for name in graph.inputs}
    assert graph.outputs[:count] == tuple(f"output_{i}" for i in range(count))
    found = reference_outputs(path, {**states, **case.inputs()}).values
    with np.load(EXPECTED) as litert, np.load(MICRO) as micro:
        expected = litert if f"{case.name}:output_0" in litert else micro
        for name in graph.outputs[:count]:
            if case.name in WITHOUT:
                continue
            got, wanted = found[name], expected[f"{case.name}:{name}"]
            assert got.dtype == wanted.dtype
            assert got.shape == wanted.shape
            if got.dtype == np.float32:
                np.testing.assert_allclose(got, wanted, rtol=2e-5, atol=2e-6)
            else:
                far = np.abs(got.astype(np.int64) - wanted.astype(np.int64))
                assert far.max() <= _steps(case)


def _steps(case: Case) -> int:
    """How many steps results may be off: none where they are operands, none of them computed."""
    if case.name in OFF:
        return OFF[case.name]
    if case.kind in _MICROS:
        return 0
    computes = case.kind.startswith(("AVERAGE", "RESIZE_BILINEAR", "CONV"))
    return 0 if case.same and not computes else _ROUNDINGS
