"""Networks with activations of 16 bits, on cores whose loops are in assembly."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import onnx
import pytest

from edgeconv.app.pipeline import CompileOptions, compile_model, decide, verify_project
from edgeconv.base.errors import EdgeconvError
from edgeconv.run.build import find_compiler, find_emulator
from edgeconv.run.build.project import Project
from edgeconv.target import board as boards
from tests import onnx_models
from tests.audio_models import keywords
from tests.models.random_quantised import network
from tests.models.test_emitted_banks import run_sanitized
from tests.quantised_models import Network


@pytest.mark.parametrize("board", ["mps2-an386", "mps3-an547"])
def test_keywords(board: str, tmp_path: Path) -> None:
    """SMLAD, SMLABB and VMLADAVA: every result of a convolution is that of exact arithmetic."""
    model = onnx_models.save(keywords("int16", 12, 1, (13, 9)), tmp_path / "keywords.onnx")
    options = CompileOptions(model, board, algorithms={"*": "int16"})
    compile_model(options, tmp_path / "out", build=True)
    layers = Project.open(tmp_path / "out").report["layers"]
    found = [layer["algorithm"] for layer in layers if layer["macs"]]
    assert found == ["int16"] * 4
    verified = verify_project(tmp_path / "out", model=model)
    assert verified.passed
    assert verified.per_layer is not None
    exact = verified.per_layer.exact.values()
    assert len(exact) >= 4
    assert all(each.wrong == 0 for each in exact)


BOARDS = (  # every way to multiply 16 bits
    *("xeon-silver-4208", "zen4", "x86-64-v3", "jetson-tx1", "raspberry-pi-5", "odroid-xu3"),
    *("power10-s1024", "generic-c", "mps2-an386", "mps2-an500", "mps2-an505", "mps3-an547"),
    "microbit",
)


def networks(count: int) -> Iterator[tuple[str, onnx.ModelProto]]:
    """One for keywords, and random ones, which have every kind of convolution."""
    yield "keywords", keywords("int16", 12, 2, (13, 9))
    for seed in range(count):
        yield f"random {seed}", network(seed, "uint16" if seed % 3 == 2 else "int16")


@contextmanager
def suppress_where_nothing_applies() -> Iterator[None]:
    """Of a random network whose layers are all beyond what is proven."""
    try:
        yield
    except EdgeconvError as error:
        if "applies to no convolution" not in error.one_line():
            raise


@pytest.mark.slow
@pytest.mark.usefixtures("unoptimised")
@pytest.mark.parametrize("board", BOARDS)
def test_whole_networks(board: str, tmp_path: Path) -> None:
    """What integers compute is exact, and the rest is the model, layer by layer."""
    try:
        find_compiler(boards.load(board))
        find_emulator(boards.load(board))
    except EdgeconvError as error:
        pytest.skip(error.one_line())
    counted = 0
    for number, (name, model) in enumerate(networks(8)):
        folder, path = tmp_path / str(number), onnx_models.save(model, tmp_path / f"{number}.onnx")
        options = CompileOptions(path, board, algorithms={"*": "int16"})
        with suppress_where_nothing_applies():
            compile_model(options, folder, build=True)
        if not folder.exists():
            continue
        verified = verify_project(folder, model=path)
        assert verified.passed, (name, verified.one_line())
        assert verified.per_layer is not None
        exact = verified.per_layer.exact.values()
        assert all(each.wrong == 0 for each in exact), name
        layers = Project.open(folder).report["layers"]
        counted += sum(layer.get("compute") == "int16" for layer in layers)
    assert counted >= 12


@pytest.mark.usefixtures("unoptimised")
@pytest.mark.parametrize("board", ["host", "generic-c"])
def test_results_lie_over_their_inputs(board: str, tmp_path: Path) -> None:
    """The arena holds hardly more than the larger of both, and sanitizers find nothing."""
    model = onnx_models.save(keywords("int16", 12, 2, (25, 18)), tmp_path / "keywords.onnx")
    folder = tmp_path / "out"
    compile_model(CompileOptions(model, board, name="net", algorithms={"*": "int16"}), folder)
    report = Project.open(folder).report
    convs = [layer for layer in report["layers"] if layer["op"] == "Conv"]
    assert [layer["algorithm"] for layer in convs] == ["int16"] * 5
    largest = max(layer["output_bytes"] for layer in report["layers"])
    assert report["ram"]["arena"] - report["ram"]["workspace"] < 1.8 * largest
    verified = verify_project(folder, model=model)
    assert verified.passed
    assert verified.per_layer is not None
    assert all(each.wrong == 0 for each in verified.per_layer.exact.values())
    run_sanitized(folder, tmp_path, board)


@pytest.mark.parametrize(
    ("dtype", "board", "wanted"),
    [
        ("int16", "host", {"*": "int16"}),
        ("int8", "mps2-an386", {"*": "integer"}),
        ("int8", "mps2-an386", {"*": "integer", "first": "direct"}),
    ],
)
def test_algorithms_that_compute_in_integers_are_asked_for(
    dtype: str, board: str, wanted: dict[str, str], tmp_path: Path
) -> None:
    """Results are stored so wherever they can be; a layer may be asked to be otherwise."""
    model = onnx_models.save(keywords(dtype, 12, 1, (13, 9)), tmp_path / "keywords.onnx")
    convs = decide(CompileOptions(model, board)).choice.layers
    first = next(layer.node.name for layer in convs if layer.node.op == "Conv")
    wanted = {first if layer == "first" else layer: name for layer, name in wanted.items()}
    layers = decide(CompileOptions(model, board, algorithms=wanted)).choice.layers
    found = {layer.node.name: layer.algorithm for layer in layers if layer.node.op == "Conv"}
    assert found == {name: wanted.get(name, wanted["*"]) for name in found}


def test_integers_that_a_model_does_not_have(tmp_path: Path) -> None:
    model = onnx_models.save(onnx_models.classifier(), tmp_path / "net.onnx")
    with pytest.raises(EdgeconvError, match=r"applies to no convolution: got '\*=int16'"):
        decide(CompileOptions(model, "host", algorithms={"*": "int16"}))


def to_float32(seed: int, dtype: str) -> onnx.ModelProto:
    """``image`` (1, 4, 7, 6) -> ``scores`` (1, 5) of float32: layers whose results are float32, of
    every kind, stored as that or, behind a function that is no bound, as 16 bits."""
    net = Network(dtype, opset=21, seed=seed)
    low = np.iinfo(dtype).min
    scale = 1.0 / 2**12
    x = net.dequantise("image", scale, low + 30000)
    w = net.filters("w0", (6, 4, 3, 3))
    wide = net.node("Conv", [x, w, net.bias("b0", 6, net.scales["w0"] * scale)], "y0")
    wide = net.pair(net.node("Sigmoid", [wide], "s0"), 1 / 2**15, low + (1 << 15) - 1000)
    apart = net.filters("w1", (6, 1, 3, 3), dtype="uint8", zero=int(net.rng.integers(80, 150)))
    deep = net.node("Conv", [wide, apart], "y1", group=6, pads=[1, 1, 1, 1])
    deep = net.pair(net.node("Tanh", [deep], "t1"), 1 / 2**14, low + (1 << 15))
    pairs = net.filters("w2", (4, 3, 1, 1), axis=None)
    grouped = net.node("Conv", [deep, pairs], "y2", group=2)
    grouped = net.pair(net.node("Elu", [grouped], "e2"), 1 / 2**13, low + (1 << 15) + 77)
    flat = net.node("Flatten", [grouped], "flat")
    z = net.node(
        "MatMul", [flat, net.filters("w3", (80, 5), axis=None, dtype="uint8", zero=131)], "z"
    )
    net.node("Add", [z, net.bias("b3", 5, net.scales["w3"] / 2**13)], "scores")
    return net.model({"image": (dtype, (1, 4, 7, 6))}, {"scores": ("float32", (1, 5))})


@pytest.mark.usefixtures("unoptimised")
@pytest.mark.parametrize(
    ("board", "dtype"),
    [("host", "int16"), ("generic-c", "uint16"), ("mps2-an386", "uint16"), ("mps3-an547", "int16")],
)
def test_float32_of_sums(board: str, dtype: str, tmp_path: Path) -> None:
    """Sums of int16 by int8 are integers whatever becomes of them, and what float32 makes of these
    is the model's."""
    model = onnx_models.save(to_float32(3, dtype), tmp_path / "net.onnx")
    folder = tmp_path / "out"
    compile_model(CompileOptions(model, board, name="net", algorithms={"*": "int16"}), folder)
    layers = [layer for layer in Project.open(folder).report["layers"] if layer["macs"]]
    found = [layer.get("compute") for layer in layers]
    assert found[:3] == ["int16 to float32"] * 3
    assert found[3] == "int16 to float32" or layers[3]["in_float32"]["reason"] == "faster"
    assert verify_project(folder, model=model).passed
    if board in ("host", "generic-c"):
        run_sanitized(folder, tmp_path, board)
