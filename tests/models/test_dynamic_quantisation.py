"""Networks quantised dynamically, compiled: bit by bit the integers, scales and sums of ONNX."""

from __future__ import annotations

import shutil
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from edgeconv.app import pipeline
from edgeconv.app.pipeline import CompileOptions, compile_model
from edgeconv.ir.activation import Activation
from edgeconv.ir.candidate import REAL
from edgeconv.ir.encoding import FLOAT32, int8
from edgeconv.ir.graph import Epilogue
from edgeconv.model import frontend, passes
from edgeconv.model.frontend import reference_outputs
from edgeconv.model.frontend.running import prepared
from edgeconv.run.build import run_binary
from edgeconv.run.build.project import Project
from edgeconv.search import choose
from edgeconv.search.choose.dynamic_quantisation import in_integers
from edgeconv.search.choose.run_time_ranges import ranged
from edgeconv.search.choose.storage import EVERY_RESULT
from edgeconv.target import board as boards
from tests import onnx_models
from tests.onnx_runtime import own_kernels

pytestmark = pytest.mark.usefixtures("unoptimised")

onnxruntime = pytest.importorskip("onnxruntime", reason="the reference engine of these tests")

Values = npt.NDArray[Any]
node = helper.make_node
TYPES = {"q": "uint8", "s": "float32", "z": "uint8", "sums": "int32", "taps": "int32"}


def network() -> onnx.ModelProto:
    """A convolution and a product, as quantize_dynamic writes them, with zero points of both; the
    output ``y`` beside all integers in between."""
    rng = np.random.default_rng(4)
    nodes = [
        node("DynamicQuantizeLinear", ["x"], ["q", "s", "z"]),
        node("ConvInteger", ["q", "w", "z", "w_zero"], ["taps"], pads=[1, 1, 0, 1]),
        node("Cast", ["taps"], ["real"], to=TensorProto.FLOAT),
        node("Mul", ["s", "w_scale"], ["unit"]),
        node("Mul", ["real", "unit"], ["scaled"]),
        node("Relu", ["scaled"], ["r"]),
        node("Flatten", ["r"], ["flat"]),
        node("DynamicQuantizeLinear", ["flat"], ["q2", "s2", "z2"]),
        node("MatMulInteger", ["q2", "b", "z2", "b_zero"], ["sums"]),
        node("Cast", ["sums"], ["real2"], to=TensorProto.FLOAT),
        node("Mul", ["s2", "b_scale"], ["unit2"]),
        node("Mul", ["real2", "unit2"], ["scaled2"]),
        node("Add", ["scaled2", "bias"], ["y"]),
    ]
    constants: dict[str, Any] = {
        "w": rng.integers(0, 256, (6, 3, 3, 3)).astype(np.uint8),
        "w_zero": np.uint8(119),
        "w_scale": np.float32(0.013),
        "b": rng.integers(-128, 128, (6 * 7 * 8, 5)).astype(np.int8),
        "b_zero": np.arange(-2, 3).astype(np.int8),
        "b_scale": rng.uniform(0.01, 0.02, 5).astype(np.float32),
        "bias": rng.standard_normal(5).astype(np.float32),
    }
    made = onnx_models.model(
        nodes,
        {"x": [1, 3, 8, 8]},
        {"y": None},
        {name: np.asarray(value) for name, value in constants.items()},
        opset=13,
    )
    for name, dtype in TYPES.items():
        kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        made.graph.output.append(helper.make_tensor_value_info(name, kind, None))
    return made


def samples() -> list[Values]:
    """Of both signs, of one, with ties between steps, all equal, and zeros."""
    rng = np.random.default_rng(5)
    x = rng.standard_normal((1, 3, 8, 8)).astype(np.float32)
    ties = (rng.integers(-100, 410, x.shape) / 2).astype(np.float32)
    ties[0, 0, 0, :2] = -50.0, 205.0
    some = [x, np.abs(x), -np.abs(x) * 1e-3, ties, np.full_like(x, 3.0), np.zeros_like(x)]
    return [np.ascontiguousarray(each) for each in some]


