"""QuantizeLinear and DequantizeLinear of every type and granularity, against onnx.reference."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import pytest
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

from edgeconv.ir.graph import Graph
from edgeconv.model import frontend, passes
from tests import onnx_models
from tests.ir_interpreter import evaluate

Values = npt.NDArray[Any]
RNG = np.random.default_rng(3)
X = RNG.standard_normal((2, 8)).astype(np.float32)
node = helper.make_node


def tensor(name: str, kind: int, values: Any) -> onnx.TensorProto:
    array = np.asarray(values, np.float32)
    return helper.make_tensor(name, kind, array.shape, array.reshape(-1).tolist())


def checked(
    nodes: Sequence[onnx.NodeProto], constants: list[onnx.TensorProto], folder: Path, opset: int
) -> Graph:
    """The graph of a model from ``x`` to ``y``, whose numbers are those of the reference."""
    model = onnx_models.model(nodes, {"x": X.shape}, {"y": None}, opset=opset)
    model.ir_version = 11
    model.graph.initializer.extend(constants)
    graph = passes.optimise(frontend.load(onnx_models.save(model, folder / "model.onnx")))
    (wanted,) = ReferenceEvaluator(model).run(None, {"x": X})
    got = evaluate(graph, {"x": X})["y"]
    np.testing.assert_allclose(got, np.asarray(wanted), rtol=1e-5, atol=1e-5)
    return graph


INTEGERS = {
    "INT2": (-2, 1, "int4"),
    "UINT2": (0, 3, "int4"),
    "INT4": (-8, 7, "int8"),  # less a zero point of 1
    "UINT4": (0, 15, "int8"),
    "INT8": (-127, 126, "int8"),
    "UINT16": (0, 65535, "flyte24"),
}


@pytest.mark.parametrize("kind", INTEGERS)
@pytest.mark.parametrize("granularity", ["tensor", "axis", "blocks"])
def test_weights(kind: str, granularity: str, tmp_path: Path) -> None:
    low, high, stored = INTEGERS[kind]
    shape = {"tensor": (), "axis": (4,), "blocks": (2, 4)}[granularity]
    attrs: dict[str, dict[str, Any]]
    attrs = {"tensor": {}, "axis": {"axis": 1}, "blocks": {"axis": 0, "block_size": 4}}
    number = getattr(TensorProto, kind)
    w = RNG.integers(low, high, (8, 4), endpoint=True)
    w[0, 0], w[1, 0] = low, high
    constants = [
        tensor("w", number, w),
        tensor("s", TensorProto.FLOAT, RNG.uniform(0.01, 0.02, shape)),
        tensor("z", number, np.ones(shape)),
    ]
    nodes = [
        node("DequantizeLinear", ["w", "s", "z"], ["d"], **attrs[granularity]),
        node("MatMul", ["x", "d"], ["y"]),
    ]
    graph = checked(nodes, constants, tmp_path, 25)
    (dense,) = (each for each in graph.nodes if each.op == "Dense")
    if granularity == "blocks":
        assert "storage" not in dense.attrs
        assert graph.notes == ("MatMul_y: weights are stored as float32: scales in blocks",)
    else:
        assert str(dense.attrs["storage"].element) == stored


@pytest.mark.parametrize("kind", ["FLOAT8E4M3FN", "FLOAT8E5M2", "FLOAT8E5M2FNUZ", "FLOAT4E2M1"])
def test_weights_of_small_floats(kind: str, tmp_path: Path) -> None:
    constants = [
        tensor("w", getattr(TensorProto, kind), RNG.standard_normal((8, 4))),
        tensor("s", TensorProto.FLOAT, 0.25),
    ]
    nodes = [node("DequantizeLinear", ["w", "s"], ["d"]), node("MatMul", ["x", "d"], ["y"])]
    checked(nodes, constants, tmp_path, 23)


@pytest.mark.parametrize("kind", ["UINT8", "INT8", "UINT16", "INT16"])
@pytest.mark.parametrize(
    ("shape", "attrs"),
    [([], {}), ([2], {"axis": 0}), ([8], {"axis": -1}), ([2, 2], {"axis": 1, "block_size": 4})],
    ids=["tensor", "rows", "columns", "blocks"],
)
def test_activations(kind: str, shape: list[int], attrs: dict[str, Any], tmp_path: Path) -> None:
    number = getattr(TensorProto, kind)
    constants = [
        tensor("s", TensorProto.FLOAT, RNG.uniform(0.01, 0.02, shape)),
        tensor("z", number, RNG.integers(0, 9, shape)),
    ]
    nodes = [
        node("QuantizeLinear", ["x", "s", "z"], ["q"], **attrs, saturate=1, precision=1),
        node("DequantizeLinear", ["q", "s", "z"], ["y"], **attrs, output_dtype=1),
    ]
    checked(nodes, constants, tmp_path, 23)


@pytest.mark.parametrize("kind", ["UINT8", "INT16"])
def test_the_type_is_an_attribute(kind: str, tmp_path: Path) -> None:
    nodes = [
        node("QuantizeLinear", ["x", "s"], ["q"], output_dtype=getattr(TensorProto, kind)),
        node("DequantizeLinear", ["q", "s"], ["y"]),
    ]
    checked(nodes, [tensor("s", TensorProto.FLOAT, 0.01)], tmp_path, 21)
