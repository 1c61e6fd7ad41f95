"""What the header and the report say of inputs and outputs."""

from __future__ import annotations

import json
import struct
import subprocess
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from edgeconv.app.pipeline import CompileOptions, compile_model
from edgeconv.ir.ports import PortFacts, port_facts
from edgeconv.model.frontend import load
from edgeconv.model.passes import optimise
from edgeconv.run.build.toolchain import probe
from tests.onnx_models import convolution, model, save
from tests.quantised_models import tiny

make = helper.make_node
SCALE = 0.1  # no float32 number: the literal must still be the one next to it


def facts_of(source: onnx.ModelProto, tmp_path: Path) -> dict[str, PortFacts]:
    return port_facts(optimise(load(save(source, tmp_path / "net.onnx"))))


def nhwc() -> onnx.ModelProto:
    """An image with channels last through a convolution, and back."""
    nodes = [
        make("Relu", ["image"], ["r"]),
        make("Transpose", ["r"], ["t"], perm=[0, 3, 1, 2]),
        make("Conv", ["t", "w"], ["c"]),
        make("Transpose", ["c"], ["u"], perm=[0, 2, 3, 1]),
        make("Sigmoid", ["u"], ["y"]),
    ]
    weights = {"w": np.ones((2, 3, 1, 1), np.float32)}
    return model(nodes, {"image": (1, 4, 5, 3)}, {"y": None}, weights)


def test_axes_of_images(tmp_path: Path) -> None:
    plain = model([make("Relu", ["x"], ["y"])], {"x": (1, 2, 3, 4)}, {"y": None})
    assert {f.axes for f in facts_of(plain, tmp_path).values()} == {""}
    assert [f.axes for f in facts_of(convolution(), tmp_path).values()] == ["NCHW", "NCHW"]
    assert [f.axes for f in facts_of(nhwc(), tmp_path).values()] == ["NHWC", "NHWC"]


def test_axes_that_two_readers_disagree_on(tmp_path: Path) -> None:
    nodes = [
        make("Transpose", ["x"], ["t"], perm=[0, 3, 1, 2]),
        make("Conv", ["t", "w"], ["a"]),
        make("Conv", ["x", "w"], ["b"]),
    ]
    weights = {"w": np.ones((2, 3, 1, 1), np.float32)}
    found = facts_of(model(nodes, {"x": (1, 3, 3, 3)}, {"a": None, "b": None}, weights), tmp_path)
    assert found["x"].axes == ""


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_scaling_of_integers(tmp_path: Path, dtype: str) -> None:
    found = facts_of(tiny(dtype)[0], tmp_path)
    assert found["image"].scaling is not None
    assert found["scores"].scaling is not None
    assert found["scores"].spacing == 1.0