@pytest.mark.parametrize(
    "board",
    ["host", *(pytest.param(b, marks=pytest.mark.slow) for b in ("generic-c", "odroid-xu3"))],
)
def test_integers_scales_and_sums(board: str, tmp_path: Path) -> None:
    model = onnx_models.save(network(), tmp_path / "net.onnx")
    folder = tmp_path / "net"
    compile_model(CompileOptions(model, board), folder)
    options = own_kernels()
    session = onnxruntime.InferenceSession(model, options)
    names = [each.name for each in session.get_outputs()]
    project = Project.open(folder)
    binary = project.build()
    for x in samples():
        (folder / "x.bin").write_bytes(x.tobytes())
        out = folder / "out.bin"
        done = run_binary(
            binary.path,
            binary.board,
            ["--input", str(folder / "x.bin"), "--output", str(out)],
            cwd=folder,
        )
        assert done.status == 0, done.stderr
        raw, at = out.read_bytes(), 0
        for name, want in zip(names, session.run(names, {"x": x}), strict=True):
            got = np.frombuffer(raw, want.dtype, want.size, at).reshape(want.shape)
            at += want.nbytes
            if name == "y":
                np.testing.assert_allclose(got, want, rtol=1e-6, atol=1e-6 * np.abs(want).max())
            else:
                np.testing.assert_array_equal(got, want, err_msg=name)
        assert at == len(raw)
    for name in ("x.bin", "out.bin"):
        (folder / name).unlink()
    assert pipeline.verify_project(folder, model=model).passed


def of_bytes() -> onnx.ModelProto:
    """A convolution and products of one tensor, whose weights are int8: borders, channels left
    over, a unit for all and one per channel, a bias."""
    rng = np.random.default_rng(9)
    nodes = [
        node("DynamicQuantizeLinear", ["x"], ["q", "s", "z"]),
        node("ConvInteger", ["q", "w", "z"], ["taps"], pads=[1, 1, 0, 1]),
        node("Cast", ["taps"], ["real"], to=TensorProto.FLOAT),
        node("Mul", ["s", "w_scale"], ["unit"]),
        node("Mul", ["real", "unit"], ["scaled"]),
        node("Add", ["scaled", "shift"], ["shifted"]),
        node("Relu", ["shifted"], ["r"]),
        node("Reshape", ["x", "rows"], ["flat"]),
        node("DynamicQuantizeLinear", ["flat"], ["q2", "s2", "z2"]),
    ]
    constants: dict[str, Any] = {
        "w": rng.integers(-127, 128, (18, 5, 3, 3)).astype(np.int8),
        "w_scale": np.float32(0.013),
        "shift": rng.standard_normal((1, 18, 1, 1)).astype(np.float32),
        "rows": np.array([3, -1]),
        "bias": rng.standard_normal(35).astype(np.float32),
    }
    for each, scale in (("one", 0.01), ("many", rng.uniform(0.01, 0.02, 35))):
        constants[f"w_{each}"] = rng.integers(-127, 128, (5 * 9 * 8 // 3, 35)).astype(np.int8)
        constants[f"scale_{each}"] = np.float32(scale)
        nodes += [
            node("MatMulInteger", ["q2", f"w_{each}", "z2"], [f"sums_{each}"]),
            node("Cast", [f"sums_{each}"], [f"real_{each}"], to=TensorProto.FLOAT),
            node("Mul", ["s2", f"scale_{each}"], [f"unit_{each}"]),
            node("Mul", [f"real_{each}", f"unit_{each}"], [f"y_{each}"]),
        ]
    nodes.append(node("Add", ["y_many", "bias"], ["y"]))
    made = onnx_models.model(
        nodes,
        {"x": [1, 5, 9, 8]},
        {"y": None},
        {name: np.asarray(value) for name, value in constants.items()},
        opset=13,
    )
    for name in ("y_one", "r"):
        made.graph.output.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, None))
    return made


