"""Quantised networks from model file to running program, against ONNX Runtime."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import onnx
import pytest

from edgeconv.app import pipeline
from edgeconv.app.pipeline import CompileOptions, compile_model, decide
from edgeconv.codegen.equal_constants import encoded
from edgeconv.ir.encoding import INT8
from edgeconv.run.build.project import Project
from edgeconv.run.verify import Verification
from tests import onnx_models
from tests.quantised_models import Network, joined, tiny

pytestmark = pytest.mark.usefixtures("unoptimised")

IN_FLOAT32 = {"*:output": "float32"}
ZOO = [
    Path(os.environ.get("EDGECONV_ZOO", "")) / f"mlperf-tiny-{name}-int8.onnx"
    for name in ("ad", "kws", "resnet8", "vww")
]


def verified(
    model: onnx.ModelProto,
    folder: Path,
    board: str = "host",
    *,
    layers: bool = False,
    storage: Mapping[str, str] | None = None,
) -> Verification:
    path = onnx_models.save(model, folder / "net.onnx")
    compile_model(CompileOptions(path, board, storage=storage or {}), folder / "net")
    return pipeline.verify_project(folder / "net", model=path, layers=layers)


def steps(result: Verification) -> float:
    """Of the output that is furthest from ONNX Runtime's."""
    assert all(output.spacing for output in result.outputs)
    return max(output.spacings for output in result.outputs)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Verification]:
    """The tiny network with results in float32, compiled and verified: its folder and the
    outcome."""
    folder = tmp_path_factory.mktemp("qdq")
    return folder, verified(tiny()[0], folder, "generic-c", storage=IN_FLOAT32)


def test_integers_in_and_out(built: tuple[Path, Verification]) -> None:
    folder, result = built
    assert result.passed
    assert steps(result) <= 1
    assert result.outputs[0].largest > 20
    assert not result.rounded  # no twin: the model's own integers are what is stored
    text = (folder / "net" / "net.h").read_text()
    assert "const int8_t *input_image, int8_t *output_scores" in text


@pytest.mark.slow
@pytest.mark.parametrize(
    ("dtype", "opset", "weights", "board"),
    [
        ("int8", 15, "int8", "host"),
        ("uint8", 13, "int8", "generic-c"),
        ("int16", 21, "int8", "host"),
        ("uint16", 15, "int8", "host"),
        ("int8", 10, "int8", "generic-c"),
        ("uint8", 19, "uint8", "generic-c"),
        ("int8", 23, "int8", "odroid-xu3"),
        ("int8", 15, "int8", "mps2-an386"),
    ],
)
def test_types_and_opsets(dtype: str, opset: int, weights: str, board: str, tmp_path: Path) -> None:
    domain = "com.microsoft" if dtype.endswith("16") and opset < 21 else ""
    model, _ = tiny(dtype, opset, weights, domain)
    result = verified(model, tmp_path, board, layers=True)
    assert result.passed
    assert steps(result) <= 1
    assert result.first_difference is None


def test_the_image_holds_the_models_own_integers(tmp_path: Path) -> None:
    """Bit for bit, in the order of the kernels."""
    model, net = tiny()
    path = onnx_models.save(model, tmp_path / "net.onnx")
    decided = decide(CompileOptions(path, "host", storage=IN_FLOAT32))
    blobs = {
        layer.node.inputs[1].removesuffix("/w").removesuffix("_dq"): (layer.node, blob)
        for layer in decided.choice.layers
        for blob in layer.blobs
        if blob.name == "filters"
    }
    assert set(blobs) == {"w1", "w2", "w3"}
    for name, (node, blob) in blobs.items():
        assert blob.storage == INT8
        assert blob.arrange is not None
        whole = net.weights[name].T if node.op == "Dense" else net.weights[name]
        want = blob.arrange(whole.astype(np.float32)).astype(np.int8).tobytes()
        assert encoded(blob) == want
    plain = decide(CompileOptions(path, "host", storage={"*": "float32", **IN_FLOAT32}))
    assert plain.report["flash"]["weights"] > decided.report["flash"]["weights"]
    assert all("exact" not in layer["storage"] for layer in plain.report["layers"])


