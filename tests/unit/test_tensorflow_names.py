"""Names out of TensorFlow's scopes and signatures, as C has them."""

from __future__ import annotations

from pathlib import Path

import pytest

from edgeconv.app.pipeline import CompileOptions, compile_model
from edgeconv.codegen.port_names import is_awkward, port_names
from edgeconv.codegen.tensorflow_names import without_tensorflow
from edgeconv.model import frontend
from tests.tflite_models import Sketch, Writer


@pytest.mark.parametrize(
    ("name", "layer"),
    [
        ("StatefulPartitionedCall/model/conv1/BiasAdd", "conv1"),
        ("model/conv1/Relu;model/bn1/FusedBatchNormV3;model/conv1/Conv2D", "conv1"),
        ("sequential_3/dense/MatMul;sequential_3/dense/BiasAdd", "dense"),
        ("functional_1/dense_1/Relu_2", "dense_1"),
        ("StatefulPartitionedCall/mobilenet/Conv_1/Relu6", "mobilenet/Conv_1"),
        ("StatefulPartitionedCall:0", "StatefulPartitionedCall"),
        ("/0/Conv_output_0", "/0/Conv_output_0"),  # of torch
        ("onnx::Conv_12", "onnx::Conv_12"),
        ("a;b", "a;b"),
        ("model/BiasAdd", "BiasAdd"),
        ("PartitionedCall/model", "PartitionedCall/model"),
        ("/", "/"),
        ("", ""),
    ],
)
def test_the_layer_is_what_is_left(name: str, layer: str) -> None:
    assert without_tensorflow(name) == layer


def test_layers_of_one_name_stay_apart() -> None:
    names = ["model/a/BiasAdd", "model/a/Relu"]
    assert list(port_names([], names, {})[1].values()) == ["a", "a_2"]


def test_a_signature_comes_first_and_a_rename_before_that() -> None:
    signature = {"StatefulPartitionedCall:0": "note", "StatefulPartitionedCall:1": "onset"}
    _, outputs, _ = port_names([], list(signature), {}, signature=signature)
    assert list(outputs.values()) == ["note", "onset"]
    for old in ("note", "StatefulPartitionedCall:0"):
        _, outputs, _ = port_names([], list(signature), {old: "pitch"}, signature=signature)
        assert list(outputs.values()) == ["pitch", "onset"]


@pytest.mark.parametrize(
    ("name", "awkward"),
    [("statefulpartitionedcall_0", True), ("x", True), ("n12", True), ("image", False)]
    + [("conv_output_0", True), ("probabilities", False), ("a" * 30, True)],
)
def test_names_that_say_little(name: str, awkward: bool) -> None:
    assert is_awkward(name) == awkward


def a_file(folder: Path, signature: tuple[dict[str, int], dict[str, int]] | None) -> Path:
    sketch = Sketch()
    x = sketch.tensor("serving_default_x:0", (1, 4), "float32")
    y = sketch.tensor("StatefulPartitionedCall:0", (1, 4), "float32")
    sketch.operator("LOGISTIC", [x], [y])
    path = folder / "net.tflite"
    path.write_bytes(Writer().model([(sketch, [x], [y])], signature))
    return path


def test_header_and_readme_of_a_tflite_file(tmp_path: Path) -> None:
    path = a_file(tmp_path, ({"features": 0}, {"score": 1}))
    assert frontend.load(path).signature == {
        "serving_default_x:0": "features",
        "StatefulPartitionedCall:0": "score",
    }
    options = CompileOptions(path, "generic-c", model_version="2.1 (field)")
    project, _ = compile_model(options, tmp_path / "net")
    header = (project.directory / "net.h").read_text()
    assert "const float *input_features, float *output_score" in header
    assert '#define NET_MODEL_VERSION "2.1 (field)"' in header
    layout = project.report["program"]["weights_layout"]
    assert f"#define NET_WEIGHTS_LAYOUT UINT64_C(0x{layout})" in header
    readme = (project.directory / "README.md").read_text()
    assert "--rename" not in readme
    for line in readme.partition("```c")[2].partition("```")[0].split("\n"):
        assert line.split(" ")[0] in header  # all constants are declared
    bill = (project.directory / "net.cdx.json").read_text()
    assert '"version": "2.1 (field)"' in bill


def test_a_readme_names_the_way_out_of_names_that_say_little(tmp_path: Path) -> None:
    project, _ = compile_model(
        CompileOptions(a_file(tmp_path, None), "generic-c"), tmp_path / "net"
    )
    readme = (project.directory / "README.md").read_text()
    assert "--rename x=NEW --rename statefulpartitionedcall=NEW" in readme