@pytest.mark.parametrize(
    "board",
    [
        *("host", "graviton3"),
        *(
            pytest.param(name, marks=pytest.mark.slow)
            for name in ("raspberry-pi-5", "raspberry-pi-4", "odroid-xu3", "power10-s1024")
        ),
    ],
)
def test_products_in_integers(board: str, tmp_path: Path) -> None:
    """The sums are those of ONNX: what is but their product with a unit is, to the last bit."""
    model = onnx_models.save(of_bytes(), tmp_path / "net.onnx")
    folder = tmp_path / "net"
    compile_model(CompileOptions(model, board), folder)
    project = Project.open(folder)
    operators = [each["op"] for each in project.report["layers"]]
    assert operators.count("DynamicDense") == 2
    # The convolution is so small that ARMv7 takes as long in float32.
    assert operators.count("DynamicConv") == (board != "odroid-xu3")
    binary = project.build()
    options = own_kernels()
    session = onnxruntime.InferenceSession(model, options)
    names = [each.name for each in session.get_outputs()]
    x = np.random.default_rng(5).standard_normal((1, 5, 9, 8)).astype(np.float32)
    for given in (x, np.abs(x), -np.abs(x) * 1e-3, np.zeros_like(x)):
        (folder / "x.bin").write_bytes(given.tobytes())
        out = folder / "out.bin"
        arguments = ["--input", str(folder / "x.bin"), "--output", str(out)]
        done = run_binary(binary.path, binary.board, arguments, cwd=folder)
        assert done.status == 0, done.stderr
        raw, at = out.read_bytes(), 0
        for name, want in zip(names, session.run(names, {"x": given}), strict=True):
            got = np.frombuffer(raw, want.dtype, want.size, at).reshape(want.shape)
            at += want.nbytes
            near = 0.0 if name == "y_one" else 1e-6
            np.testing.assert_allclose(got, want, rtol=near, atol=near * np.abs(want).max())
    for name in ("x.bin", "out.bin"):
        (folder / name).unlink()
    result = pipeline.verify_project(folder, model=model)
    assert result.passed
    assert all(output.assumed for output in result.outputs)  # none is rounded to eight bits


@pytest.mark.parametrize("board", ["microbit", "mps2-an386", "mps2-an500", "mps3-an547"])
def test_products_in_integers_without_vectors(board: str, tmp_path: Path) -> None:
    """Decided for a Cortex-M0, M4, M7 and M55 alike; no float32 product of weights is left."""
    model = onnx_models.save(of_bytes(), tmp_path / "net.onnx")
    whole = in_integers(passes.optimise(frontend.load(model)), boards.load(board).target)
    operators = [each.op for each in whole.nodes]
    assert operators.count("DynamicDense") == 2
    assert operators.count("DynamicConv") == 1
    assert not {"Dense", "Conv"} & set(operators)


def depthwise(zero: int | None = None) -> onnx.ModelProto:
    """A convolution of one filter per channel, quantised at run time; with ``zero`` of uint8."""
    rng = np.random.default_rng(3)
    around = ["zero"] if zero is not None else []
    nodes = [
        node("DynamicQuantizeLinear", ["x"], ["q", "s", "z"]),
        node("ConvInteger", ["q", "w", "z", *around], ["taps"], pads=[1, 1, 1, 1], group=12),
        node("Cast", ["taps"], ["real"], to=TensorProto.FLOAT),
        node("Mul", ["s", "w_scale"], ["unit"]),
        node("Mul", ["real", "unit"], ["y"]),
    ]
    constants: dict[str, Any] = {
        "w": rng.integers(-127, 128, (12, 1, 3, 3)).astype(np.int8),
        "w_scale": np.asarray(np.float32(0.013)),
    }
    if zero is not None:
        constants |= {"w": (constants["w"] + np.int16(128)).astype(np.uint8)}
        constants |= {"zero": np.asarray(zero, np.uint8)}
    return onnx_models.model(nodes, {"x": [1, 12, 9, 8]}, {"y": None}, constants, opset=13)


def residual_block() -> onnx.ModelProto:
    """A pointwise convolution, a bias, the input added and a ReLU."""
    rng = np.random.default_rng(8)
    nodes = [
        node("DynamicQuantizeLinear", ["x"], ["q", "s", "z"]),
        node("ConvInteger", ["q", "w", "z"], ["taps"]),
        node("Cast", ["taps"], ["real"], to=TensorProto.FLOAT),
        node("Mul", ["s", "w_scale"], ["unit"]),
        node("Mul", ["real", "unit"], ["scaled"]),
        node("Add", ["scaled", "bias"], ["biased"]),
        node("Add", ["x", "biased"], ["sum"]),
        node("Relu", ["sum"], ["y"]),
    ]
    constants: dict[str, Any] = {
        "w": rng.integers(-127, 128, (12, 12, 1, 1)).astype(np.int8),
        "w_scale": np.asarray(np.float32(0.013)),
        "bias": rng.standard_normal((1, 12, 1, 1)).astype(np.float32),
    }
    return onnx_models.model(nodes, {"x": [1, 12, 9, 8]}, {"y": None}, constants, opset=13)


