"""Averages of .tflite files round halves of a step away from 0, as both kernels of LiteRT do, by
default; those of ONNX files to even, which is said."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from edgeconv.app.deciding import Decider
from edgeconv.ir.quantisation import AWAY
from edgeconv.ir.requantisation.averages import Average
from edgeconv.kernels.ops.integer_pool import average_of
from edgeconv.model.frontend import load, model_file
from edgeconv.run.verify.exact import expected
from edgeconv.search.options import CompileOptions
from tests.tflite_cases import CASES, EXPECTED, Case
from tests.tflite_models import Sketch

COUNT, BOARD = 4, "mps2-an500"
# Activation, zero point, and what an average is bounded by; a ReLU in the middle changes zero
# points of what is stored.
BOUNDS = {
    "plain": ("NONE", 5, (-128, 127)),
    "none cut off": ("RELU", -128, (-128, 127)),
    "half cut off": ("RELU", 5, (5, 127)),
    "both ends": ("RELU6", -20, (-20, 100)),
}


def _network(folder: Path, activation: str, zero: int, dtype: str = "int8") -> Path:
    sketch = Sketch()
    grid: dict[str, Any] = {"scale": [0.05], "zero": [zero]}
    x = sketch.tensor("input", (1, 6, 8, 8), dtype, **grid)
    y = sketch.tensor("averages", (1, 3, 4, 8), dtype, **grid)
    window: dict[str, Any] = {"kernel_w": 2, "kernel_h": 2, "stride_w": 2, "stride_h": 2}
    sketch.operator("AVERAGE_POOL_2D", [x], [y], padding="VALID", activation=activation, **window)
    path = folder / "net.tflite"
    path.write_bytes(sketch.bytes([0], [y]))
    return path


def _halved(sums: np.ndarray) -> np.ndarray:
    """(sum + count / 2) / count of sums from 0 on, towards 0, as LiteRT's pooling.h has it."""
    half = np.where(sums > 0, COUNT // 2, -(COUNT // 2))
    found: np.ndarray = np.trunc((sums + half) / COUNT).astype(np.int64)
    return found


@pytest.mark.parametrize("case", BOUNDS)
def test_sums_of_integers_are_divided_with_halves_away_from_zero(case: str, tmp_path: Path) -> None:
    """Every sum of four."""
    activation, zero, (low, high) = BOUNDS[case]
    with Decider(CompileOptions(_network(tmp_path, activation, zero), BOARD)) as decider:
        choice = decider.plain().choice
    (node,) = [layer.node for layer in choice.layers if layer.node.op == "Pool"]
    assert node.request.integers
    form = average_of(node, choice.graph)
    assert isinstance(form, Average)
    assert form.scaling == "linear"
    x, y = (choice.graph[name].storage.zero[0] for name in (node.inputs[0], node.output))
    stored = np.arange(-128 * COUNT, 127 * COUNT + 1)  # sums, of the file's integers but for zero
    sums = stored - COUNT * (x - zero)
    found = form.of(stored) - y + zero
    np.testing.assert_array_equal(found, np.clip(_halved(sums), low, high))


def _averages(case: Case) -> bool:
    return case.kind == "AVERAGE_POOL_2D" and case.dtype == "int8"


@pytest.mark.parametrize("case", [*filter(_averages, CASES)], ids=lambda case: case.name)
def test_verify_expects_what_its_runtime_computes(case: Case, tmp_path: Path) -> None:
    path = tmp_path / "case.tflite"
    path.write_bytes(case.write())
    names = [f"output_{i}" for i in range(len(case.shapes))]
    with np.load(EXPECTED) as file:
        outputs = {name: file[f"{case.name}:{name}"] for name in names}
    found = expected(load(path), {**case.inputs(), **outputs})
    for name, wanted in outputs.items():
        np.testing.assert_array_equal(found[name].near(), wanted)


@pytest.mark.parametrize(("dtype", "away"), [("uint8", True), ("int16", False)])
def test_integers_of_eight_bits_are_averaged_so(dtype: str, away: bool, tmp_path: Path) -> None:
    graph = load(_network(tmp_path, "NONE", 0, dtype))
    assert any(AWAY in node.attrs for node in graph.nodes) == away


@pytest.mark.parametrize(
    ("board", "suffix", "said"),
    [
        ("x86-64-v3", ".tflite", "computed in float32; in integers, as those do, with --storage"),
        (BOARD, ".onnx", "as an ONNX file means them"),
        (BOARD, ".tflite", ""),
    ],
)
def test_what_rounds_halves_to_even_is_said(
    board: str, suffix: str, said: str, tmp_path: Path
) -> None:
    path = _network(tmp_path, "RELU6", -20)
    if suffix == ".onnx":
        written = model_file.read(path).model.SerializeToString()
        path = path.with_suffix(suffix)
        path.write_bytes(written)
    with Decider(CompileOptions(path, board)) as decider:
        notes = [note for note in decider.plain().notes if "halves of a step" in note]
    assert len(notes) == bool(said)
    assert said in " ".join(notes)
