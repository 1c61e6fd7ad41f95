"""Unique of slices, Dropout in training mode, gradients: as programs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import pytest
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

from edgeconv.app.pipeline import compile_model, verify_project
from edgeconv.base.errors import EdgeconvError
from edgeconv.model import frontend
from edgeconv.search.options import CompileOptions
from tests.onnx_suite.cases import Case
from tests.onnx_suite.outcomes import PASS
from tests.onnx_suite.programs import outcomes

Array = npt.NDArray[Any]
TRAINING = "ai.onnx.preview.training"


def _value(name: str, array: Array) -> onnx.ValueInfoProto:
    kind = helper.np_dtype_to_tensor_dtype(array.dtype)
    return helper.make_tensor_value_info(name, kind, array.shape)


def _model(
    nodes: list[onnx.NodeProto], given: dict[str, Array], outputs: dict[str, int]
) -> onnx.ModelProto:
    ends = [helper.make_tensor_value_info(name, kind, None) for name, kind in outputs.items()]
    graph = helper.make_graph(nodes, "net", [_value(*each) for each in given.items()], ends)
    opsets = [helper.make_opsetid("", 22), helper.make_opsetid(TRAINING, 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


def _unique(x: Array, **attrs: int) -> Case:
    """Against numpy, whose order of slices is ONNX's."""
    axis = attrs.get("axis")
    found = list(np.unique(x, True, True, True, axis))
    found[2] = found[2].reshape(-1)
    if not attrs.get("sorted", 1):
        order = np.argsort(found[1])
        place = np.argsort(order)
        values = np.take(found[0], order, axis or 0)
        found = [values, found[1][order], place[found[2]], found[3][order]]
    names = ["y", "first", "inverse", "counts"]
    kinds = [helper.np_dtype_to_tensor_dtype(x.dtype), *[TensorProto.INT64] * 3]
    make: Any = helper.make_node
    node = make("Unique", ["x"], names, **attrs)
    model = _model([node], {"x": x}, dict(zip(names, kinds, strict=True)))
    return Case(f"unique {x.shape} {attrs}", model, [([x], found)])


_RNG = np.random.default_rng(3)


def _drops(name: str, mode: bool | None, ratio: float, dtype: str = "float32") -> Case:
    """Against ONNX's evaluator."""
    x = _RNG.standard_normal((3, 5)).astype(dtype)
    given: dict[str, Array] = {"x": x}
    nodes = []
    given["r"] = np.array(ratio, np.float32)
    if mode is None:
        given["t"] = np.array(True)
    else:
        nodes = [helper.make_node("Constant", [], ["t"], value_int=int(mode))]
        nodes = [nodes[0], helper.make_node("Cast", ["t"], ["tt"], to=TensorProto.BOOL)]
    inputs = ["x", "r", "t" if mode is None else "tt"]
    node = helper.make_node("Dropout", inputs, ["y", "kept"], seed=11)
    kind = helper.np_dtype_to_tensor_dtype(x.dtype)
    model = _model([*nodes, node], given, {"y": kind, "kept": TensorProto.BOOL})
    made: Any = ReferenceEvaluator(model).run(None, given)
    wanted = [made[0].astype(dtype), made[1]]  # of float16 it makes float32
    return Case(name, model, [([*given.values()], wanted)], 2e-3 if dtype == "float16" else 1e-6)


def _numerical(function: Callable[..., Any], at: list[Array]) -> list[Array]:
    """The derivatives of a number, by central differences in float64."""
    found = []
    for which, x in enumerate(at):
        slope = np.zeros(x.shape)
        for index in np.ndindex(x.shape):
            ends = []
            for step in (1e-6, -1e-6):
                moved = [each.astype(np.float64) for each in at]
                moved[which][index] += step
                ends.append(float(function(*moved)))
            slope[index] = (ends[0] - ends[1]) / 2e-6
        found.append(slope.astype(np.float32))
    return found


def _gradients() -> Case:
    """Of a perceptron's mean square error, by its weights."""
    x, wanted = _RNG.standard_normal((4, 3)), _RNG.random((4, 2))
    at = [_RNG.standard_normal(shape).astype(np.float32) for shape in ((3, 5), (5,), (2, 5))]

    def loss(w: Array, b: Array, v: Array) -> Any:
        hidden = np.maximum(x @ w + b, 0)
        out = 1 / (1 + np.exp(-np.tanh(hidden) @ v.T))
        return np.mean((out - wanted) ** 2 / 2)

    make = helper.make_node
    nodes = [
        make("MatMul", ["x", "w"], ["m"]),
        make("Add", ["m", "b"], ["a"]),
        make("Relu", ["a"], ["h"]),
        make("Tanh", ["h"], ["th"]),
        make("Transpose", ["v"], ["vt"]),
        make("MatMul", ["th", "vt"], ["o"]),
        make("Sigmoid", ["o"], ["s"]),
        make("Sub", ["s", "t"], ["e"]),
        make("Constant", [], ["two"], value_float=2.0),
        make("Pow", ["e", "two"], ["sq"]),
        make("Div", ["sq", "two"], ["half"]),
        make("ReduceMean", ["half"], ["loss"], keepdims=0),
        make(
            *("Gradient", ["w", "b", "v", "x", "t"], ["dw", "db", "dv"]),
            domain=TRAINING,
            xs=["w", "b", "v"],
            zs=["x", "t"],
            y="loss",
        ),
    ]
    given = dict(zip("wbvxt", [*at, x.astype(np.float32), wanted.astype(np.float32)], strict=True))
    model = _model(nodes, given, dict.fromkeys(("dw", "db", "dv"), TensorProto.FLOAT))
    return Case("gradients", model, [([*given.values()], _numerical(loss, at))], 1e-3, 1e-5)