@pytest.mark.parametrize("board", ["host", "mps2-an500"])
def test_a_residual_is_added_to_sums_of_run_time_scales(board: str, tmp_path: Path) -> None:
    """In the layer that makes them, with the ReLU behind it; written as ONNX it is an Add."""
    if boards.load(board).arch.startswith("armv"):
        for needed in ("arm-none-eabi-gcc", "qemu-system-arm"):
            if not shutil.which(needed):
                pytest.skip(f"{needed} is not installed")
    model = onnx_models.save(residual_block(), tmp_path / "net.onnx")
    target = boards.load(board).target
    made = in_integers(passes.optimise(frontend.load(model)), target)
    (sums,) = (each for each in made.nodes if each.op == "DynamicConv")
    assert sums.epilogue == Epilogue(residual="x", after=Activation("relu"))
    feeds = {"x": np.random.default_rng(5).standard_normal((1, 12, 9, 8)).astype(np.float32)}
    want = reference_outputs(model, feeds).values["y"]
    np.testing.assert_allclose(prepared(made)(feeds)["y"], want, rtol=1e-5, atol=1e-5)
    compile_model(CompileOptions(model, board), tmp_path / "net")
    assert pipeline.verify_project(tmp_path / "net", model=model).passed


def test_what_is_decided_for_another_core_is_lowered(tmp_path: Path) -> None:
    """As samples are run here of a network for a microcontroller, whose kernel vectors have not."""
    model = onnx_models.save(depthwise(), tmp_path / "net.onnx")
    graph = in_integers(passes.optimise(frontend.load(model)), boards.load("microbit").target)
    choice = choose.select(graph, boards.load("zen4").target)
    (layer,) = (each for each in choice.layers if each.node.op == "DynamicConv")
    assert layer.algorithm == "integer"


@pytest.mark.parametrize(
    "board", ["mps3-an547", pytest.param("mps2-an386", marks=pytest.mark.slow)]
)
def test_products_in_integers_of_firmware(board: str, tmp_path: Path) -> None:
    """Every layer is what the model says, from the numbers that it read."""
    for needed in ("arm-none-eabi-gcc", "qemu-system-arm"):
        if not shutil.which(needed):
            pytest.skip(f"{needed} is not installed")
    model = onnx_models.save(of_bytes(), tmp_path / "net.onnx")
    compile_model(CompileOptions(model, board), tmp_path / "net")
    report = Project.open(tmp_path / "net").report
    computed = {each["op"]: each.get("compute") for each in report["layers"]}
    assert computed["DynamicDense"] == computed["DynamicConv"] == REAL
    result = pipeline.verify_project(tmp_path / "net", model=model)
    assert result.passed


def test_what_is_in_integers_is_written_as_onnx(tmp_path: Path) -> None:
    """In real arithmetic, whose sums are exact as long as float32 counts so far."""
    model = onnx_models.save(of_bytes(), tmp_path / "net.onnx")
    graph = passes.optimise(frontend.load(model))
    whole = in_integers(graph, boards.load("zen4").target)
    kinds = {"DynamicQuantise", "DynamicDense", "DynamicConv"}
    assert kinds <= {each.op for each in whole.nodes}
    feeds = {"x": np.random.default_rng(5).standard_normal((1, 5, 9, 8)).astype(np.float32)}
    want = reference_outputs(model, feeds).values
    for name, values in prepared(whole)(feeds).items():
        np.testing.assert_allclose(values, want[name], rtol=1e-5, atol=1e-5)


def block() -> onnx.ModelProto:
    """Attention of one head with a residual and a normalisation, and a product behind."""
    rng = np.random.default_rng(6)
    constants = {
        name: rng.standard_normal((32, 32)).astype(np.float32) / 6 for name in ("wq", "wk", "wv")
    }
    constants |= {"g": np.ones(32, np.float32), "w": constants["wq"].T.copy()}
    nodes = [
        *(node("MatMul", ["x", f"w{each}"], [each]) for each in "qkv"),
        node("Transpose", ["k"], ["kt"], perm=[0, 2, 1]),
        node("MatMul", ["q", "kt"], ["scores"]),
        node("Softmax", ["scores"], ["p"], axis=-1),
        node("MatMul", ["p", "v"], ["mixed"]),
        node("Add", ["mixed", "x"], ["sum"]),
        node("LayerNormalization", ["sum", "g"], ["n"], axis=-1),
        node("MatMul", ["n", "w"], ["y"]),
    ]
    return onnx_models.model(nodes, {"x": [1, 10, 32]}, {"y": None}, constants, opset=17)


