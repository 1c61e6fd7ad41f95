"""Operators on integers: what is made of them, against ONNX Runtime's own kernels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from onnx import helper

from edgeconv.base.errors import EdgeconvError
from edgeconv.ir.graph import Graph
from edgeconv.model import frontend, passes
from edgeconv.model.frontend.engine_process import session_options
from edgeconv.model.frontend.reference import reference_beside
from edgeconv.run.verify.per_layer import NEAR
from tests import onnx_models
from tests.imported_models import node_model
from tests.ir_interpreter import evaluate
from tests.onnx_runtime import saturates

onnxruntime = pytest.importorskip("onnxruntime", reason="the reference engine of these tests")

Values = npt.NDArray[Any]
STANDARD = ("QLinearConv", "QLinearMatMul")


class Drawn:
    """A model of one operator between QuantizeLinear and DequantizeLinear: shapes, zero points and
    scales are random, results spread over the range of their type."""

    def __init__(self, seed: int, op: str, opset: int = 17) -> None:
        self.rng, self.op, self.opset = np.random.default_rng(seed), op, opset
        self.dtype = str(self.rng.choice(["uint8", "int8"]))
        self.nodes: list[onnx.NodeProto] = []
        self.constants: dict[str, Values] = {}
        self.shapes: dict[str, tuple[int, ...]] = {}

    def size(self, most: int = 6) -> int:
        return int(self.rng.integers(1, most + 1))

    def constant(self, name: str, value: Any, dtype: str = "float32") -> str:
        self.constants[name] = np.asarray(value, dtype)
        return name

    def scaling(self, name: str, scale: float, dtype: str = "") -> list[str]:
        dtype = dtype or self.dtype
        info = np.iinfo(dtype)
        zero = self.rng.integers(info.min, info.max, endpoint=True)
        shape = (1,) * int(self.op in STANDARD and self.rng.integers(0, 2))
        return [
            self.constant(f"{name}_scale", np.full(shape, scale * self.rng.uniform(0.7, 1.4))),
            self.constant(f"{name}_zero", np.full(shape, zero), dtype),
        ]

    def input(self, name: str, *shape: int) -> list[str]:
        """A tensor of integers, from -2 to 2 or so, with its scale and zero point."""
        self.shapes[name] = shape
        scaling = self.scaling(name, 4 / 255)
        self.nodes.append(helper.make_node("QuantizeLinear", [name, *scaling], [f"{name}_q"]))
        return [f"{name}_q", *scaling]

    def filters(self, name: str, shape: tuple[int, ...], channels: int) -> list[str]:
        """Integers with their scale and zero point, of each of ``channels`` or in all."""
        unsigned = self.dtype == "uint8" and self.rng.random() < 0.5
        dtype = "uint8" if unsigned else "int8"
        many = () if self.rng.random() < 0.5 else (channels,)
        info = np.iinfo(dtype)
        values = self.rng.integers(info.min, info.max, shape, endpoint=True)
        if dtype == "int8" and saturates():  # 7 bits are never too many
            values //= 2
        zero = 128 if dtype == "uint8" else 0
        return [
            self.constant(name, values, dtype),
            self.constant(f"{name}_scale", self.rng.uniform(0.5, 1.5, many) / 64),
            self.constant(f"{name}_zero", np.full(many, zero), dtype),
        ]

    def bias(self, channels: int) -> list[str]:
        if self.rng.random() < 0.5:
            return []
        return [self.constant("b", self.rng.integers(-2000, 2000, channels), "int32")]

    def model(self, inputs: list[str], **attrs: Any) -> onnx.ModelProto:
        """``inputs`` begin or end with the scale and the zero point of the result, y."""
        domain = "" if self.op in STANDARD else "com.microsoft"
        scale, zero = (name for name in ("y_scale", "y_zero"))
        self.nodes += [
            helper.make_node(self.op, inputs, ["y_q"], "it", domain=domain, **attrs),
            helper.make_node("DequantizeLinear", ["y_q", scale, zero], ["y"]),
        ]
        ports = {name: list(shape) for name, shape in self.shapes.items()}
        model = onnx_models.model(self.nodes, ports, {"y": None}, self.constants, opset=self.opset)
        model.opset_import.append(helper.make_opsetid("com.microsoft", 1))
        return model


def conv(d: Drawn) -> onnx.ModelProto:
    groups = int(d.rng.choice([1, 2]))
    in_c, out_c, kernel = d.size(4), d.size(4) * groups, [d.size(3), d.size(3)]
    x = d.input("x", d.size(2), in_c * groups, *(d.size() + k for k in kernel))
    w = d.filters("w", (out_c, in_c, *kernel), out_c)
    attrs = {"pads": [d.size(2) - 1 for _ in range(4)], "strides": [d.size(2), d.size(2)]}
    y = d.scaling("y", 0.02 * (in_c * kernel[0] * kernel[1]) ** 0.5)
    return d.model([*x, *w, *y, *d.bias(out_c)], group=groups, **attrs)


def matmul(d: Drawn) -> onnx.ModelProto:
    rows, inner, columns = d.size(), d.size(20), d.size()
    if d.rng.random() < 0.3:  # of two activations
        b = d.input("b", inner, columns)
    else:
        b = d.filters("w", (inner, columns), columns)
    a = d.input("x", rows, inner)
    return d.model([*a, *b, *d.scaling("y", 0.02 * inner**0.5)])


def gemm(d: Drawn) -> onnx.ModelProto:
    rows, inner, columns = d.size(), d.size(20), d.size()
    turned = int(d.rng.integers(0, 2))
    b = d.filters("w", (columns, inner) if turned else (inner, columns), columns)
    x, alpha = d.input("x", rows, inner), float(d.rng.choice([1.0, 0.5]))
    c = d.bias(columns) or [""]
    return d.model([*x, *b, *c, *d.scaling("y", 0.02 * inner**0.5)], transB=turned, alpha=alpha)


def binary(d: Drawn) -> onnx.ModelProto:
    shape = d.size(3), d.size(), d.size()
    other = tuple(1 if d.rng.random() < 0.3 else n for n in shape)
    return d.model([*d.input("a", *shape), *d.input("b", *other), *d.scaling("y", 0.02)])


def unary(d: Drawn) -> onnx.ModelProto:
    sigmoid = d.op == "QLinearSigmoid"
    x, attrs = d.input("x", d.size(), d.size(9)), {} if sigmoid else {"alpha": 0.1}
    return d.model([*x, *d.scaling("y", 1 / 256 if sigmoid else 0.01)], **attrs)


def pool(d: Drawn) -> onnx.ModelProto:
    x = d.input("x", d.size(2), d.size(4), d.size() + 2, d.size() + 2)
    y = d.scaling("y", 0.01)
    if d.op == "QLinearGlobalAveragePool":
        return d.model([*x, *y])
    kernel = [d.size(3), d.size(3)]
    attrs = {"strides": [d.size(2), d.size(2)], "count_include_pad": int(d.rng.integers(0, 2))}
    return d.model([*x, *y], kernel_shape=kernel, pads=[k // 2 for k in kernel * 2], **attrs)


def concat(d: Drawn) -> onnx.ModelProto:
    rows, parts = d.size(), range(d.size(3))
    inputs = [each for i in parts for each in d.input(f"x{i}", rows, d.size())]
    return d.model([*d.scaling("y", 0.02), *inputs], axis=1)


def where(d: Drawn) -> onnx.ModelProto:
    shape = d.size(3), d.size(), d.size()
    d.shapes["given"] = shape[1:]
    d.constant("zero", 0)
    d.nodes.append(helper.make_node("Greater", ["given", "zero"], ["condition"]))
    operands = [*d.input("a", *shape), *d.input("b", shape[2])]
    return d.model(["condition", *operands, *d.scaling("y", 0.02)])


def softmax(d: Drawn) -> onnx.ModelProto:
    d.opset = int(d.rng.choice([11, 17]))
    x = d.input("x", d.size(3), d.size(), d.size(9) + 2)
    axis = -1 if d.opset > 12 else d.size(2)
    y = d.scaling("y", 1 / 256)
    d.constant("y_scale", 1 / 200)  # its own kernel overflows near 1, and beyond the last step
    d.constant("y_zero", np.iinfo(d.dtype).min, d.dtype)
    return d.model([*x, *y], axis=axis, opset=d.opset)


OPERATORS: Mapping[str, Callable[[Drawn], onnx.ModelProto]] = {
    "QLinearConv": conv,
    "QLinearMatMul": matmul,
    "QGemm": gemm,
    "QLinearAdd": binary,
    "QLinearMul": binary,
    "QLinearSigmoid": unary,
    "QLinearLeakyRelu": unary,
    "QLinearAveragePool": pool,
    "QLinearGlobalAveragePool": pool,
    "QLinearConcat": concat,
    "QLinearWhere": where,
    "QLinearSoftmax": softmax,
}


def optimised(path: Path) -> Graph:
    return passes.optimise(frontend.load(path))


@pytest.mark.parametrize("op", OPERATORS)
@given(seed=st.integers(0, 2**32 - 1))
@settings(
    max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_each_operator_against_its_own_kernel(op: str, tmp_path: Path, seed: int) -> None:
    """What ONNX Runtime's kernel and what the canonical operators compute is what the definition
    rounds to, but for sums within float32's error of the middle between two steps."""
    d = Drawn(seed, op)
    path = onnx_models.save(OPERATORS[op](d), tmp_path / "model.onnx")
    feeds = {n: d.rng.uniform(-2.5, 2.5, s).astype(np.float32) for n, s in d.shapes.items()}
    graph = optimised(path)
    assert not {"Quantise", "Dequantise"} & {node.op for node in graph.nodes}
    got = evaluate(graph, feeds)["y"]
    options = session_options()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    (own,) = onnxruntime.InferenceSession(path, options).run(["y"], feeds)
    shown = frontend.reference_outputs(path, feeds).values["y"]
    results = {"y": shown}
    bounds = [reference_beside(path, feeds, results, shift=s)["y"] for s in (-NEAR, NEAR)]
    least, most = np.minimum(*bounds), np.maximum(*bounds)
    for each in (own, shown):
        assert ((least <= each) & (each <= most)).all()
    step = float(d.constants["y_scale"].reshape(()))
    assert (least - step / 2 < got).all()
    assert (got < most + step / 2).all()


