"""What the versions of an operator differ in: every importer against the reference engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import HealthCheck, assume, given, reject, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper

from edgeconv.errors import EdgeconvError
from edgeconv.frontend import load, reference_outputs
from edgeconv.ir.graph import Graph
from edgeconv.ops import operators
from tests.ir_interpreter import evaluate
from tests.onnx_models import Values, model, save

pytest.importorskip("onnxruntime", reason="the reference engine of these tests")

I64 = np.int64


def check_model(
    source: onnx.ModelProto, shapes: Mapping[str, Sequence[int]], folder: Path
) -> Graph:
    """Import ``source`` and compare all outputs on random inputs of ``shapes``."""
    path = save(source, folder / "model.onnx")
    rng = np.random.default_rng(7)
    inputs = {n: rng.standard_normal(tuple(s), dtype=np.float32) for n, s in shapes.items()}
    graph = load(path)
    want = reference_outputs(path, inputs).values
    got = evaluate(graph, inputs)
    for name in graph.outputs:
        np.testing.assert_allclose(got[name], want[name], rtol=2e-4, atol=2e-5)
    path.unlink()
    return graph


def node_model(
    op_type: str,
    opset: int,
    shapes: Sequence[Sequence[int]],
    constants: Sequence[Any] = (),
    outputs: int = 1,
    **attrs: Any,
) -> onnx.ModelProto:
    """One node that reads activations ``x0, x1, ...`` of ``shapes``, then ``constants``.

    A constant that is None is an absent input.
    """
    activations = {f"x{i}": tuple(shape) for i, shape in enumerate(shapes)}
    names = ["" if value is None else f"c{i}" for i, value in enumerate(constants)]
    values = {name: np.asarray(constants[int(name[1:])]) for name in names if name}
    ends = [f"y{i}" for i in range(outputs)]
    node = helper.make_node(op_type, [*activations, *names], ends, name="node", **attrs)
    return model([node], activations, dict.fromkeys(ends), values, opset=opset)


def f32(*values: float) -> Values:
    return np.array(values, np.float32)


def weights(*shape: int) -> Values:
    return np.random.default_rng(11).standard_normal(shape, dtype=np.float32)


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


RESIZES: list[dict[str, Any]] = [
    {"mode": mode, "coordinate_transformation_mode": coordinates}
    for mode in ("nearest", "linear", "cubic")
    for coordinates in ("asymmetric", "half_pixel", "pytorch_half_pixel", "align_corners")
] + [
    *(
        {"mode": "nearest", "nearest_mode": nearest}
        for nearest in ("floor", "ceil", "round_prefer_floor", "round_prefer_ceil")
    ),
    {"mode": "cubic", "cubic_coeff_a": -0.5, "exclude_outside": 1},
]


@pytest.mark.parametrize("attrs", RESIZES, ids=lambda attrs: "-".join(map(str, attrs.values())))
@pytest.mark.parametrize("size", [(10, 12), (3, 4), (7, 11), (5, 1)])
def test_resize_to_sizes(attrs: dict[str, Any], size: tuple[int, int], tmp_path: Path) -> None:
    sizes = np.array([1, 2, *size], I64)
    source = node_model("Resize", 13, [(1, 2, 5, 6)], [None, None, sizes], **attrs)
    check_model(source, {"x0": (1, 2, 5, 6)}, tmp_path)


@pytest.mark.parametrize("scale", [1 / 3, 0.3, 0.5, 0.7, 1.5, 2.0, 2.6])
@pytest.mark.parametrize("mode", ["nearest", "linear"])
@pytest.mark.parametrize("size", [7, 9])  # 7 * 0.7: an element lies half way between two
def test_resize_by_scales(scale: float, mode: str, size: int, tmp_path: Path) -> None:
    scales = f32(1, 1, scale, 2)
    source = node_model("Resize", 11, [(1, 1, size, 4)], [f32(), scales], mode=mode)
    check_model(source, {"x0": (1, 1, size, 4)}, tmp_path)


@pytest.mark.parametrize(
    ("size", "scale", "coordinates", "rounding"),
    [
        (16, 0.7, "half_pixel", "round_prefer_floor"),  # 10.5 / 0.7 - 0.5 is 14.5
        (17, 0.7, "pytorch_half_pixel", "round_prefer_floor"),
        (4, 1 / 3, "half_pixel", "floor"),  # 0.5 / (1 / 3) - 0.5 is 1
        (7, 1 / 3, "asymmetric", "floor"),
        (7, 0.5, "half_pixel_symmetric", "ceil"),
        (7, 0.6, "half_pixel_symmetric", "round_prefer_floor"),
    ],
)
def test_resize_to_the_exact_neighbour(
    size: int, scale: float, coordinates: str, rounding: str, tmp_path: Path
) -> None:
    """Where a position is whole or half way between two, it must not be rounded before that."""
    shape = (1, 1, size, 1)
    attrs: dict[str, Any] = {
        "coordinate_transformation_mode": coordinates, "nearest_mode": rounding,
    }  # fmt: skip
    scales = f32(1, 1, scale, 1)
    source = node_model("Resize", 19, [shape], [None, scales], mode="nearest", **attrs)
    check_model(source, {"x0": shape}, tmp_path)


@pytest.mark.parametrize("policy", ["stretch", "not_larger", "not_smaller"])
def test_resize_with_axes(policy: str, tmp_path: Path) -> None:
    source = node_model(
        "Resize", 18, [(1, 2, 5, 6)], [None, None, np.array([9, 7], I64)],
        axes=[2, 3], keep_aspect_ratio_policy=policy, mode="linear",
    )  # fmt: skip
    check_model(source, {"x0": (1, 2, 5, 6)}, tmp_path)


@st.composite
def windows(draw: st.DrawFn) -> tuple[tuple[int, ...], dict[str, Any]]:
    """Spatial input sizes, and attributes of a window over them."""
    rank = draw(st.integers(1, 3))
    per_dim = {
        "kernel_shape": st.integers(1, 3), "strides": st.integers(1, 3),
        "dilations": st.integers(1, 2),
    }  # fmt: skip
    attrs: dict[str, Any] = {
        name: draw(st.lists(values, min_size=rank, max_size=rank))
        for name, values in per_dim.items()
    }
    sizes = tuple(draw(st.integers(1, 8)) for _ in range(rank))
    auto_pad = draw(st.sampled_from(["NOTSET", "NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"]))
    if auto_pad == "NOTSET":
        attrs["pads"] = [draw(st.integers(0, k - 1)) for k in attrs["kernel_shape"] * 2]
    else:
        attrs["auto_pad"] = auto_pad
        if auto_pad != "VALID":  # the engines disagree on dilation here
            attrs["dilations"] = [1] * rank
    spans = [
        (k - 1) * d + 1 for k, d in zip(attrs["kernel_shape"], attrs["dilations"], strict=True)
    ]
    pads = attrs.get("pads", [0] * (2 * rank))
    same = auto_pad.startswith("SAME")
    for i, (size, span) in enumerate(zip(sizes, spans, strict=True)):
        assume(same or size + pads[i] + pads[rank + i] >= span)
    return sizes, attrs


quick = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@quick
@given(window=windows(), groups=st.sampled_from([1, 2, 4]))
def test_conv_windows(
    window: tuple[tuple[int, ...], dict[str, Any]], groups: int, tmp_path: Path
) -> None:
    sizes, attrs = window
    w = weights(4, 4 // groups, *attrs["kernel_shape"])
    shape = (2, 4, *sizes)
    source = node_model("Conv", 11, [shape], [w, weights(4)], group=groups, **attrs)
    check_model(source, {"x0": shape}, tmp_path)


@quick
@given(
    window=windows(),
    average=st.booleans(),
    ceil_mode=st.integers(0, 1),
    count_include_pad=st.integers(0, 1),
)
def test_pool_windows(
    window: tuple[tuple[int, ...], dict[str, Any]],
    average: bool,
    ceil_mode: int,
    count_include_pad: int,
    tmp_path: Path,
) -> None:
    sizes, attrs = window
    if "auto_pad" not in attrs:
        attrs["ceil_mode"] = ceil_mode
    else:  # where SAME leaves out elements the engine refuses, or crops
        assume(all(k >= s for k, s in zip(attrs["kernel_shape"], attrs["strides"], strict=True)))
    if average:
        attrs["count_include_pad"] = count_include_pad
    op_type = "AveragePool" if average else "MaxPool"
    source = node_model(op_type, 19, [(1, 2, *sizes)], **attrs)
    try:
        check_model(source, {"x0": (1, 2, *sizes)}, tmp_path)
    except EdgeconvError as error:
        if "every window must cover" not in "".join(error.details):
            raise
        reject()


@pytest.mark.parametrize("auto_pad", ["SAME_UPPER", "SAME_LOWER"])
@pytest.mark.parametrize(("kernel", "stride"), [(1, 2), (2, 3)])
def test_same_that_leaves_out_one_element(
    auto_pad: str, kernel: int, stride: int, tmp_path: Path
) -> None:
    """Nothing is padded; what is left out is the last element."""
    shape = (1, 2, 2 * stride, 6 * stride)
    attrs: dict[str, Any] = {
        "kernel_shape": [kernel] * 2, "strides": [stride] * 2, "auto_pad": auto_pad,
    }  # fmt: skip
    source = node_model("AveragePool", 22, [shape], **attrs)
    (node,) = check_model(source, {"x0": shape}, tmp_path).nodes
    assert node.attrs["pads"] == (0, 0, 0, 0)
    maximum = node_model("MaxPool", 12, [shape], **attrs)  # which ONNX Runtime refuses
    (node,) = load(save(maximum, tmp_path / "maximum.onnx")).nodes
    assert node.attrs["pads"] == (0, 0, 0, 0)


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
            node_model("Conv", 11, [(1, 4, 5, 5), (4, 4, 3, 3)]),
            "weights computed at run time; weights must be constant",
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
            node_model("Resize", 10, [(1, 1, 4, 4)], [f32(1, 1, 2, 0.5)]),
            "cannot both shrink and grow",
        ),
        (
            node_model("Resize", 13, [(1, 1, 4, 4)], [f32(0, 0, 0, 0, 1, 1, 1, 1),
                       f32(1, 1, 2, 2)], coordinate_transformation_mode="tf_crop_and_resize"),
            "tf_crop_and_resize",
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