def test_a_block_of_a_transformer(tmp_path: Path) -> None:
    """As quantize_dynamic writes it, products of two activations too: layer by layer."""
    from onnxruntime.quantization import quantize_dynamic  # noqa: PLC0415 - optional

    plain = onnx_models.save(block(), tmp_path / "block.onnx")
    model = tmp_path / "quantised.onnx"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        quantize_dynamic(plain, model, extra_options={"MatMulConstBOnly": False})
    operators = [each.op_type for each in onnx.load(model).graph.node]
    assert operators.count("MatMulInteger") == 6
    compile_model(CompileOptions(model, "host"), tmp_path / "out")
    result = pipeline.verify_project(tmp_path / "out", model=model)
    assert result.passed
    assert result.per_layer is not None
    assert result.per_layer.ties == 0


def test_a_range_is_found_in_one_pass(tmp_path: Path) -> None:
    """Of ten nodes three are left, whatever the layout; behind a ReLU nothing is below 0."""
    model = onnx_models.save(depthwise(), tmp_path / "net.onnx")
    plain = passes.optimise(frontend.load(model))
    whole = ranged(plain)
    kinds = Counter(node.op for node in whole.nodes)
    assert kinds["DynamicRange"] == kinds["DynamicScale"] == kinds["DynamicZero"] == 1
    assert len(whole.nodes) == len(plain.nodes) - 5
    (found,) = (node for node in whole.nodes if node.op == "DynamicRange")
    assert not found.attrs["positive"]
    (layer,) = (
        each
        for each in choose.select(whole, boards.load("mps2-an386").target).layers
        if each.node.op == "DynamicRange"
    )
    assert layer.params["by_bits"]
    with_relu = onnx.load(model)
    (first,) = (each for each in with_relu.graph.node if each.op_type == "DynamicQuantizeLinear")
    first.input[0] = "relu"
    with_relu.graph.node.insert(0, node("Relu", ["x"], ["relu"]))
    again = ranged(passes.optimise(frontend.load(onnx_models.save(with_relu, tmp_path / "r.onnx"))))
    assert [each.attrs["positive"] for each in again.nodes if each.op == "DynamicRange"] == [True]


@pytest.mark.parametrize("zero", [None, 100])
def test_depthwise_sums_are_those_of_columns(zero: int | None, tmp_path: Path) -> None:
    """Of cores with DSP: filters of two bytes, less their zero points."""
    model = onnx_models.save(depthwise(zero), tmp_path / "net.onnx")
    target = boards.load("mps2-an500").target
    choice = choose.select(in_integers(passes.optimise(frontend.load(model)), target), target)
    (layer,) = (found for found in choice.layers if found.node.op == "DynamicConv")
    assert layer.params["kernel_function"] == "depthwise_3x3"
    (words,) = (blob.pack() for blob in layer.blobs if blob.name == "channels")
    filters = words.reshape(3, 18).view(np.int16)
    kept = depthwise(zero).graph.initializer[0]
    wanted = numpy_helper.to_array(kept).astype(np.int16) - (zero or 0)
    np.testing.assert_array_equal(np.sort(filters.reshape(-1)), np.sort(wanted.reshape(-1)))


def test_kernels_of_ranges_write_what_they_are_asked_to(tmp_path: Path) -> None:
    """Scales are float32 in memory; a zero point that float32 layers read is stored as int8."""
    model = onnx_models.save(depthwise(), tmp_path / "net.onnx")
    graph, target = ranged(passes.optimise(frontend.load(model))), boards.load("mps2-an500").target
    choice = choose.select(graph, target, integers=EVERY_RESULT)
    written = {
        each.node.op: (each.params["out_as"], choice.graph[each.node.output].storage)
        for each in choice.layers
        if each.node.op.startswith("Dynamic")
    }
    assert written["DynamicScale"] == written["DynamicRange"] == ("EC_F32", FLOAT32)
    assert written["DynamicZero"] == ("EC_Q8_3F800000_M128", int8(1.0, -128))
