"""WHILE loops that are recurrent layers are one kernel call each; others are loops of their
layers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnxruntime
import pytest

from edgeconv.base.errors import EdgeconvError
from edgeconv.ir.loop import LOOP
from edgeconv.model.frontend import load
from edgeconv.model.frontend.tflite import translate
from tests.tflite_loops import GATES, INPUTS, OTHERS, STEPS, expected, loop


def _kinds(content: bytes, folder: Path) -> list[str]:
    path = folder / "loop.tflite"
    path.write_bytes(content)
    return [node.op for node in load(path).nodes]


def _run(content: bytes) -> tuple[np.ndarray, np.ndarray]:
    model = translate(content, "loop").model
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    x = np.random.default_rng(3).uniform(-2, 2, (STEPS, 1, INPUTS)).astype(np.float32)
    return x, np.asarray(session.run(None, {"x": x})[0])


@pytest.mark.parametrize("every", [True, False])
@pytest.mark.parametrize("kind", GATES)
def test_a_loop_of_a_cell_is_a_layer(kind: str, every: bool, tmp_path: Path) -> None:
    content = loop(kind, every=every)
    assert _kinds(content, tmp_path).count("Recurrent") == 1
    x, y = _run(content)
    want = expected(kind, x)
    np.testing.assert_allclose(y[:, 0], want if every else want[-1:], atol=2e-6)


@pytest.mark.parametrize("other", OTHERS)
@pytest.mark.parametrize("kind", GATES)
def test_a_loop_of_another_cell_is_a_loop(kind: str, other: str, tmp_path: Path) -> None:
    kinds = _kinds(loop(kind, every=True, other=other), tmp_path)
    assert "Recurrent" not in kinds
    assert kinds.count(LOOP) == 1


@pytest.mark.parametrize("kind", GATES)
def test_a_loop_that_writes_a_variable_is_refused(kind: str, tmp_path: Path) -> None:
    """As a layer, or written out, it would do without."""
    with pytest.raises(EdgeconvError) as caught:
        _kinds(loop(kind, every=False, other="variable"), tmp_path)
    assert "tflite.WHILE: 1 node" in str(caught.value) + "".join(caught.value.details)
    assert "uses a variable within another graph" in "".join(caught.value.details)