def mistaken(op: str = "QLinearConv", node: Any = None, **changed: Any) -> onnx.ModelProto:
    """A sound node of ``op``, with other values (none for an input of run time), or without an
    input (""), or with other attributes (``node``)."""
    names = {
        "QLinearConv": "x_q x_scale x_zero w w_scale w_zero y_scale y_zero b",
        "QLinearAdd": "x_q x_scale x_zero x_q x_scale x_zero y_scale y_zero",
        "QLinearMatMul": "x_q x_scale x_zero w w_scale w_zero y_scale y_zero",
        "QLinearConcat": "y_scale y_zero x_q x_scale x_zero",
        "QLinearSoftmax": "x_q x_scale x_zero y_scale y_zero",
    }[op].split()
    values: dict[str, Any] = {
        "x_scale": np.float32(0.1),
        "x_zero": np.int8(3),
        "w": np.ones((4, 3, 1, 1), np.int8),
        "w_scale": np.ones(4, np.float32),
        "w_zero": np.zeros(4, np.int8),
        "y_scale": np.float32(0.1),
        "y_zero": np.int8(1),
        "b": np.ones(4, np.int32),
    }
    values |= changed
    inputs = ["" if isinstance(values.get(n), str) else n for n in names]
    domain = "" if op in STANDARD else "com.microsoft"
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "s", "z"], ["x_q"]),
        helper.make_node(op, inputs, ["y_q"], "it", domain=domain, **(node or {})),
        helper.make_node("DequantizeLinear", ["y_q", "s", "z"], ["y"]),
    ]
    ports = {"x": [1, 3, 2, 2], **{n: [] for n, value in values.items() if value is None}}
    given = {n: np.asarray(v) for n, v in values.items() if v is not None and n in inputs}
    given |= {"s": np.asarray(0.1, np.float32), "z": np.asarray(0, np.int8)}
    model = onnx_models.model(nodes, ports, {"y": None}, given)
    model.opset_import.append(helper.make_opsetid("com.microsoft", 1))
    return model


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (mistaken(x_scale=None), "x_scale computed at run time"),
        (mistaken(w_zero=np.int8(0)), "w_scale [4], w_zero_point []; both have the same shape"),
        (mistaken(w_zero=np.zeros(4, np.uint8)), "w_zero_point is of the type of the integers"),
        (mistaken(x_zero=np.uint8(0)), "x_zero_point is of the type of the integers, int8"),
        (mistaken(w=np.ones((4, 3, 1, 1), np.int16)), "w of int16; w is int8 or uint8"),
        (
            mistaken(w_scale=np.ones(3, np.float32), w_zero=np.zeros(3, np.int8)),
            "one per output channel",
        ),
        (mistaken(y_scale=np.ones(4, np.float32), y_zero=np.zeros(4, np.int8)), "is one number"),
        (mistaken(y_scale=np.float32(0)), "scales are positive"),
        (mistaken(x_scale=np.float32("nan")), "scales are positive"),
        (mistaken(b=np.ones(3, np.int32)), "B has an element per scale"),
        (mistaken(b=np.ones(4, np.float32)), "B of float32; B is int32"),
        (mistaken(b=np.ones((), np.int32)), "B has an element per scale"),
        (mistaken("QLinearAdd", y_scale=""), "no C_scale; its inputs are A, A_scale"),
        (mistaken("QLinearAdd", y_scale=np.ones((1, 1, 2), np.float32)), "C_scale is one number"),
        (mistaken("QLinearConcat", x_scale=""), "no X_scale"),
        (mistaken("QLinearSoftmax", {"opset": "new"}), "opset is a number"),
        (mistaken("QLinearSoftmax", {"axis": 9, "opset": 13}), "axis"),
        (mistaken(node={"channels_last": 1}), "channels"),
        (mistaken(node={"pads": [-1, 0, 0, 0]}), "it/Conv"),
        (mistaken("QLinearMatMul", w=np.ones((4, 4), np.int8)), "MatMul"),
    ],
)
def test_refused_with_the_reason(model: onnx.ModelProto, words: str, tmp_path: Path) -> None:
    with pytest.raises(EdgeconvError) as error:
        frontend.load(onnx_models.save(model, tmp_path / "model.onnx"))
    assert words in " ".join([str(error.value), *error.value.details])


