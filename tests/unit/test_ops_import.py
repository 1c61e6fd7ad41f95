"""What the versions of an operator differ in: every importer against the reference engine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from edgeconv.base.errors import EdgeconvError
from edgeconv.kernels.ops import operators
from edgeconv.model.frontend import load
from tests.imported_models import I64, check_model, f32, node_model, weights
from tests.onnx_models import Values, model, save

pytest.importorskip("onnxruntime", reason="the reference engine of these tests")


IMAGE = (2, 4, 5, 6)


STATISTICS = (weights(4), weights(4), weights(4), np.abs(weights(4)) + np.float32(0.5))


# Operator, opset, shapes of the activations, constants after them, attributes.
CASES: list[tuple[str, int, list[tuple[int, ...]], list[Any], dict[str, Any]]] = [
    ("Clip", 7, [IMAGE], [], {"min": -0.5, "max": 0.25}),
    ("Clip", 7, [IMAGE], [], {"min": 0.0}),
    ("Clip", 7, [IMAGE], [], {}),
    ("Clip", 11, [IMAGE], [np.float32(-0.5), np.float32(0.25)], {}),
    ("Clip", 12, [IMAGE], [None, np.float32(0.25)], {}),
    ("Clip", 13, [IMAGE], [np.float32(0.0)], {}),
    ("Clip", 13, [IMAGE], [np.float32(1.0), np.float32(-1.0)], {}),
    ("Clip", 13, [IMAGE, ()], [np.float32(0.5)], {}),
    ("Clip", 13, [IMAGE, ()], [], {}),
    ("Shrink", 9, [IMAGE], [], {"lambd": 0.5, "bias": 0.2}),
    ("Shrink", 9, [IMAGE], [], {"lambd": 0.0, "bias": -1.5}),
    ("Celu", 12, [IMAGE], [], {"alpha": 0.3}),
    ("Dropout", 7, [IMAGE], [], {"ratio": 0.3}),
    ("Dropout", 10, [IMAGE], [], {}),
    ("Dropout", 13, [IMAGE], [np.float32(0.3), np.array(False)], {}),
    ("Reshape", 7, [IMAGE], [np.array([0, -1], I64)], {}),
    ("Reshape", 14, [IMAGE], [np.array([10, 0, 6, -1], I64)], {}),
    ("Flatten", 7, [IMAGE], [], {}),
    ("Flatten", 11, [IMAGE], [], {"axis": -1}),
    ("Flatten", 13, [IMAGE], [], {"axis": 0}),
    ("Squeeze", 7, [(1, 3, 1)], [], {"axes": [0]}),
    ("Squeeze", 11, [(1, 3, 1)], [], {"axes": [-1]}),
    ("Squeeze", 13, [(1, 3, 1)], [np.array([2], I64)], {}),
    ("Squeeze", 13, [(1, 3, 1)], [], {}),
    ("Unsqueeze", 7, [(3, 2)], [], {"axes": [0, 3]}),
    ("Unsqueeze", 13, [(3, 2)], [np.array([-1, 1], I64)], {}),
    ("Slice", 7, [IMAGE], [], {"starts": [1, 0], "ends": [3, -2], "axes": [1, 3]}),
    ("Slice", 7, [IMAGE], [], {"starts": [0, -2], "ends": [1, 1000]}),
    ("Slice", 7, [IMAGE], [], {"starts": [1, 2], "ends": [3, -1], "axes": [3, 1]}),
    ("Slice", 7, [IMAGE], [], {"starts": [2, -9], "ends": [9, -1], "axes": [-1, 1]}),
    ("Slice", 10, [IMAGE], [np.array([-1], I64), np.array([-1000], I64), np.array([2], I64),
                            np.array([-2], I64)], {}),
    ("Slice", 13, [IMAGE], [np.array([1, 1], I64), np.array([2**62, 5], I64),
                            np.array([-1, -3], I64), np.array([3, 2], I64)], {}),
    ("MaxPool", 12, [(1, 1, 7)], [], {"kernel_shape": [2], "strides": [2], "pads": [1, 1],
                                      "ceil_mode": 1}),
    ("AveragePool", 11, [(1, 1, 7)], [], {"kernel_shape": [2], "strides": [2], "pads": [1, 1],
                                          "ceil_mode": 1}),
    ("Pad", 7, [IMAGE], [], {"pads": [0, 1, 2, 0, 0, 0, 1, 3], "value": 1.5}),
    ("Pad", 7, [IMAGE], [], {"pads": [0, 0, 2, 1, 0, 0, 1, 3], "mode": "reflect"}),
    ("Pad", 11, [IMAGE], [np.array([0, 0, -2, 1, 0, -1, 1, 0], I64), np.float32(2)], {}),
    ("Pad", 11, [IMAGE], [np.array([0, 0, -2, -1, 0, -1, -1, 0], I64)], {}),
    ("Pad", 11, [IMAGE], [np.zeros(8, I64)], {}),
    ("Pad", 13, [IMAGE], [np.array([0, 2, 2, 1, 1, 0, 1, 3], I64)], {"mode": "edge"}),
    ("Pad", 18, [IMAGE], [np.array([1, 2, 3, 4], I64), None, np.array([-1, 2], I64)], {}),
    ("Pad", 19, [IMAGE], [np.array([0, 0, 2, 3, 0, 0, 5, 1], I64)], {"mode": "wrap"}),
    ("Upsample", 7, [IMAGE], [], {"scales": [1.0, 1.0, 2.0, 3.0]}),
    ("Upsample", 9, [IMAGE], [f32(1, 1, 2, 1.5)], {"mode": "nearest"}),
    ("Upsample", 9, [IMAGE], [f32(1, 1, 2, 2)], {"mode": "linear"}),
    ("Resize", 10, [IMAGE], [f32(1, 1, 2, 3)], {}),
    ("Resize", 10, [IMAGE], [f32(1, 1, 0.6, 0.5)], {}),
    ("Resize", 10, [IMAGE], [f32(1, 1, 2, 2)], {"mode": "linear"}),
    ("Softmax", 7, [IMAGE], [], {}),
    ("Softmax", 11, [IMAGE], [], {"axis": -1}),
    ("Softmax", 11, [(1, 7, 1, 1)], [], {"axis": 1}),
    ("Softmax", 11, [(3, 1, 1)], [], {"axis": 1}),
    ("Softmax", 13, [IMAGE], [], {"axis": 1}),
    ("LogSoftmax", 11, [IMAGE], [], {"axis": 2}),
    ("LogSoftmax", 13, [IMAGE], [], {}),
    ("ReduceMean", 11, [IMAGE], [], {"axes": [-1, 2], "keepdims": 0}),
    ("ReduceMean", 18, [IMAGE], [np.array([-1, 2], I64)], {}),
    ("ReduceMean", 18, [IMAGE], [], {}),
    ("ReduceSum", 11, [IMAGE], [], {"axes": [1]}),
    ("ReduceSum", 13, [IMAGE], [np.array([1], I64)], {"keepdims": 0}),
    ("ReduceSum", 13, [IMAGE], [np.array([], I64)], {"noop_with_empty_axes": 1}),
    ("ReduceMax", 12, [IMAGE], [], {"axes": [0]}),
    ("ReduceMin", 18, [IMAGE], [np.array([1, 3], I64)], {}),
    ("ReduceL2", 13, [IMAGE], [], {"axes": [1]}),
    ("ReduceLogSumExp", 13, [IMAGE], [], {"axes": [1], "keepdims": 0}),
    ("ReduceLogSumExp", 18, [IMAGE], [np.array([2], I64)], {}),
    ("BatchNormalization", 7, [IMAGE], list(STATISTICS), {"epsilon": 0.125}),
    ("BatchNormalization", 9, [IMAGE], list(STATISTICS), {}),
    ("BatchNormalization", 15, [(3, 4)], list(STATISTICS), {}),
    ("InstanceNormalization", 7, [IMAGE], list(STATISTICS[:2]), {}),
    ("LayerNormalization", 17, [IMAGE], [weights(6), weights(6)], {}),
    ("LayerNormalization", 17, [IMAGE], [weights(4, 5, 6)], {"axis": 1, "epsilon": 0.25}),
    ("LayerNormalization", 17, [IMAGE, (5, 6)], [weights(5, 6)], {"axis": -2}),
    ("GroupNormalization", 21, [IMAGE], [weights(4), weights(4)], {"num_groups": 2}),
    ("GroupNormalization", 21, [IMAGE, (4,), (4,)], [], {"num_groups": 1, "epsilon": 0.25}),
    ("MeanVarianceNormalization", 13, [IMAGE], [], {}),
    ("MeanVarianceNormalization", 13, [IMAGE], [], {"axes": [1, -1]}),
    ("LRN", 13, [(1, 9, 2, 2)], [], {"size": 3, "alpha": 0.5, "beta": 0.6, "bias": 2.0}),
    ("LRN", 7, [(1, 9, 2, 2)], [], {"size": 5}),
    ("Gather", 7, [IMAGE], [np.array([[0, -1], [2, 2]], I64)], {"axis": -2}),
    ("Gather", 13, [IMAGE], [np.array(-1, np.int32)], {"axis": 1}),
    ("Expand", 8, [(3, 1)], [np.array([2, 1, 4], I64)], {}),
    ("Expand", 8, [(3, 2)], [np.array([1], I64)], {}),
    ("Tile", 7, [(2, 3)], [np.array([2, 3], I64)], {}),
    ("Tile", 13, [(2, 3)], [np.array([1, 1], I64)], {}),
    ("Transpose", 7, [IMAGE], [], {}),
    ("Transpose", 13, [IMAGE], [], {"perm": [0, 2, 3, 1]}),
    ("Concat", 7, [IMAGE, IMAGE], [], {"axis": 1}),
    ("Concat", 13, [IMAGE], [weights(2, 4, 5, 1)], {"axis": -1}),
    ("DepthToSpace", 7, [(1, 8, 2, 3)], [], {"blocksize": 2}),
    ("DepthToSpace", 13, [(1, 8, 2, 3)], [], {"blocksize": 2, "mode": "CRD"}),
    ("SpaceToDepth", 13, [(1, 2, 4, 6)], [], {"blocksize": 2}),
    ("Sum", 8, [IMAGE], [], {}),
    ("Sum", 8, [IMAGE, (4, 1, 1), (6,)], [], {}),
    ("Max", 8, [IMAGE, (4, 1, 1)], [np.float32(0.25)], {}),
    ("Min", 13, [(5, 6), IMAGE, (6,)], [], {}),
    ("Mean", 13, [IMAGE, (4, 1, 1), (6,)], [], {}),
    ("Mean", 13, [IMAGE], [], {}),
    ("Pow", 12, [IMAGE], [np.array(2, I64)], {}),
    ("Pow", 7, [IMAGE], [np.float32(3)], {}),
    ("PRelu", 9, [IMAGE], [weights(4, 1, 1)], {}),
    ("MatMul", 9, [(3, 4)], [weights(4, 5)], {}),
    ("MatMul", 13, [(2, 3, 4)], [weights(4, 5)], {}),
    ("MatMul", 13, [(4,)], [weights(4, 5)], {}),
    ("MatMul", 13, [(3, 4)], [weights(4)], {}),
    ("MatMul", 13, [(2, 3, 4)], [weights(2, 4, 5)], {}),
    ("MatMul", 13, [(2, 3, 4), (4, 5)], [], {}),
    ("Cast", 13, [IMAGE], [], {"to": TensorProto.FLOAT}),
    ("CastLike", 19, [IMAGE, (1,)], [], {}),
    ("Identity", 7, [IMAGE], [], {}),
    ("Selu", 7, [IMAGE], [], {"alpha": 1.5, "gamma": 2.0}),
    ("Celu", 12, [IMAGE], [], {"alpha": 0.5}),
    ("HardSwish", 14, [IMAGE], [], {}),
    ("Softsign", 7, [IMAGE], [], {}),
    ("LpNormalization", 7, [IMAGE], [], {"axis": 1, "p": 1}),
    ("Mish", 18, [IMAGE], [], {}),
]  # fmt: skip


@pytest.mark.parametrize(
    ("op_type", "opset", "shapes", "constants", "attrs"),
    CASES,
    ids=[f"{case[0]}-{case[1]}-{number}" for number, case in enumerate(CASES)],
)
def test_versions(
    op_type: str,
    opset: int,
    shapes: list[tuple[int, ...]],
    constants: list[Any],
    attrs: dict[str, Any],
    tmp_path: Path,
) -> None:
    source = node_model(op_type, opset, shapes, constants, **attrs)
    check_model(source, {f"x{i}": shape for i, shape in enumerate(shapes)}, tmp_path)


@pytest.mark.parametrize(
    ("opset", "constants", "outputs", "attrs"),
    [
        (7, [], 2, {"axis": 1}),
        (7, [], 2, {"axis": 1, "split": [1, 3]}),
        (11, [], 3, {"axis": -1, "split": [1, 2, 3]}),
        (13, [np.array([2, 3], I64)], 2, {"axis": 2}),
        (18, [], 3, {"axis": 2, "num_outputs": 3}),
        (18, [], 2, {"axis": 0, "num_outputs": 2}),
    ],
)
def test_split(
    opset: int, constants: list[Values], outputs: int, attrs: dict[str, Any], tmp_path: Path
) -> None:
    source = node_model("Split", opset, [IMAGE], constants, outputs, **attrs)
    assert len(check_model(source, {"x0": IMAGE}, tmp_path).nodes) == outputs
    del source.graph.output[0]  # a part that nobody reads
    assert len(check_model(source, {"x0": IMAGE}, tmp_path).nodes) == outputs - 1


def test_statistics_of_a_layer_normalization(tmp_path: Path) -> None:
    source = node_model("LayerNormalization", 17, [IMAGE], [weights(5, 6)] * 2, 3, axis=2)
    check_model(source, {"x0": IMAGE}, tmp_path)


@pytest.mark.parametrize("alpha", [1.0, 0.5])
@pytest.mark.parametrize("beta", [1.0, 2.0])
@pytest.mark.parametrize("c_shape", [None, (), (1,), (5,), (1, 5), (3, 1), (3, 5)])
@pytest.mark.parametrize("transposed", [False, True])
def test_gemm(
    alpha: float,
    beta: float,
    c_shape: tuple[int, ...] | None,
    transposed: bool,
    tmp_path: Path,
) -> None:
    a, b = ((4, 3), (5, 4)) if transposed else ((3, 4), (4, 5))
    flags: dict[str, Any] = {"transA": int(transposed), "transB": int(transposed)}
    c: list[Values] = [] if c_shape is None else [weights(*c_shape)]
    attrs = {"alpha": alpha, "beta": beta, **flags}
    constant = node_model("Gemm", 11, [a], [weights(*b), *c], **attrs)
    graph = check_model(constant, {"x0": a}, tmp_path)
    assert "Dense" in [node.op for node in graph.nodes]
    dynamic = node_model("Gemm", 11, [a, b], c, **attrs)
    graph = check_model(dynamic, {"x0": a, "x1": b}, tmp_path)
    assert "MatMul" in [node.op for node in graph.nodes]


def test_gemm_row_bias_is_one_node(tmp_path: Path) -> None:
    source = node_model("Gemm", 9, [(3, 4)], [weights(4, 5), weights(1, 5)])
    (node,) = check_model(source, {"x0": (3, 4)}, tmp_path).nodes
    assert node.op == "Dense"


def test_gemm_with_computed_c(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Relu", ["c"], ["r"]),
        helper.make_node("Gemm", ["a", "b", "r"], ["y"], beta=0.5),
    ]
    source = model(nodes, {"a": (3, 4), "c": (5,)}, {"y": None}, {"b": weights(4, 5)})
    check_model(source, {"a": (3, 4), "c": (5,)}, tmp_path)


def refusal(source: onnx.ModelProto, folder: Path) -> str:
    """The only line that says why ``source`` is refused."""
    with pytest.raises(EdgeconvError) as caught:
        load(save(source, folder / "model.onnx"))
    (line,) = caught.value.details
    return line


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (
            node_model("MaxPool", 12, [(1, 1, 4, 4)], kernel_shape=[2, 2], pads=[2, 0, 0, 0]),
            "every window must cover at least one input element",
        ),
        (
            node_model("MaxPool", 12, [(1, 1, 6, 3)], kernel_shape=[1, 1], strides=[3, 1],
                       auto_pad="SAME_UPPER"),
            "auto_pad is ambiguous where the windows leave out more than one element",
        ),
        (
            node_model("Conv", 11, [(1, 4, 5, 5), (4, 3, 3, 3)]),
            "weights are [out_c, in_c / group, kernel...] and group divides out_c",
        ),
        (
            node_model("BatchNormalization", 7, [IMAGE], list(STATISTICS), spatial=0),
            "spatial 0",
        ),
        (
            node_model("Pad", 11, [(1, 3)], [np.array([0, 3, 0, 0], I64)], mode="reflect"),
            "mode reflect cannot pad by more than the dimension",
        ),
        (
            node_model("Gather", 11, [(1, 3)], [np.array([3], I64)], axis=1),
            "axis 1 has 3 elements",
        ),
        (
            node_model("PRelu", 11, [(1, 3, 1)], [weights(3, 5)]),
            "slope [3, 5], data [1, 3, 1]; the slope must broadcast to the data's shape",
        ),
        (
            node_model("Conv", 11, [(1, 4, 6, 6)], [weights(3, 2, 3, 3)], group=2),
            "group divides out_c",
        ),
        (
            node_model("Conv", 11, [(1, 4, 6, 6)], [weights(4, 4, 3, 3)], group=2),
            "weights are [out_c, in_c / group, kernel...]",
        ),
        (
            node_model("Conv", 11, [(1, 4, 6, 6)], [weights(4, 4, 3, 3)], group=0),
            "group 0",
        ),
        (
            node_model("Conv", 11, [(1, 4, 6, 6)], [weights(4, 4, 3, 3)], kernel_shape=[3, 1]),
            "kernel_shape must be the weights' spatial shape",
        ),
        (
            node_model("Conv", 11, [(1, 4, 6, 6)], [weights(4, 4, 3, 3), weights(4, 1)]),
            "bias [4, 1]; bias is [4]",
        ),
        (
            node_model("MaxPool", 12, [(1, 1, 4, 4)], kernel_shape=[2, 2], pads=[0, 0, 2, 0]),
            "every window must cover at least one input element",
        ),
        (
            node_model("MaxPool", 12, [(1, 1, 4, 4)], kernel_shape=[2, 2], auto_pad="SAME"),
            "auto_pad is NOTSET, VALID, SAME_UPPER or SAME_LOWER",
        ),
        (
            node_model("LpNormalization", 17, [(1, 3)], p=3),
            "p 3; p is 1 or 2",
        ),
        (
            node_model("Resize", 13, [(1, 1, 4, 4)], [None, f32(1, 1, 2, 2)], mode="area"),
            "mode is nearest, linear or cubic",
        ),
        (
            node_model("Resize", 10, [(1, 1, 4, 4)], [f32(1, 1, 2, 0.5)]),
            "cannot both shrink and grow",
        ),
    ],
    ids=lambda value: value.graph.node[0].op_type if isinstance(value, onnx.ModelProto) else "",
)  # fmt: skip
def test_refusals(source: onnx.ModelProto, message: str, tmp_path: Path) -> None:
    line = refusal(source, tmp_path)
    assert "1 node (node)" in line
    assert message in line


@pytest.mark.parametrize(
    ("source", "shape", "macs"),
    [
        (node_model("Conv", 11, [(1, 4, 6, 6)], [weights(8, 2, 3, 3)], group=2), (1, 4, 6, 6),
         8 * 4 * 4 * 2 * 9),
        (node_model("Gemm", 11, [(3, 4)], [weights(4, 5)]), (3, 4), 3 * 4 * 5),
        (node_model("MatMul", 11, [(2, 3, 4)], [weights(2, 4, 5)]), (2, 3, 4), 2 * 3 * 4 * 5),
        (node_model("Relu", 11, [(3, 4)]), (3, 4), 0),
    ],
    ids=["Conv", "Dense", "MatMul", "Unary"],
)  # fmt: skip
def test_multiply_accumulates(
    source: onnx.ModelProto, shape: tuple[int, ...], macs: int, tmp_path: Path
) -> None:
    graph = check_model(source, {"x0": shape}, tmp_path)
    (node,) = graph.nodes
    assert operators()[node.op].macs(node, graph) == macs
