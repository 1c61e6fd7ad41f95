"""TensorFlow Lite models from file to running program."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from edgeconv.app import pipeline
from edgeconv.app.pipeline import CompileOptions, compile_model
from edgeconv.app.updating import update_weights
from edgeconv.model.frontend import Cut, load, reference_outputs
from edgeconv.run.build.project import Project
from tests.tflite_cases import CASES, Case
from tests.tflite_from_onnx import written
from tests.tflite_models import Sketch, quantised_network
from tests.tflite_typed_cases import TYPED_CASES

pytestmark = pytest.mark.usefixtures("unoptimised")

ZOO = [
    Path(os.environ.get("EDGECONV_ZOO", "")) / f"mlperf-tiny-{name}-int8.onnx"
    for name in ("ad", "kws", "resnet8", "vww")
]


WHOLE = (
    *("CONV_2D int16", "RESIZE_BILINEAR int8 7x8 01", "PRELU int8"),
    *("TRANSPOSE_CONV int8 SAME 7x9 bias", "SELECT_V2 float32 int8 operands"),
)


def saved(data: bytes, folder: Path, name: str = "net.tflite") -> Path:
    path = folder / name
    path.write_bytes(data)
    return path


@pytest.mark.parametrize("board", ["generic-c", "mps2-an386"])
def test_a_quantised_network_verifies(board: str, tmp_path: Path) -> None:
    path = saved(quantised_network(), tmp_path)
    project, _ = compile_model(CompileOptions(path, board), tmp_path / "net")
    result = pipeline.verify_project(tmp_path / "net", layers=True)
    assert result.passed
    assert not result.rounded
    assert project.report["model"]["file"] == "net.tflite"
    layers = {layer["name"]: layer for layer in project.report["layers"]}
    assert {"conv", "depthwise", "pointwise", "dense", "mean", "scores"} <= layers.keys()
    if board == "mps2-an386":
        assert {layers[n]["compute"] for n in ("conv", "depthwise", "pointwise")} == {"int8"}
    assert not any(
        layer["op"] == "Transpose" and layer["algorithm"] != "view" for layer in layers.values()
    )
    text = (tmp_path / "net" / "net.h").read_text()
    assert "const int8_t *input_input, int8_t *output_scores" in text


def test_a_part_of_a_network_and_new_weights(tmp_path: Path) -> None:
    path = saved(quantised_network(), tmp_path)
    options = CompileOptions(path, "generic-c", cut=Cut(("conv",), ("pointwise",)))
    compile_model(options, tmp_path / "net")
    assert pipeline.verify_project(tmp_path / "net").passed
    whole = CompileOptions(path, "generic-c")
    compile_model(whole, tmp_path / "whole")
    again = saved(quantised_network(), tmp_path, "again.tflite")
    update_weights(tmp_path / "whole", CompileOptions(again, "generic-c", name="net"))
    assert pipeline.verify_project(tmp_path / "whole", model=again).passed


@pytest.mark.parametrize(
    "case",
    [case for case in (*CASES, *TYPED_CASES) if case.name in WHOLE],
    ids=lambda case: case.name,
)
def test_operators_verify(case: Case, tmp_path: Path) -> None:
    path = saved(case.write(), tmp_path)
    compile_model(CompileOptions(path, "generic-c"), tmp_path / "net")
    assert pipeline.verify_project(tmp_path / "net").passed


def test_a_float32_network_with_integer_weights_verifies(tmp_path: Path) -> None:
    """Dynamic range: filters are stored as the integers that they are."""
    rng, sketch = np.random.default_rng(2), Sketch()
    x, y = sketch.tensor("x", (1, 9, 9, 4)), sketch.tensor("y", (1, 5, 5, 6))
    scale = rng.uniform(0.01, 0.02, 6).astype(np.float32).tolist()
    w = sketch.constant(
        "w", rng.integers(-127, 128, (6, 3, 3, 4)), "int8", scale=scale, zero=[0] * 6
    )
    b = sketch.constant("b", rng.standard_normal(6), "float32")
    options: dict[str, Any] = {"padding": "SAME", "stride_w": 2, "stride_h": 2}
    options["activation"] = "RELU6"
    sketch.operator("CONV_2D", [x, w, b], [y], **options)
    path = saved(sketch.bytes([x], [y]), tmp_path)
    compile_model(CompileOptions(path, "generic-c"), tmp_path / "net")
    assert pipeline.verify_project(tmp_path / "net").passed
    (conv,) = [e for e in Project.open(tmp_path / "net").report["layers"] if e["op"] == "Conv"]
    assert conv["storage"]["weights"] == "int8"


@pytest.mark.parametrize("path", ZOO, ids=lambda path: path.stem)
def test_networks_are_what_their_conversions_are(path: Path, tmp_path: Path) -> None:
    """As ONNX, and written as the TensorFlow Lite model that was exported: the same integers out,
    and the same plan."""
    if not path.is_file():
        pytest.skip(f"EDGECONV_ZOO has no {path.name}")
    own = saved(written(path), tmp_path)
    graph = load(own)
    (name,) = graph.inputs
    x = np.random.default_rng(7).integers(-128, 128, graph[name].shape).astype(np.int8)
    found, wanted = (reference_outputs(each, {name: x}).values for each in (own, path))
    assert found.keys() == wanted.keys()
    for output, values in found.items():
        np.testing.assert_array_equal(values, wanted[output])
    reports = [pipeline.decide(CompileOptions(each, "stm32h743")).report for each in (own, path)]
    assert reports[0]["ram"]["total"] == reports[1]["ram"]["total"]
    assert reports[0]["flash"]["weights"] == reports[1]["flash"]["weights"]
    assert reports[0]["time"]["predicted_ms"] == pytest.approx(reports[1]["time"]["predicted_ms"])
