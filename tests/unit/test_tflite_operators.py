"""Operators of TensorFlow Lite, read as ONNX, against what its own runtimes make of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from edgeconv.model.frontend import load, reference_outputs
from tests.tflite_cases import EXPECTED, Case
from tests.tflite_engines import ALL_CASES, UNSTABLE

_ROUNDINGS = 1  # TFLite rounds more than once on its way to a result
WITHOUT = UNSTABLE | {"REVERSE_SEQUENCE float32 int8"}  # which no engine computes


@pytest.mark.parametrize("case", ALL_CASES, ids=lambda case: case.name)
def test_an_operator_is_what_its_own_runtime_makes_of_it(case: Case, tmp_path: Path) -> None:
    path = tmp_path / "case.tflite"
    path.write_bytes(case.write())
    graph, count = load(path), len(case.shapes)
    states = {name: np.zeros(graph[name].shape, graph[name].dtype) for name in graph.inputs}
    assert graph.outputs[:count] == tuple(f"output_{i}" for i in range(count))
    found = reference_outputs(path, {**states, **case.inputs()}).values
    with np.load(EXPECTED) as expected:
        assert case.name in WITHOUT or f"{case.name}:output_0" in expected
        for name in graph.outputs[:count]:
            got = found[name]
            if case.name in WITHOUT:
                continue
            wanted = expected[f"{case.name}:{name}"]
            assert got.dtype == wanted.dtype
            assert got.shape == wanted.shape
            if got.dtype == np.float32:
                np.testing.assert_allclose(got, wanted, rtol=2e-5, atol=2e-6)
            else:
                far = np.abs(got.astype(np.int64) - wanted.astype(np.int64))
                assert far.max() <= (0 if _moves(case) else _ROUNDINGS)


def _moves(case: Case) -> bool:
    """Whether results are operands, none of them computed."""
    if case.kind in ("PAD", "RESIZE_NEAREST_NEIGHBOR"):  # on whatever grid the result is
        return True
    return case.same and not case.kind.startswith(("AVERAGE", "RESIZE_BILINEAR", "CONV"))