def _gradient_of_powers() -> Case:
    """By integer exponents, 0 among them, at 0 too."""
    powers = np.arange(4)
    x = np.stack([np.zeros(4), [-2.0, 3.0, 0.5, -1.5]]).astype(np.float32)
    nodes = [
        helper.make_node("Constant", [], ["powers"], value=onnx.numpy_helper.from_array(powers)),
        helper.make_node("Pow", ["x", "powers"], ["y"]),
        helper.make_node("Gradient", ["x"], ["dx"], domain=TRAINING, xs=["x"], y="y"),
    ]
    model = _model(nodes, {"x": x}, {"dx": TensorProto.FLOAT})
    derived = (powers * x ** np.maximum(powers - 1, 0)).astype(np.float32)
    return Case("powers", model, [([x], [derived])], 1e-6, 1e-6)


def test_computed(tmp_path: Path) -> None:
    whole = _RNG.integers(-2, 3, (4, 3, 2))
    cases = [
        _unique(_RNG.integers(0, 4, 9), sorted=0),
        _unique(whole.astype(np.float32)),
        *(_unique(whole, axis=axis) for axis in (0, 1, -1)),
        _unique(np.repeat(whole, 2, axis=1), axis=1, sorted=0),
        _drops("at run time", None, 0.4),
        _drops("always", True, 0.5),
        _drops("never", False, 0.4),
        _drops("halves", True, 0.25, "float16"),
        _gradients(),
        _gradient_of_powers(),
    ]
    found = list(outcomes(cases, tmp_path, "host"))
    assert not [(o.name, o.kind, o.reasons) for o in found if o.kind != PASS]


def test_dropout_is_verified(tmp_path: Path) -> None:
    """Against the evaluator: ONNX Runtime draws others."""
    model = _drops("", None, 0.4).model
    onnx.save(model, tmp_path / "net.onnx")
    options = CompileOptions(tmp_path / "net.onnx", "host", max_sizes={})
    compile_model(options, tmp_path / "net")
    found = verify_project(tmp_path / "net")
    assert found.passed
    assert "onnx.reference" in found.runtime


@pytest.mark.parametrize(
    ("nodes", "said"),
    [
        ([("Dropout", ["x", "", "t"], {})], "training mode computed at run time without a seed"),
        ([("Softmax", ["x"], {}), ("Gradient", ["x"], {"xs": ["x"], "y": "a"})], "Softmax is not"),
        ([("Exp", ["x"], {}), ("Gradient", ["x"], {"xs": ["a"], "y": "a"})], "its inputs are xs"),
    ],
)
def test_refused(
    nodes: list[tuple[str, list[str], dict[str, Any]]], said: str, tmp_path: Path
) -> None:
    made = [
        helper.make_node(op, names, ["ab"[i]], domain=TRAINING if op == "Gradient" else "", **attrs)
        for i, (op, names, attrs) in enumerate(nodes)
    ]
    given = {"x": np.zeros((2, 3), np.float32), "t": np.array(False)}
    onnx.save(_model(made, given, {"ab"[len(nodes) - 1]: TensorProto.FLOAT}), tmp_path / "net.onnx")
    with pytest.raises(EdgeconvError) as caught:
        frontend.load(tmp_path / "net.onnx")
    assert said in "; ".join(caught.value.details)


@pytest.mark.parametrize("results", [["b"], ["", "b"], ["b", "c", "d"]])
def test_results_of_gradients_may_be_left_out(results: list[str], tmp_path: Path) -> None:
    made = [
        helper.make_node("Mul", ["x", "w"], ["y"]),
        helper.make_node("Gradient", ["x", "w"], results, domain=TRAINING, xs=["x", "w"], y="y"),
    ]
    given = {name: np.zeros(3, np.float32) for name in ("x", "w")}
    onnx.save(_model(made, given, {"b": TensorProto.FLOAT}), tmp_path / "net.onnx")
    if len(results) > len(given):
        with pytest.raises(EdgeconvError) as caught:
            frontend.load(tmp_path / "net.onnx")
        assert "3 outputs, of 2 xs" in "; ".join(caught.value.details)
    else:
        assert frontend.load(tmp_path / "net.onnx").outputs == ("b",)
