"""Products of two activations, of which one at least has 16 bits, are computed exactly."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest

from edgeconv.app.pipeline import CompileOptions, compile_model, verify_project
from edgeconv.kernels.ops import matmul
from edgeconv.run.build.project import Project
from tests import onnx_models
from tests.models.in_integers import held_to_file
from tests.models.test_emitted_banks import run_sanitized
from tests.models.test_integer_products import integers_alone
from tests.quantised_models import Network

Shape = tuple[int, ...]
# Shapes of both operands, their zero points, and that of the result.
PRODUCTS: tuple[tuple[Shape, Shape, int, int, int], ...] = (
    ((2, 2, 10, 16), (2, 2, 16, 21), 4, -3000, 7),
    ((2, 1, 5, 37), (2, 37, 18), -32768, 32767, -5),
    ((4, 9, 65), (65,), 11, 0, 0),
    ((66,), (2, 66, 9), -7, 5, -20),
    ((2, 2, 3), (2, 3, 1), 32767, -32768, 0),
)
SCALES = 0.021 / 256, 0.017 / 256


def network(scales_as: str = "", bytes_of: str = "") -> onnx.ModelProto:
    """``a0``, ``b0``... int16 -> ``y0``... of the same type, those of `PRODUCTS`, negative, the
    second behind a Relu.  ``scales_as``: see `Network`.  ``bytes_of``: "a", "b" or "y", which is
    int8."""
    net = Network("int16", opset=21, seed=5, scales_as=scales_as)
    given: dict[str, tuple[str, Shape]] = {}
    made: dict[str, tuple[str, Shape]] = {}

    def kind(which: str) -> str:
        return "int8" if which == bytes_of else "int16"

    def scaled(which: str, scale: float, zero: int) -> tuple[float, int]:
        return (scale * 256, zero >> 8) if which == bytes_of else (scale, zero)

    for i, (a, b, zero_a, zero_b, zero) in enumerate(PRODUCTS):
        names = []
        for which, shape, scale, own in zip("ab", (a, b), SCALES, (zero_a, zero_b), strict=True):
            net.dtype = kind(which)
            given[f"{which}{i}"] = kind(which), shape
            names.append(net.dequantise(f"{which}{i}", *scaled(which, scale, own)))
        product = net.node("MatMul", names, f"p{i}")
        product = net.node("Relu", [product], "bounded") if i == 1 else product
        net.dtype = kind("y")
        scale = SCALES[0] * SCALES[1] * 256 * 60 * a[-1] ** 0.5
        rounded = net.pair(product, *scaled("y", float(scale), zero))
        negative = net.node("Neg", [rounded], f"n{i}")
        net.node("Identity", [net.quantise(negative, *scaled("y", float(scale), 0))], f"y{i}")
        made[f"y{i}"] = kind("y"), np.matmul(np.zeros(a), np.zeros(b)).shape
    return net.model(given, made)


@pytest.mark.parametrize("scales_as", ["", "powers"])
@pytest.mark.parametrize("bytes_of", ["", "a", "b", "y"])
def test_forms_are_what_the_file_says(scales_as: str, bytes_of: str, tmp_path: Path) -> None:
    """Sums reach beyond 32 bits; of powers of two they are halves of a step."""
    found = held_to_file(onnx_models.save(network(scales_as, bytes_of), tmp_path / "net.onnx"))
    assert found.wrong == []
    assert len(found.exact) == len(PRODUCTS)


@pytest.mark.usefixtures("unoptimised")
@pytest.mark.parametrize("board", ["host", "mps2-an386", "mps3-an547"])
@pytest.mark.parametrize("scales_as", ["", "powers"])
def test_programs_compute_them(
    scales_as: str, board: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever they are predicted to take."""
    monkeypatch.setattr(matmul, "with_integers", integers_alone)
    bytes_of = "b" if board == "mps2-an386" else ""
    model = onnx_models.save(network(scales_as, bytes_of), tmp_path / "net.onnx")
    folder = tmp_path / "p"
    storage = {"*:output": "int16"} if board == "host" else {}  # others do so by themselves
    compile_model(CompileOptions(model, board, storage=storage), folder)
    layers = [layer for layer in Project.open(folder).report["layers"] if layer["op"] == "MatMul"]
    assert [layer["algorithm"] for layer in layers] == ["int16"] * len(PRODUCTS)
    verified = verify_project(folder, model=model)
    assert verified.passed, verified.first_defect
    assert verified.per_layer is not None
    assert not any(each.wrong for each in verified.per_layer.exact.values())
    if board == "host":
        run_sanitized(folder, tmp_path, board)
