"""Layers in integers are held to exact arithmetic: at equality, whatever float32's sums do."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest

from edgeconv.app import pipeline
from edgeconv.app.pipeline import CompileOptions, compile_model
from edgeconv.base.errors import EdgeconvError
from edgeconv.ir.graph import Graph, Node
from edgeconv.ir.requantisation import Form
from edgeconv.kernels.algorithms import layer as integer_layers
from edgeconv.kernels.algorithms.integer import real as real_layers
from edgeconv.kernels.algorithms.real_sums import RealSums, real_sums_of
from edgeconv.kernels.algorithms.scaling import scaled_form
from edgeconv.report.outcome_json import verification_json
from edgeconv.run.build.project import Project
from edgeconv.run.verify import Verification
from tests import onnx_models
from tests.models.random_quantised import Asymmetric, network
from tests.quantised_models import Network

pytestmark = pytest.mark.usefixtures("unoptimised")

INT8 = {"*:output": "int8"}


def pointwise(kind: type[Network] = Network, behind: int = 0) -> onnx.ModelProto:
    """``image`` (1, 32, 16, 16) int8 -> ``result``, of the same shape and type but for so many rows
    and columns more as there is padding ``behind`` the last ones."""
    net = kind(seed=3)
    scale = 0.0317
    y = net.dequantise("image", scale, 5)
    for i in range(4):
        w = net.filters(f"w{i}", (32, 32, 1, 1))
        bias = net.bias(f"b{i}", 32, net.scales[f"w{i}"] * np.float32(scale))
        pads = [0, 0, behind, behind] if i == 0 else [0] * 4
        y = net.node("Conv", [y, w, bias], f"y{i}", pads=pads)
        scale = scale * 0.55
        y = net.pair(y, scale, -9)
    net.node("Identity", ["y3_q"], "result")
    ports = [("int8", (1, 32, 16 + more, 16 + more)) for more in (0, behind)]
    return net.model({"image": ports[0]}, {"result": ports[1]})


def verified(model: Path, folder: Path, board: str = "generic-c") -> Verification:
    compile_model(CompileOptions(model, board, storage=INT8), folder)
    return pipeline.verify_project(folder, model=model)


# Seeds whose networks have residuals, zero points at both ends, groups, uint8 and int8.
@pytest.mark.parametrize(
    ("seed", "board", "scales_as", "asymmetric"),
    [
        *((seed, "generic-c", "", asymmetric) for seed, asymmetric in ((1, False), (5, True))),
        (4, "mps2-an386", "fractions by channel", True),
        (5, "mps3-an547", "fractions", False),
        (4, "mps3-an547", "powers", True),
        (5, "mps2-an386", "powers", False),
        *(
            pytest.param(seed, board, scales_as, asymmetric, marks=pytest.mark.slow)
            for board in ("host", "generic-c", "mps2-an386", "mps3-an547", "jetson-tx1", "microbit")
            for seed in range(8)
            for scales_as in (
                "",
                "fractions",
                "powers",
                "fractions by channel",
                "powers by channel",
            )
            for asymmetric in (False, True)
        ),
    ],
)
def test_random_networks_are_exact(
    seed: int, board: str, scales_as: str, asymmetric: bool, tmp_path: Path
) -> None:
    """Biases may be no whole numbers of units, scales powers of two, or one per channel in front of
    depthwise layers, and filters have zero points."""
    kind, *by_channel = scales_as.split(" by ")
    made = network(seed, scales_as=kind, by_channel=bool(by_channel), asymmetric=asymmetric)
    model = onnx_models.save(made, tmp_path / "net.onnx")
    result = verified(model, tmp_path / "p", board)
    assert result.passed, result.first_defect
    assert result.per_layer is not None
    assert all(each.right and not each.wrong for each in result.per_layer.exact.values())
    layers = Project.open(tmp_path / "p").report["layers"]
    known = {layer["name"] for layer in layers if layer.get("compute") == "int8"}
    # A dense layer in front of the last rounding has a result that the model does not know.
    assert known - {"z_node"} <= result.per_layer.exact.keys()


@pytest.mark.parametrize("kind", [Network, Asymmetric])
def test_pixels_are_exact_over_their_input_and_outside(kind: type[Network], tmp_path: Path) -> None:
    """Results lie over windows that may be read again, and windows behind the last pixel."""
    model = onnx_models.save(pointwise(kind, behind=1), tmp_path / "net.onnx")
    result = verified(model, tmp_path / "p", "mps3-an547")
    assert result.passed, result.first_defect
    assert result.per_layer is not None
    assert all(each.right and not each.wrong for each in result.per_layer.exact.values())


def _with_multipliers_off(node: Node, graph: Graph) -> Form:
    """By sixteen millionths: less than what float32's sums leave open of the largest."""
    form = scaled_form(node, graph)
    return replace(form, multiplier=(form.multiplier * (1 + 2.0**-16)).astype(np.int32))