def test_one_step_is_allowed_and_no_more(built: tuple[Path, Verification], tmp_path: Path) -> None:
    """By the program itself, its expected outputs one off and two; and by verify, with a zero point
    four off."""
    shutil.copytree(built[0] / "net", tmp_path / "net")
    project = Project.open(tmp_path / "net")
    program, path = project.build().path, project.expected_file
    expected = np.fromfile(path, np.int8)
    for off, status in ((0, 0), (1, 0), (2, 1)):
        np.where(expected > 0, expected - off, expected + off).astype(np.int8).tofile(path)
        run = subprocess.run([program], cwd=project.directory, check=False, capture_output=True)
        assert run.returncode == status, run.stdout
    path.unlink()  # verify does not write over what others have changed
    source = tmp_path / "net" / "net.c"
    text = source.read_text()
    assert text.count("scale = 0.02f, zero = -28.0f;") == 1
    source.write_text(text.replace("zero = -28.0f;", "zero = -24.0f;"))
    result = pipeline.verify_project(tmp_path / "net", model=built[0] / "net.onnx")
    assert not result.passed
    assert steps(result) == 4


def test_per_channel_activations_and_moved_integers(tmp_path: Path) -> None:
    """Scales per channel are kept apart, as integers in memory.  Integers are concatenated and
    padded, a constant among them, the scales in front and behind not the same."""
    net = Network()
    scale, zero = np.array([0.02, 0.05, 0.01], np.float32), np.array([0, 5, -7], np.int8)
    q = net.node("QuantizeLinear", ["x", *net.scaling("q", scale, zero, "int8")], "q", axis=1)
    d = net.node("DequantizeLinear", [q, *net.scaling("d", scale, zero, "int8")], "d", axis=1)
    net.node("Conv", [d, net.filters("w", (4, 3, 2, 2))], "y")
    net.constant("c", np.array([-128, 0, 127, 9], np.int8).reshape(1, 1, 2, 2))
    j = net.node("Concat", [net.quantise("x", 0.03, 4), "c"], "j", axis=1)
    net.constant("pads", np.array([0, 0, 1, 0, 0, 0, 0, 1]))
    net.constant("fill", np.array(7, np.int8))
    p = net.node("Pad", [j, "pads", "fill"], "p")
    net.node("Identity", [net.dequantise(p, 0.05, -3)], "z")
    model = net.model(
        {"x": ("float32", (1, 3, 2, 2))},
        {"y": ("float32", (1, 4, 1, 1)), "z": ("float32", (1, 4, 3, 3))},
    )
    result = verified(model, tmp_path, "generic-c")
    assert result.passed
    y, z = result.outputs
    assert y.relative < 1e-5
    assert z.max_abs == 0
    layers = Project.open(tmp_path / "net").report["layers"]
    assert {"Quantise", "Dequantise"} <= {layer["op"] for layer in layers}


def test_branches_joined_on_a_scale_of_their_own(tmp_path: Path) -> None:
    """They are rounded to it before they are joined, to the same numbers, and lie in the result."""
    path = onnx_models.save(joined(), tmp_path / "net.onnx")
    options = CompileOptions(path, "generic-c", storage={"*:output": "int8"})
    project, _ = compile_model(options, tmp_path / "net")
    result = pipeline.verify_project(tmp_path / "net", model=path, layers=True)
    assert result.passed
    assert steps(result) < 0.01
    assert result.first_difference is None
    text = (project.directory / "net.c").read_text()
    assert len(re.findall(r'/\* \d+: Concat ".*": nothing moves,$', text, re.MULTILINE)) == 2
    floats = decide(CompileOptions(path, "generic-c", storage={"*:output": "float32"}))
    assert project.report["ram"]["arena"] < floats.report["ram"]["arena"]


@pytest.mark.slow
def test_integers_in_the_arena(tmp_path: Path) -> None:
    """With --io arena the places of inputs and outputs have the model's types too."""
    path = onnx_models.save(tiny("uint8")[0], tmp_path / "net.onnx")
    compile_model(CompileOptions(path, "generic-c", io="arena"), tmp_path / "net")
    assert pipeline.verify_project(tmp_path / "net", model=path).passed
    assert "uint8_t *net_input_image(void *arena);" in (tmp_path / "net" / "net.h").read_text()


