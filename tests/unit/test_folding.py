"""Nodes of constants that the reference evaluator cannot run."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper

from edgeconv.model.frontend.folding import evaluate


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_gather_elements_of_long_axes(axis: int) -> None:
    """Embeddings of text take positions out of a table of 512, whatever the axis."""
    rng = np.random.default_rng(0)
    data = rng.normal(size=(70, 90)).astype(np.float32)
    indices = rng.integers(-70, 70, (66, 80))
    node = helper.make_node("GatherElements", ["data", "indices"], ["y"], axis=axis)
    schema = onnx.defs.get_schema("GatherElements", 13)
    found = evaluate(node, schema, {"": 17}, {"data": data, "indices": indices})
    assert found is not None
    expected = np.empty_like(found[0])
    for (i, j), at in np.ndenumerate(indices):
        expected[i, j] = data[at, j] if axis == 0 else data[i, at]
    assert found[0].shape == indices.shape
    np.testing.assert_array_equal(found[0], expected)


def test_gather_elements_out_of_bounds_is_left_to_the_importer() -> None:
    node = helper.make_node("GatherElements", ["data", "indices"], ["y"])
    schema = onnx.defs.get_schema("GatherElements", 13)
    values = {"data": np.zeros((2, 2), np.float32), "indices": np.array([[2, 0]])}
    assert evaluate(node, schema, {"": 17}, values) is None


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("opset", [13, 18])
def test_the_mean_of_nothing_is_nothing(opset: int) -> None:
    """ONNX Runtime's 0, where ONNX says nothing and numpy NaN."""
    x, axes = np.zeros((2, 0), np.float32), np.array([1])
    given: dict[str, Any] = {"axes": [1]} if opset < 18 else {}
    node = helper.make_node("ReduceMean", ["x"] if given else ["x", "axes"], ["y"], **given)
    schema = onnx.defs.get_schema("ReduceMean", opset)
    values = {"x": x} if given else {"x": x, "axes": axes}
    found = evaluate(node, schema, {"": opset}, values)
    assert found is not None
    np.testing.assert_array_equal(found[0], np.zeros((2, 1), np.float32))


@pytest.mark.parametrize("shapes", [((1,), ()), ((), (1,)), ((1,), (1,))])
def test_one_scale_and_one_zero_point_are_of_the_whole_tensor(
    shapes: tuple[tuple[int, ...], tuple[int, ...]],
) -> None:
    """Quantisers write a bias's scale as [1] beside a zero point of no dimensions."""
    node = helper.make_node("DequantizeLinear", ["x", "scale", "zero"], ["y"])
    schema = onnx.defs.get_schema("DequantizeLinear", 13)
    values = {
        "x": np.array([-3, 0, 5], np.int32),
        "scale": np.full(shapes[0], 0.5, np.float32),
        "zero": np.full(shapes[1], 1, np.int32),
    }
    found = evaluate(node, schema, {"": 17}, values)
    assert found is not None
    np.testing.assert_array_equal(found[0], np.array([-2, -0.5, 2], np.float32))


LOWEST = float(np.finfo(np.float32).min)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("opset", [13, 18])
def test_log_sum_exp_of_what_is_not_finite(opset: int) -> None:
    """The evaluator subtracts the largest element also where that is infinite."""
    inf, nan = np.inf, np.nan
    rows = np.array([[-inf, -inf], [inf, 0], [-inf, 1], [nan, 1], [3.4e38, 3.4e38]], np.float32)
    older = opset < 18
    axes: dict[str, Any] = {"axes": [1]} if older else {}
    node = helper.make_node(
        "ReduceLogSumExp",
        ["x"] if older else ["x", "axes"],
        ["y"],
        keepdims=0,
        **axes,
    )
    values = {"x": rows} if older else {"x": rows, "axes": np.array([1])}
    found = evaluate(node, onnx.defs.get_schema("ReduceLogSumExp", opset), {"": opset}, values)
    assert found is not None
    np.testing.assert_array_equal(
        found[0], np.array([-inf, inf, 1, nan, 3.4e38], np.float32), strict=True
    )


@pytest.mark.parametrize(
    ("given", "ends"),
    [
        ([], (LOWEST, -LOWEST)),
        (["least"], (-1.0, -LOWEST)),
        (["", "most"], (LOWEST, 2.0)),
        (["nan", "inf"], (-np.inf, np.inf)),
    ],
)
def test_absent_bounds_of_clip_are_the_last_numbers(
    given: list[str], ends: tuple[float, float]
) -> None:
    bounds = {"least": -1.0, "most": 2.0, "nan": np.nan, "inf": np.inf}
    values = {name: np.array(number, np.float32) for name, number in bounds.items()}
    values["x"] = np.array([-np.inf, 0, np.inf], np.float32)
    node = helper.make_node("Clip", ["x", *given], ["y"])
    found = evaluate(node, onnx.defs.get_schema("Clip", 13), {"": 17}, values)
    assert found is not None
    np.testing.assert_array_equal(found[0], np.array([ends[0], 0, ends[1]], np.float32))


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("form", ["tensor", "axis", "blocks"])
@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int16, np.uint16])
def test_what_is_far_beyond_the_grid_saturates(form: str, kind: Any) -> None:
    """At the end that is next to it, as in engines; onnx's evaluator counts steps in int32."""
    rows = np.array([[3e9, -3e9, 1e30, -np.inf], [np.inf, 40.0, -40.0, 0.0]], np.float32)
    forms: dict[str, tuple[Any, dict[str, Any]]] = {
        "tensor": (np.asarray(0.5, np.float32), {}),
        "axis": (np.array([0.5, 1e-3], np.float32), {"axis": 0}),
        "blocks": (np.full((2, 2), 0.5, np.float32), {"axis": 1, "block_size": 2}),
    }
    scale, attrs = forms[form]
    zero = np.full(np.shape(scale), 7, kind)
    node = helper.make_node("QuantizeLinear", ["x", "scale", "zero"], ["y"], **attrs)
    schema = onnx.defs.get_schema("QuantizeLinear", 21)
    found = evaluate(node, schema, {"": 21}, {"x": rows, "scale": scale, "zero": zero})
    assert found is not None
    wide = np.repeat(scale, 2, 1) if form == "blocks" else np.reshape(scale, (-1, 1))
    low, high = np.iinfo(kind).min, np.iinfo(kind).max
    exact = np.clip(np.rint(rows.astype(np.float64) / wide) + 7, low, high)
    np.testing.assert_array_equal(found[0], exact.astype(kind))