def test_a_wrong_kernel_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Though each of its numbers is next to a tie, where the reference may go either way."""
    model = onnx_models.save(pointwise(), tmp_path / "net.onnx")
    right = verified(model, tmp_path / "right")
    assert right.passed
    assert right.per_layer is not None
    assert len(right.per_layer.exact) >= 4
    monkeypatch.setattr(integer_layers, "scaled_form", _with_multipliers_off)
    wrong = verified(model, tmp_path / "wrong")
    assert not wrong.passed
    assert wrong.per_layer is not None
    assert all(found.within(1e-4) for found in wrong.per_layer.differences.values())
    found = [name for name, each in wrong.per_layer.exact.items() if each.wrong]
    assert wrong.first_defect == found[0]
    document = verification_json(wrong)
    assert document["first_difference"] == found[0]
    assert document["per_layer"]["exact"][found[0]]["wrong"] > 0


def with_float32_result() -> onnx.ModelProto:
    """``x`` (3, 24), rounded to int8 -> ``result`` (3, 10), float32, of a Gemm with a bias of no
    whole number of units."""
    net = Network(seed=5)
    y = net.pair("x", 0.0317, 5)
    w = net.filters("w", (10, 24))
    bias = net.constant("b", np.linspace(-1, 1, 10, dtype=np.float32))
    net.node("Gemm", [y, w, bias], "result", transB=1)
    return net.model({"x": ("float32", (3, 24))}, {"result": ("float32", (3, 10))})


def _with_units_off(node: Node, graph: Graph) -> RealSums | None:
    """By sixteen millionths: a sixth of what any float32 result may be off by."""
    sums = real_sums_of(node, graph)
    return replace(sums, unit=sums.unit * np.float32(1 + 2.0**-16)) if sums else None


def test_float32_of_sums_is_within_its_roundings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = onnx_models.save(with_float32_result(), tmp_path / "net.onnx")
    right = verified(model, tmp_path / "right", "mps2-an386")
    assert right.passed
    assert right.per_layer is not None
    judged = {(each.numbers, each.wrong) for each in right.per_layer.summed.values()}
    assert judged == {(30, 0)}  # of the layer, and of the output that it is
    monkeypatch.setattr(real_layers, "real_sums_of", _with_units_off)
    wrong = verified(model, tmp_path / "wrong", "mps2-an386")
    assert not wrong.passed
    assert wrong.per_layer is not None
    assert all(found.within(1e-4) for found in wrong.per_layer.differences.values())
    assert all(each.wrong > 0 for each in wrong.per_layer.summed.values())
    assert wrong.per_layer.summed


def _with_one_off_by_one(node: Node, graph: Graph) -> Form:
    form = scaled_form(node, graph)
    if node.name != "y0_node":
        return form
    multiplier = form.multiplier.copy()
    multiplier[7] += 1
    return replace(form, multiplier=multiplier)


def test_one_multiplier_that_is_off_by_one_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which no number of a run would tell: the words are held to those that are proven."""
    model = onnx_models.save(pointwise(), tmp_path / "net.onnx")
    with monkeypatch.context() as patch:
        patch.setattr(integer_layers, "scaled_form", _with_one_off_by_one)
        compile_model(CompileOptions(model, "generic-c", storage=INT8), tmp_path / "p")
    with pytest.raises(EdgeconvError, match="filters are not those of the model") as error:
        pipeline.verify_project(tmp_path / "p", model=model)
    assert error.value.where == "y0_node"