@pytest.mark.slow
@pytest.mark.parametrize("path", ZOO, ids=lambda path: path.stem)
def test_zoo(path: Path, tmp_path: Path) -> None:
    if not path.is_file():
        pytest.skip("not in EDGECONV_ZOO")
    project, _ = compile_model(CompileOptions(path, "generic-c"), tmp_path / "net")
    result = pipeline.verify_project(tmp_path / "net", model=path)
    assert result.passed
    assert steps(result) <= 1
    assert {
        entry["dtype"] for entry in (*project.report["inputs"], *project.report["outputs"])
    } == {"int8"}
    stored = {
        layer["storage"]["weights"]
        for layer in project.report["layers"]
        if layer["op"] in ("Conv", "Dense")
    }
    assert stored == {"int8"}


class _Calibration:
    """What `onnxruntime.quantization` reads: one random image."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        values = np.random.default_rng(3).standard_normal(shape).astype(np.float32)
        self._left = [{"image": values}]

    def get_next(self) -> dict[str, np.ndarray] | None:
        return self._left.pop() if self._left else None


@pytest.mark.slow
@pytest.mark.parametrize(
    ("activations", "weights", "per_channel", "board"),
    [
        ("QUInt8", "QUInt8", False, "host"),
        ("QUInt8", "QInt8", True, "generic-c"),
        ("QInt8", "QInt8", True, "mps2-an386"),
    ],
)
def test_operators_on_integers(
    activations: str, weights: str, per_channel: bool, board: str, tmp_path: Path
) -> None:
    """A network as ONNX Runtime quantises it with QuantFormat.QOperator: every result that the
    program has is held to ONNX Runtime's kernels of these operators, filters are stored as int8."""
    quantization = pytest.importorskip("onnxruntime.quantization")
    onnx_models.save(onnx_models.residual(), tmp_path / "float.onnx")
    quantization.quantize_static(
        tmp_path / "float.onnx",
        tmp_path / "net.onnx",
        _Calibration((1, 3, 9, 9)),
        quant_format=quantization.QuantFormat.QOperator,
        activation_type=getattr(quantization.QuantType, activations),
        weight_type=getattr(quantization.QuantType, weights),
        per_channel=per_channel,
    )
    model = onnx.load(tmp_path / "net.onnx")
    ops = {node.op_type for node in model.graph.node}
    assert {"QLinearConv", "QLinearAdd", "QLinearConcat", "QGemm"} <= ops
    result = verified(model, tmp_path, board, layers=True)
    assert result.passed
    assert result.per_layer is not None
    assert result.per_layer.numbers > 500
    report = Project.open(tmp_path / "net").report
    stored = {each["storage"]["weights"] for each in report["layers"] if each["op"] == "Conv"}
    assert stored == ({"int8"} if weights == "QInt8" else {"flyte16"})


def test_filters_that_flash_has_no_room_for_when_transformed(tmp_path: Path) -> None:
    """Integer Winograd's take eight times the bytes; where they do not fit, others are chosen."""
    net = Network("int8", 15, seed=3)
    y = net.dequantise("image", 0.05, 0)
    for i in range(2):
        y = net.node("Conv", [y, net.filters(f"w{i}", (32, 32, 3, 3))], f"c{i}", pads=[1] * 4)
        y = net.pair(y, 0.05, 0)
    net.node("Identity", [net.quantise(y, 0.05, 0)], "scores")
    port = ("int8", (1, 32, 14, 14))
    path = onnx_models.save(net.model({"image": port}, {"scores": port}), tmp_path / "net.onnx")
    found = {}
    for flash in (None, 64 * 1024):
        options = CompileOptions(path, "raspberry-pi-4", flash=flash)
        decided = decide(options)
        found[flash] = {layer.algorithm for layer in decided.choice.layers if layer.candidate}
        assert flash is None or decided.sizes.flash.total <= flash
    assert found == {None: {"int8_winograd"}, 64 * 1024: {"int8_packed"}}
