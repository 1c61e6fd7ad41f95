"""Constant matrices of a quantised network that stand in front of what they multiply."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx.reference import ReferenceEvaluator

from edgeconv.app.pipeline import CompileOptions, compile_model, verify_project
from edgeconv.run.build.project import Project
from tests import onnx_models
from tests.models.in_integers import held_to_file
from tests.quantised_models import Network

Shape = tuple[int, ...]
# By name: shapes of the constant and of what it multiplies, the axis of its scales, and attributes
# of Gemm.
PRODUCTS: dict[str, tuple[Shape, Shape, int | None, dict[str, int]]] = {
    "matrix": ((6, 8), (2, 8, 5), 0, {}),
    "plain": ((6, 8), (8, 5), 0, {}),
    "images": ((6, 8), (2, 3, 8, 5), 0, {}),
    "ones": ((1, 1, 6, 8), (8, 5), None, {}),
    "stack": ((3, 6, 8), (3, 8, 5), None, {}),
    "stack of scales": ((2, 3, 6, 8), (2, 3, 8, 5), 2, {}),
    "gemm": ((6, 8), (8, 5), 0, {"transA": 0}),
    "both transposed": ((8, 6), (5, 8), 1, {"transA": 1, "transB": 1}),
}


def network(kind: str) -> onnx.ModelProto:
    """``x`` -> ``out``, both float32."""
    constant, given, axis, attrs = PRODUCTS[kind]
    net = Network("int8", opset=21, seed=4)
    x = net.pair("x", 0.03, 5)
    y = net.node("Gemm" if attrs else "MatMul", [net.filters("w", constant, axis=axis), x], "y")
    net.nodes[-1].attribute.extend(onnx.helper.make_attribute(k, v) for k, v in attrs.items())
    net.node("Identity", [net.pair(y, 0.02, 3)], "out")
    a, b = (np.zeros(shape) for shape in (constant, given))
    a, b = (each.T if attrs.get(how) else each for each, how in ((a, "transA"), (b, "transB")))
    return net.model({"x": ("float32", given)}, {"out": ("float32", (a @ b).shape)})


@pytest.mark.parametrize("kind", PRODUCTS)
def test_they_are_computed_in_integers(kind: str, tmp_path: Path) -> None:
    """As the filters of a convolution, of groups where they are a stack: its sums are int32, and
    int8 is made of them."""
    found = held_to_file(onnx_models.save(network(kind), tmp_path / "net.onnx"), seed=2)
    assert (found.wrong, found.real, found.reasons) == ([], [], {})


def test_a_stack_that_is_broadcast_has_a_reason(tmp_path: Path) -> None:
    """Several matrices of the same columns are no groups."""
    net = Network("int8", opset=21, seed=4)
    y = net.node("MatMul", [net.filters("w", (3, 6, 8), axis=None), net.pair("x", 0.03, 5)], "y")
    net.node("Identity", [net.pair(y, 0.02, 3)], "out")
    model = net.model({"x": ("float32", (8, 5))}, {"out": ("float32", (3, 6, 5))})
    found = held_to_file(onnx_models.save(model, tmp_path / "net.onnx"))
    assert list(found.reasons.values()) == ["product-constant"]


@pytest.mark.usefixtures("unoptimised")
def test_a_program_of_a_stack(tmp_path: Path) -> None:
    model = network("stack of scales")
    path = onnx_models.save(model, tmp_path / "net.onnx")
    options = CompileOptions(path, "mps2-an386", algorithms={"*": "integer"})
    compile_model(options, tmp_path / "p")
    (layer,) = (each for each in Project.open(tmp_path / "p").report["layers"] if each["macs"])
    assert layer["compute"] == "int8"
    assert verify_project(tmp_path / "p", model=path).passed
    x = np.random.default_rng(1).normal(0, 2, (2, 3, 8, 5)).astype(np.float32)
    (made,) = ReferenceEvaluator(model).run(None, {"x": x})
    assert len(np.unique(made)) > 20  # it is a network that others run
