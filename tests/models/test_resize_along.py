"""Resize along one axis after the other as a program, against ONNX Runtime and onnx's evaluator:
wider filters for smaller images, and scales that only the run tells."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

from tests.onnx_models import Values, model
from tests.onnx_suite.cases import Case
from tests.onnx_suite.outcomes import PASS
from tests.onnx_suite.programs import outcomes

runtime = pytest.importorskip("onnxruntime", reason="the reference engine of these tests")
pytestmark = pytest.mark.usefixtures("unoptimised")

_X = np.random.default_rng(3).standard_normal((1, 2, 7, 9), dtype=np.float32)
_MODES = ("linear", "cubic")
_COORDINATES = (*("half_pixel", "asymmetric", "align_corners", "half_pixel_symmetric"),)
_SIZES = ([1, 2, 3, 4], [1, 2, 3, 13], [1, 3, 11, 2])  # smaller, and both; of channels, too


def _filtered() -> onnx.ModelProto:
    """Every filter, coordinates and whether what lies outside counts, in one network."""
    nodes = []
    ways = itertools.product(_MODES, _COORDINATES, (0, 1), range(len(_SIZES)))
    for mode, coordinates, excludes, size in ways:
        name = f"{mode}_{coordinates}_{excludes}_{size}"
        attrs: dict[str, Any] = {
            "mode": mode, "coordinate_transformation_mode": coordinates, "antialias": 1,
            "exclude_outside": excludes,
        }  # fmt: skip
        nodes.append(helper.make_node("Resize", ["x", "", "", f"s{size}"], [name], name, **attrs))
    for mode in _MODES:  # by 2/9, of which 7 rows are 1.56 and come to 2: further than by 2/7
        kept: dict[str, Any] = {
            "keep_aspect_ratio_policy": "not_larger",
            "axes": [2, 3],
            "antialias": 1,
        }
        inputs = ["x", "", "", "within"]
        nodes.append(helper.make_node("Resize", inputs, [f"{mode}_ratio"], mode=mode, **kept))
    constants: dict[str, Values] = {f"s{i}": np.array(size) for i, size in enumerate(_SIZES)}
    outputs = dict.fromkeys(node.output[0] for node in nodes)
    constants["within"] = np.array([3, 2])
    return model(nodes, {"x": _X.shape}, outputs, constants, opset=19)


def _nearest() -> onnx.ModelProto:
    """Scales of run time, by which positions lie on elements or half way between two but for what
    float32 leaves of them."""
    nodes = []
    outputs: dict[str, tuple[int, ...] | None] = {}
    roundings = ("floor", "ceil", "round_prefer_floor", "round_prefer_ceil")
    for coordinates, rounding in itertools.product(("asymmetric", "half_pixel"), roundings):
        name = f"{coordinates}_{rounding}"
        attrs = {"coordinate_transformation_mode": coordinates, "nearest_mode": rounding}
        nodes.append(helper.make_node("Resize", ["x", "", "by"], [name], name, **attrs))
        outputs[name] = (1, 2, 16, 10)
    for mode in ("nearest", *_MODES):  # 7 by 2.4 leads to 16.8 rows: those are not the corner
        name, attrs = f"{mode}_corners", {"coordinate_transformation_mode": "align_corners"}
        nodes.append(helper.make_node("Resize", ["x", "", "by"], [name], name, mode=mode, **attrs))
        outputs[name] = (1, 2, 16, 10)
    made = model(nodes, {"x": _X.shape}, outputs, opset=19)
    made.graph.input.append(helper.make_tensor_value_info("by", TensorProto.FLOAT, [4]))
    return made


def _expected(source: onnx.ModelProto, feeds: dict[str, Values]) -> list[Values]:
    options = runtime.SessionOptions()
    options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = runtime.InferenceSession(source.SerializeToString(), options)
    return [np.asarray(value) for value in session.run(None, feeds)]


def test_filters(tmp_path: Path) -> None:
    """By onnx's evaluator; ONNX Runtime agrees where it has an answer, but for channels."""
    source = _filtered()
    evaluated = [np.asarray(y) for y in ReferenceEvaluator(source).run(None, {"x": _X})]
    both = onnx.ModelProto()
    both.CopyFrom(source)
    shapes = {node.output[0]: y.shape for node, y in zip(source.graph.node, evaluated, strict=True)}
    known = [name for name, shape in shapes.items() if shape[1] == _X.shape[1]]
    del both.graph.node[:], both.graph.output[:]
    both.graph.node.extend(node for node in source.graph.node if node.output[0] in known)
    both.graph.output.extend(each for each in source.graph.output if each.name in known)
    for name, second in zip(known, _expected(both, {"x": _X}), strict=True):
        first = evaluated[[*shapes].index(name)]
        np.testing.assert_allclose(first, second, rtol=1e-4, atol=1e-5, err_msg=name)
    case = Case("filters", source, [([_X], evaluated)], 1e-4, 1e-5)
    (found,) = outcomes([case], tmp_path, "host")
    assert found.kind == PASS, found.reasons


def test_scales_of_run_time(tmp_path: Path) -> None:
    source, by = _nearest(), np.array([1, 1, 2.4, 1.2], np.float32)
    expected = _expected(source, {"x": _X, "by": by})
    case = Case("scales", source, [([_X, by], expected)], 1e-4, 1e-5)
    (found,) = outcomes([case], tmp_path, "host")
    assert found.kind == PASS, found.reasons


def _of_integers(dtype: type[np.integer[Any]], mode: str) -> Case:
    """By sizes and by scales, the latter to no whole size; where numbers are weighed, with weights
    that float32 has exactly, since others decide on which side of an integer a sum comes to lie."""
    info = np.iinfo(dtype)
    x = np.random.default_rng(4).integers(info.min, info.max, (1, 2, 6, 5), dtype, endpoint=True)
    attrs = {"mode": mode, "coordinate_transformation_mode": "half_pixel"}
    scales = np.array([1, 1, 2, 0.5] if mode == "linear" else [1, 1, 1.7, 0.6], np.float32)
    nodes = [
        helper.make_node("Resize", ["x", "", "scales"], ["by_scales"], **attrs),
        helper.make_node("Resize", ["x", "", "", "sizes"], ["by_sizes"], **attrs),
    ]
    constants = {
        "scales": scales,
        "sizes": np.array([1, 2, 12, 10]),
    }
    outputs: dict[str, tuple[int, ...] | None] = dict.fromkeys(("by_scales", "by_sizes"))
    kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    source = model(nodes, {"x": x.shape}, outputs, constants, opset=19, input_type=kind)
    for output in source.graph.output:
        output.type.tensor_type.elem_type = kind
    return Case(f"{mode}_{x.dtype}", source, [([x], _expected(source, {"x": x}))], 0, 0)


def test_integers(tmp_path: Path) -> None:
    """Images of bytes, as jax2onnx leaves them."""
    cases = [
        _of_integers(np.uint8, "nearest"),
        _of_integers(np.int32, "nearest"),
        _of_integers(np.uint8, "linear"),
        _of_integers(np.int8, "linear"),
    ]
    for found in outcomes(cases, tmp_path, "host"):
        assert found.kind == PASS, (found.name, found.reasons)