def test_zero_points_that_are_absent_are_zero(tmp_path: Path) -> None:
    some = mistaken("QLinearAdd", x_zero="")
    graph = frontend.load(onnx_models.save(some, tmp_path / "model.onnx"))
    zeros = [n.attrs["encoding"].zero for n in graph.nodes if n.op == "Dequantise"]
    assert zeros == [(0,), (0,)]


@pytest.mark.parametrize("opset", [10, 13, 21])
def test_filters_stay_integers(opset: int, tmp_path: Path) -> None:
    """With a unit per channel, whatever the DequantizeLinear of the model's opset can."""
    model = mistaken(w=np.arange(-6, 6).astype(np.int8).reshape(4, 3, 1, 1))
    model.opset_import[0].version = opset
    path = onnx_models.save(model, tmp_path / "model.onnx")
    (conv,) = (node for node in optimised(path).nodes if node.op == "Conv")
    storage = conv.attrs["storage"]
    assert (str(storage.element), len(storage.scale)) == ("int8", 4)
    feeds = {"x": np.ones((1, 3, 2, 2), np.float32)}
    real = np.full_like(feeds["x"], (10 - 3) * np.float32(0.1))
    own = frontend.reference_outputs(path, feeds).values["y"]
    for shift in (0.0, NEAR):
        found = reference_beside(path, feeds, {"y": own, "x_q/real": real}, shift=shift)
        np.testing.assert_array_equal(found["y"], own)


def test_what_several_read_is_dequantised_once(tmp_path: Path) -> None:
    graph = frontend.load(onnx_models.save(mistaken("QLinearAdd"), tmp_path / "model.onnx"))
    assert Counter(node.op for node in graph.nodes)["Dequantise"] == 2  # x_q and y_q


def test_the_reference_saturates_no_sums(tmp_path: Path) -> None:
    """On x86-64 without VNNI ONNX Runtime does by default."""
    w = np.full((64, 4), 127, np.int8)
    made = node_model("MatMulInteger", 17, [(1, 64)], (w,))
    made.graph.input[0].type.tensor_type.elem_type = onnx.TensorProto.UINT8
    made.graph.output[0].type.tensor_type.elem_type = onnx.TensorProto.INT32
    path = onnx_models.save(made, tmp_path / "model.onnx")
    feeds = {made.graph.input[0].name: np.full((1, 64), 255, np.uint8)}
    (found,) = frontend.reference_outputs(path, feeds).values.values()
    assert found.tolist() == [[64 * 255 * 127] * 4]
