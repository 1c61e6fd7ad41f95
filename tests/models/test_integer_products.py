"""Products of two activations of a quantised network are computed in integers, exactly."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from edgeconv.app import pipeline
from edgeconv.app.pipeline import CompileOptions, compile_model
from edgeconv.ir.candidate import IN_WHOLE_NUMBERS
from edgeconv.ir.graph import Node
from edgeconv.kernels.lowering.integers import with_integers
from edgeconv.kernels.lowering.options import LayoutOption
from edgeconv.kernels.ops import matmul
from edgeconv.run.build.project import Project
from tests import onnx_models
from tests.quantised_models import Network

pytestmark = pytest.mark.usefixtures("unoptimised")

Options = Sequence[LayoutOption]
BOARDS = ("zen4", "x86-64-v3", "raspberry-pi-5", "raspberry-pi-4", "odroid-xu3", "power10-s1024")
EMULATED = ("generic-c", "microbit", "mps2-an386", "mps3-an547")
# Shapes of both operands, their zero points, and that of the result.
PRODUCTS = (
    ((2, 2, 10, 16), (2, 2, 16, 21), 4, -3, 7),
    ((2, 1, 5, 37), (2, 37, 18), -128, 127, -5),
    ((7, 270), (270, 6), 0, -128, 1),
    ((4, 9, 65), (65,), 11, 0, 0),
    ((66,), (2, 66, 9), -7, 5, -20),
    ((2, 2, 3), (2, 3, 1), 127, -128, 0),
)
SCALES = 0.021, 0.017


def network(scales_as: str = "", among: Sequence[int] = range(len(PRODUCTS))) -> onnx.ModelProto:
    """``a0``, ``b0``... int8 -> ``y0``... of the same type, those of `PRODUCTS`, the second behind
    a Relu; ``real``, the sigmoid of the first in float32.  ``scales_as``: see `Network`; of
    powers of two sums are halves of a step."""
    net = Network(seed=5, scales_as=scales_as)
    given: dict[str, tuple[str, tuple[int, ...]]] = {}
    made: dict[str, tuple[str, tuple[int, ...]]] = {}
    for i in among:
        a, b, zero_a, zero_b, zero = PRODUCTS[i]
        given |= {f"a{i}": ("int8", a), f"b{i}": ("int8", b)}
        x = net.dequantise(f"a{i}", SCALES[0], zero_a)
        y = net.dequantise(f"b{i}", SCALES[1], zero_b)
        product = net.node("MatMul", [x, y], f"p{i}")
        shape = np.matmul(np.zeros(a), np.zeros(b)).shape
        if i == 0:
            net.node("Sigmoid", [net.node("MatMul", [x, y], "again")], "real")
            made["real"] = ("float32", shape)
        if i == 1:
            product = net.node("Relu", [product], "bounded")
        scale = SCALES[0] * SCALES[1] * 60 * a[-1] ** 0.5
        net.node("Identity", [net.quantise(product, float(scale), zero)], f"y{i}")
        made[f"y{i}"] = ("int8", shape)
    return net.model(given, made)


def heads() -> onnx.ModelProto:
    """``x`` int8 (1, 9, 48), queries, keys and values of two heads beside each other -> ``y`` int8
    (1, 9, 16), what they attend to, side by side."""
    net = Network(seed=6)
    x = net.dequantise("x", 0.02, 3)
    places = net.constant("shape", np.array([1, 9, 2, 8], np.int64))
    operands = []
    for i, perm in enumerate(((0, 2, 1, 3), (0, 2, 3, 1), (0, 2, 1, 3))):
        ends = [
            net.constant(f"{n}{i}", np.array([v]))
            for n, v in zip("fta", (16 * i, 16 * i + 16, 2), strict=True)
        ]
        part = net.node("Slice", [x, *ends], f"part{i}")
        split = net.node("Reshape", [part, places], f"split{i}")
        operands.append(net.node("Transpose", [split], f"turned{i}", perm=perm))
    scores = net.pair(net.node("MatMul", operands[:2], "scores"), 0.011, -4)
    mixed = net.pair(net.node("MatMul", [scores, operands[2]], "mixed"), 0.017, 9)
    joined = net.node("Transpose", [mixed], "joined", perm=[0, 2, 1, 3])
    whole = net.constant("whole", np.array([1, 9, 16], np.int64))
    net.node("Identity", [net.quantise(net.node("Reshape", [joined, whole], "all"), 0.017, 9)], "y")
    return net.model({"x": ("int8", (1, 9, 48))}, {"y": ("int8", (1, 9, 16))})


def integers_alone(node: Node, options: Options, able: Options) -> Options:
    """What `with_integers` offers, without float32 where there is a kernel in integers."""
    return [each for each in with_integers(node, options, able) if each.request or not able]


@pytest.mark.parametrize("scales_as", ["", "powers"])
def test_each_is_what_exact_arithmetic_makes_of_it(
    scales_as: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of stacks that share an operand, vectors, every zero point, and depths of no whole words."""
    monkeypatch.setattr(matmul, "with_integers", integers_alone)
    held_to_exact_arithmetic(network(scales_as), tmp_path, "mps2-an500")


def test_heads_are_read_and_written_where_they_lie(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(matmul, "with_integers", integers_alone)
    layers = held_to_exact_arithmetic(heads(), tmp_path, "mps2-an500")
    assert not {layer["algorithm"] for layer in layers} & {"copy", "convert"}


def test_tensorflow_lites_rounding_is_followed(tmp_path: Path) -> None:
    """In integers alone, as for all that is rounded then."""
    held_to_exact_arithmetic(heads(), tmp_path, "mps2-an500", requantise="tflite")


@pytest.mark.slow
@pytest.mark.parametrize("board", [*BOARDS, *EMULATED])
def test_heads_on_every_core(board: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matmul, "with_integers", integers_alone)
    held_to_exact_arithmetic(heads(), tmp_path, board)


@pytest.mark.slow
@pytest.mark.parametrize("scales_as", ["", "powers"])
@pytest.mark.parametrize("board", [*BOARDS, *EMULATED])
def test_on_every_core(
    board: str, scales_as: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(matmul, "with_integers", integers_alone)
    few = (1, 3, 5) if board == "microbit" else range(len(PRODUCTS))  # of 16 KB
    held_to_exact_arithmetic(network(scales_as, few), tmp_path, board)


def held_to_exact_arithmetic(
    made: onnx.ModelProto, folder: Path, board: str, **options: Any
) -> list[dict[str, Any]]:
    """The layers of the network ``made``, compiled for ``board``: every product is computed in
    integers, and each of its numbers is right."""
    model = onnx_models.save(made, folder / "net.onnx")
    asked = CompileOptions(model, board, storage={"*:output": "int8"}, **options)
    compile_model(asked, folder / "p")
    layers: list[dict[str, Any]] = Project.open(folder / "p").report["layers"]
    products = [layer for layer in layers if layer["op"] == "MatMul"]
    assert products
    assert {layer["compute"] for layer in products} <= {*IN_WHOLE_NUMBERS}
    result = pipeline.verify_project(folder / "p", model=model)
    assert result.passed, result.first_defect
    assert result.per_layer is not None
    held = {**result.per_layer.exact, **result.per_layer.summed}
    assert len(held.keys() & {layer["name"] for layer in products}) >= 2
    assert not any(each.wrong for each in held.values())
    return layers