def both_ways(per_channel: bool) -> onnx.ModelProto:
    """uint8 in, int8 out, an output of each scale; the scales are no binary fractions."""
    scales = np.array([SCALE, 0.3], np.float32) if per_channel else np.float32(SCALE)
    zeros = np.array([7, 200], np.uint8) if per_channel else np.uint8(7)
    nodes = [
        make("DequantizeLinear", ["x", "s", "z"], ["real"], axis=1),
        make("Sigmoid", ["real"], ["y"]),
        make("QuantizeLinear", ["y", "t", "o"], ["q"]),
    ]
    constants = {"s": scales, "z": zeros, "t": np.float32(1 / 256), "o": np.int8(-128)}
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes,
        "g",
        [value("x", TensorProto.UINT8, (1, 2, 3))],
        [value("y", TensorProto.FLOAT, (1, 2, 3)), value("q", TensorProto.INT8, (1, 2, 3))],
        [_initializer(name, np.asarray(array)) for name, array in constants.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def _initializer(name: str, array: np.ndarray) -> TensorProto:
    return numpy_helper.from_array(array, name)


@pytest.mark.parametrize("io", ["caller", "arena"])
@pytest.mark.parametrize("language", [("gcc", "c", "c11"), ("g++", "c++", "c++11")])
def test_constants_of_the_header(tmp_path: Path, language: tuple[str, str, str], io: str) -> None:
    """In C and in C++: the bits of the scale, and everything the preprocessor may ask for."""
    name, kind, standard = language
    compiler = probe(name)
    if compiler is None:
        pytest.skip(f"{name} is not installed")
    path = save(both_ways(per_channel=False), tmp_path / "net.onnx")
    directory = compile_model(CompileOptions(path, "generic-c", io=io), tmp_path / "net")[
        0
    ].directory
    (tmp_path / "use").write_text(
        '#include "net.h"\n#include <stdio.h>\n#include <string.h>\n'
        "#if !defined(NET_INPUT_SCALE) || defined(NET_OUTPUT_ELEMENTS)\n#error names\n#endif\n"
        "int main(void)\n{\n"
        "    static const int shape[NET_INPUT_X_RANK] = {NET_INPUT_DIM_0, NET_INPUT_DIM_1,\n"
        "        NET_INPUT_X_DIM_2};\n"
        "    const float scale = NET_INPUT_SCALE;\n    unsigned bits;\n"
        "    memcpy(&bits, &scale, sizeof bits);\n"
        '    printf("%08x %d %d %d %d %d %d %g %d %d\\n", bits, NET_INPUT_ZERO_POINT, shape[0],\n'
        "        shape[1], shape[2], NET_INPUT_ELEMENTS, NET_OUTPUT_Y_RANK,\n"
        "        (double)NET_OUTPUT_Q_SCALE, NET_OUTPUT_Q_ZERO_POINT, NET_OUTPUT_Q_DIM_2);\n"
        "    return 0;\n}\n"
    )
    strict = (f"-std={standard}", "-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Werror")
    where = ("-x", kind, "use", "-I", str(directory), "-o", "program")
    subprocess.run([*compiler.command, *strict, *where], cwd=tmp_path, check=True)
    printed = subprocess.run([tmp_path / "program"], capture_output=True, text=True, check=True)
    bits = struct.unpack("<I", np.float32(SCALE).tobytes())[0]
    assert printed.stdout == f"{bits:08x} 7 1 2 3 6 3 0.00390625 -128 3\n"


def test_scales_per_channel(tmp_path: Path) -> None:
    path = save(both_ways(per_channel=True), tmp_path / "net.onnx")
    directory = compile_model(CompileOptions(path, "generic-c"), tmp_path / "net")[0].directory
    header = (directory / "net.h").read_text()
    assert "#define NET_INPUT_X_SCALES {0.1f, 0.3f}\n" in header
    assert "#define NET_INPUT_X_ZERO_POINTS {7, 200}\n" in header
    assert "NET_INPUT_X_SCALE_AXIS = 1\n" in header
    (port,) = json.loads((directory / "report.json").read_text())["inputs"]
    np.testing.assert_array_equal(
        np.array(port["scale"], np.float32), np.array([SCALE, 0.3], np.float32)
    )
    assert (port["zero_point"], port["scale_axis"]) == ([7, 200], 1)
    assert (
        "a scale and zero point per index of dimension 1" in (directory / "README.md").read_text()
    )


def test_report_and_readme_say_the_same(tmp_path: Path) -> None:
    path = save(tiny()[0], tmp_path / "net.onnx")
    directory = compile_model(CompileOptions(path, "generic-c"), tmp_path / "net")[0].directory
    report = json.loads((directory / "report.json").read_text())
    (image,), (scores,) = report["inputs"], report["outputs"]
    assert image["axes"] == "NCHW"
    assert "axes" not in scores
    readme = (directory / "README.md").read_text()
    for port in (image, scores):
        (zero,), (scale,) = port["zero_point"], port["scale"]
        origin = f"+ {-zero}" if zero < 0 else f"- {zero}"
        shown = f"number = (integer {origin}) * {np.float32(scale)!s}f"
        assert shown in readme
        assert shown in (directory / "net.h").read_text()
