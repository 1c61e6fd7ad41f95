"""Networks whose weights are stored in few bytes: what they save, and that only rounding tells them
from float32."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from edgeconv.app import pipeline
from edgeconv.app.pipeline import CompileOptions, compile_model, decide
from edgeconv.base.errors import EdgeconvError
from edgeconv.codegen.weights import HEADER, Header
from edgeconv.kernels.algorithms.packing import rounded
from edgeconv.kernels.storage import formats
from edgeconv.run.build.project import Project
from edgeconv.run.build.weights_file import facts_of
from edgeconv.run.verify import Verification
from edgeconv.search.choose.storage import stored_formats
from tests import onnx_models
from tests.command import BOARD, Command
from tests.weight_images import with_flipped

pytestmark = pytest.mark.usefixtures("unoptimised")

DIGITS = Path(__file__).resolve().parents[2] / "examples" / "digits" / "digits-cnn.onnx"
# dB at the output, of seeded inputs; measured 97.8, 55.5, 3.1 and 45.7.
LEAST_SQNR = {"flyte24": 90.0, "flyte16": 50.0, "flyte8": 0.0, "int8": 40.0, "int4": 10.0}
FORMATS = sorted(stored_formats())
BOARDS = ("generic-c", "host")


def filters_of(options: CompileOptions) -> int:
    """Weights in the packed filters of a network."""
    blobs = [blob for layer in decide(options).choice.layers for blob in layer.blobs]
    return sum(blob.elements for blob in blobs if blob.name == "filters")


def formats_on_boards() -> list[object]:
    """In every run each format on one of the boards."""
    return [
        pytest.param(name, board, marks=[pytest.mark.slow] if (i + j) % 2 else [])
        for i, name in enumerate(FORMATS)
        for j, board in enumerate(BOARDS)
    ]


@pytest.mark.parametrize(("name", "board"), formats_on_boards())
def test_digits(name: str, board: str, tmp_path: Path) -> None:
    """Flash shrinks by what the format saves on each filter; only rounding changes the results."""
    algorithms = {
        layer.node.name: layer.algorithm
        for layer in decide(CompileOptions(DIGITS, board, storage={"*": name})).choice.layers
        if layer.node.op == "Conv"
    }
    plain_options = CompileOptions(DIGITS, board, algorithms=algorithms)
    plain = decide(plain_options)
    options = CompileOptions(DIGITS, board, storage={"*": name})
    project, _ = compile_model(options, tmp_path / "digits")
    saved = plain.report["flash"]["weights"] - project.report["flash"]["weights"]
    form, layers = formats()[name], plain.choice.layers
    expected = 4 * filters_of(plain_options) - form.encoding.bytes_of(filters_of(options))
    units = sum(blob.bytes for layer in layers for blob in layer.blobs if blob.name == "bias")
    expected -= units if form.scaled else 0
    assert abs(saved - expected) <= 64 * sum(len(layer.blobs) for layer in layers)  # alignment
    result = pipeline.verify_project(tmp_path / "digits", model=DIGITS)
    assert result.passed
    assert min(output.sqnr_db for output in result.outputs) >= LEAST_SQNR[name]
    assert max(difference.relative for difference in result.rounded) <= 1e-5


def test_each_layer_its_own(tmp_path: Path) -> None:
    names = [
        layer.node.name
        for layer in decide(CompileOptions(DIGITS, "host")).choice.layers
        if layer.node.op in ("Conv", "Dense")
    ]
    storage = {layer: FORMATS[i % len(FORMATS)] for i, layer in enumerate(names[:-1])}
    compile_model(CompileOptions(DIGITS, "host", storage=storage), tmp_path / "digits")
    result = pipeline.verify_project(tmp_path / "digits", model=DIGITS)
    assert result.passed
    assert result.rounded


def round_weights(model: onnx.ModelProto, name: str) -> onnx.ModelProto:
    """The model with the weights of its convolutions and dense layers as ``name`` leaves them."""
    rounds = {node.input[1] for node in model.graph.node if node.op_type in ("Conv", "Gemm")}
    for tensor in model.graph.initializer:
        if tensor.name in rounds:
            value = rounded(numpy_helper.to_array(tensor), formats()[name])
            tensor.CopyFrom(numpy_helper.from_array(value, tensor.name))
    return model


@pytest.mark.parametrize("name", FORMATS)
def test_equals_a_float32_model_with_rounded_weights(
    name: str, residual_model: Path, tmp_path: Path
) -> None:
    """Rounded in the model file, which nothing of the compiler has seen."""
    other = onnx_models.save(round_weights(onnx_models.residual(), name), tmp_path / "rounded.onnx")
    compile_model(CompileOptions(other, BOARD), tmp_path / "rounded")
    assert pipeline.verify_project(tmp_path / "rounded", model=other).passed
    compile_model(
        CompileOptions(residual_model, BOARD, name="rounded", storage={"*": name}),
        tmp_path / "stored",
    )
    assert pipeline.verify_project(tmp_path / "stored", model=residual_model).passed
    expected, got = (
        np.fromfile(tmp_path / folder / "rounded_expected.bin", "<f4")
        for folder in ("rounded", "stored")
    )
    np.testing.assert_allclose(got, expected, rtol=0, atol=1e-5 * np.abs(expected).max())


def verified(tmp_path: Path, residual_model: Path, tolerance: float | None = None) -> Verification:
    return pipeline.verify_project(tmp_path / "net", model=residual_model, tolerance=tolerance)


def test_verify_tells_rounding_from_a_defect(residual_model: Path, tmp_path: Path) -> None:
    """A flipped byte among the filters is neither rounding nor float32's error, whether or not the
    checksums follow."""
    compile_model(CompileOptions(residual_model, BOARD, storage={"*": "int8"}), tmp_path / "net")
    assert verified(tmp_path, residual_model).passed
    assert not verified(tmp_path, residual_model, 1e-4).passed
    assert verified(tmp_path, residual_model, 0.5).passed
    path = tmp_path / "net" / "net_weights.bin"
    image = path.read_bytes()
    first = HEADER.size  # the first weight of the first layer
    path.write_bytes(with_flipped(image, first, 0x40))
    with pytest.raises(EdgeconvError, match="not those that were compiled"):
        verified(tmp_path, residual_model)
    path.write_bytes(with_flipped(image, first, 0x40, sealed=True))
    with pytest.raises(EdgeconvError, match="not those that were compiled"):
        verified(tmp_path, residual_model)
    project = Project.open(tmp_path / "net")
    facts = facts_of(Header.of(path.read_bytes()))
    project.write_report({**project.report, "program": {**project.report["program"], **facts}})
    with pytest.raises(EdgeconvError, match="rounded to int8 they are others"):
        verified(tmp_path, residual_model)


def test_verify_says_what_it_compared(
    edgeconv: Command, residual_model: Path, tmp_path: Path
) -> None:
    options = ("--board", "generic-c", "--storage", "*=flyte16", "-o", tmp_path / "net")
    edgeconv.ok("compile", residual_model, *options, "--verify")
    done = edgeconv.ok("verify", tmp_path / "net", "--layers")
    assert "same weights in float32" in done.stdout
    assert "equal to the model with rounded weights" in done.stdout
    assert "differs" not in done.stdout
    found = edgeconv.ok("verify", tmp_path / "net", "--json").json()
    assert found["passed"]
    assert found["rounded"][0]["relative"] <= 1e-5 < found["outputs"][0]["relative"]
    assert edgeconv("verify", tmp_path / "net", "--tolerance", "1e-6").status == 1
