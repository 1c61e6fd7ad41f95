"""Scales that a model computes, and sums of integers: what is made of them."""

from __future__ import annotations

import importlib
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.backend.test.case import node as every

from edgeconv.base.errors import EdgeconvError
from edgeconv.ir.encoding import INT8
from edgeconv.ir.graph import Graph
from edgeconv.model import frontend, passes
from edgeconv.model.frontend.engine_process import session_options
from edgeconv.search.choose.dynamic_quantisation import in_integers
from edgeconv.target import board as boards
from tests import onnx_models
from tests.ir_interpreter import evaluate

Values = npt.NDArray[Any]
node = helper.make_node


def product(
    inner: int, weights: Values, *, casts: bool = True, zero: Values | None = None
) -> onnx.ModelProto:
    """x of float32 quantised, and its product with ``weights``."""
    nodes = [
        node("DynamicQuantizeLinear", ["x"], ["q", "s", "z"]),
        node("MatMulInteger", ["q", "w", "z", *(["wz"] if zero is not None else [])], ["sums"]),
        node("Cast", ["sums"], ["y"], to=TensorProto.FLOAT),
    ]
    constants = {"w": weights, **({} if zero is None else {"wz": zero})}
    model = onnx_models.model(nodes, {"x": [2, inner]}, {"y": None}, constants, opset=13)
    if not casts:
        del model.graph.output[:]
        value = helper.make_tensor_value_info("sums", TensorProto.INT32, None)
        model.graph.output.append(value)
    return model


def loaded(model: onnx.ModelProto, folder: Path) -> Graph:
    path = folder / f"{len(list(folder.iterdir()))}.onnx"  # a loaded file must not change
    return passes.optimise(frontend.load(onnx_models.save(model, path)))


def test_sums_beyond_what_float32_has_are_rounded_once(tmp_path: Path) -> None:
    """Upper and lower bits are summed apart, and each sum is exact."""
    rng = np.random.default_rng(1)
    weights = rng.integers(100, 128, (1400, 3)).astype(np.int8)
    graph = loaded(product(1400, weights), tmp_path)
    dense = [each for each in graph.nodes if each.op == "Dense"]
    assert len(dense) == 2
    assert all(255 * np.abs(whole(graph, each)).sum(1).max() < 2**24 for each in dense)
    x = rng.uniform(0, 1, (2, 1400)).astype(np.float32)
    values = evaluate(graph, {"x": x})
    scale = np.float32(x.max()) / np.float32(255)
    exact = np.rint(x / scale).astype(np.int64) @ weights.astype(np.int64)
    assert exact.max() > 2**24
    np.testing.assert_array_equal(values["y"].astype(np.float32), exact.astype(np.float32))


@pytest.mark.parametrize("zero", [None, np.array([1, 90, 3], np.int8)])
def test_upper_and_lower_bits_are_one_product_in_integers(
    zero: Values | None, tmp_path: Path
) -> None:
    """Of int32, which has the sums that float32 has not: filters of nine bits too."""
    weights = np.random.default_rng(1).integers(-128, 128, (1400, 3)).astype(np.int8)
    model = product(1400, weights, zero=zero)
    model.graph.node[-1].output[0] = "real"
    model.graph.node.append(node("Mul", ["s", "unit"], ["factor"]))
    model.graph.node.append(node("Mul", ["real", "factor"], ["y"]))
    model.graph.initializer.append(
        numpy_helper.from_array(np.array([0.1, 0.2, 0.3], np.float32), "unit")
    )
    graph = in_integers(loaded(model, tmp_path), boards.load("mps2-an386").target)
    assert not [each for each in graph.nodes if each.op == "Dense"]
    (dense,) = [each for each in graph.nodes if each.op == "DynamicDense"]
    wanted = weights.T.astype(int) - (0 if zero is None else zero.astype(int)[:, None])
    np.testing.assert_array_equal(graph[dense.inputs[1]].constant(), wanted)
    assert dense.storage.element == INT8


def whole(graph: Graph, dense: Any) -> Values:
    """The integers that the filters of a layer are stored as."""
    units = np.asarray(dense.attrs["storage"].scale)[:, None]
    return np.asarray(graph[dense.inputs[1]].constant() / units)


def test_filters_stay_integers_and_nothing_stands_for_the_cast(tmp_path: Path) -> None:
    graph = loaded(
        product(8, np.full((8, 3), -7, np.int8), zero=np.array([1, 2, 3], np.int8)), tmp_path
    )
    (dense,) = (each for each in graph.nodes if each.op == "Dense")
    assert dense.output == "y"
    assert str(dense.attrs["storage"].element) == "int8"
    assert not {"Quantise", "Dequantise"} & {each.op for each in graph.nodes}


BIG = np.full((2000, 1), 127, np.int8)
HUGE = np.full((20000, 1), 127, np.int8)


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (product(2000, BIG, casts=False), "int32 outputs: 1 tensor (sums): they may be beyond"),
        (product(20000, HUGE), "sums up to 647700000; sums of integers are computed in float32"),
        (product(4, np.ones((4, 2), np.int8), zero=np.zeros(3, np.int8)), "b_zero_point [3]"),
        (product(4, np.ones((4, 2), np.int8), zero=np.zeros((2, 1), np.int8)), "one dimension"),
        (product(4, np.ones((4, 2), np.int16)), "is int8 or uint8"),
    ],
)
def test_refused_with_the_reason(model: onnx.ModelProto, words: str, tmp_path: Path) -> None:
    with pytest.raises(EdgeconvError) as error:
        loaded(model, tmp_path)
    assert words in " ".join([str(error.value), *error.value.details])


@pytest.mark.parametrize("axis", [None, 0, 1])
def test_scales_of_run_time(axis: int | None, tmp_path: Path) -> None:
    """Of a whole tensor and along an axis, by an input."""
    many = [] if axis is None else [[3, 4][axis]]
    attrs: dict[str, Any] = {} if axis is None else {"axis": axis}
    nodes = [
        node("QuantizeLinear", ["x", "s", "z"], ["q"], **attrs),
        node("DequantizeLinear", ["q", "s", "z"], ["y"], **attrs),
    ]
    zero = np.full(many, 3, np.int8)
    model = onnx_models.model(nodes, {"x": [3, 4], "s": many}, {"y": None}, {"z": zero}, opset=13)
    rng = np.random.default_rng(2)
    feeds = {
        "x": rng.uniform(-9, 9, (3, 4)).astype(np.float32),
        "s": rng.uniform(0.03, 0.1, many).astype(np.float32),
    }
    scale = feeds["s"] if axis is None else feeds["s"].reshape([-1, 1] if axis == 0 else [1, -1])
    wanted = (np.clip(np.rint(feeds["x"] / scale) + 3, -128, 127) - 3) * scale
    np.testing.assert_allclose(evaluate(loaded(model, tmp_path), feeds)["y"], wanted, rtol=1e-6)


MODULES = (
    *("convinteger", "matmulinteger", "dynamicquantizelinear", "quantizelinear"),
    *("dequantizelinear", "qlinearconv", "qlinearmatmul"),
)
Case = tuple[str, onnx.ModelProto, list[Values], list[Values]]


def official() -> list[Case]:
    """Those of the operators here; to load all that there are takes seconds."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for module in MODULES:
            importlib.import_module(f"{every.__name__}.{module}")
    cases: list[Any] = [c for c in every._NodeTestCases if any(m in c.name for m in MODULES)]
    found = []
    for case in cases:
        given, wanted = (list(map(array, each)) for each in case.data_sets[0])
        found.append((case.name, case.model, given, wanted))
    return found


def array(value: Any) -> Values:
    return numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else np.array(value)


def outcome(case: Case, folder: Path, *, constants: bool) -> str:
    """Why a case is refused; "" where its results are right, integers exactly.

    A step may be another where float64, in which the graph is evaluated, sees no tie.
    """
    _, original, given, wanted = case
    model = onnx.ModelProto.FromString(original.SerializeToString())
    ports = list(model.graph.input)
    kept = ports[:1] if constants else ports
    del model.graph.input[:]
    model.graph.input.extend(kept)
    for port, value in list(zip(ports, given, strict=True))[len(kept) :]:
        kind, flat = port.type.tensor_type.elem_type, value.astype(np.float32).reshape(-1).tolist()
        model.graph.initializer.append(helper.make_tensor(port.name, kind, value.shape, flat))
    try:
        graph = loaded(model, folder)
    except EdgeconvError as error:
        return " ".join([str(error), *error.details])
    feeds = {port.name: value for port, value in zip(kept, given, strict=False)}
    values = evaluate(graph, feeds)
    for name, want in zip(graph.outputs, wanted, strict=True):
        assert graph[name].dtype == want.dtype.name
        if want.dtype.kind == "f":
            np.testing.assert_allclose(values[name], want, 1e-3, 1e-6, err_msg=case[0])
        else:
            apart = np.abs(values[name] - want.astype(np.float64))
            assert apart.max() <= ("dynamic" in case[0]), case[0]
    return ""


@pytest.mark.parametrize("constants", [False, True])
def test_official_cases(constants: bool, tmp_path: Path) -> None:
    """As they are given, and with all but the first input as constants."""
    for case in official():
        assert not outcome(case, tmp_path, constants=constants), case[0]


def lstm(direction: str, dtype: str, *, per_channel: bool) -> onnx.ModelProto:
    """DynamicQuantizeLSTM of x (4, 2, 3), with six units."""
    rng, hidden, ways = np.random.default_rng(1), 6, 1 + (direction == "bidirectional")
    info = np.iinfo(dtype)
    shape = (ways, 4 * hidden) if per_channel else (ways,)
    zeros = rng.integers(info.min, info.max, shape, endpoint=True)
    constants: dict[str, Values] = {"B": rng.normal(0, 0.2, (ways, 8 * hidden)).astype(np.float32)}
    for name, inputs in (("W", 3), ("R", hidden)):
        sizes = (ways, inputs, 4 * hidden)
        constants[name] = rng.integers(info.min, info.max, sizes, endpoint=True).astype(dtype)
        constants[f"{name}_scale"] = rng.uniform(0.002, 0.008, shape).astype(np.float32)
        constants[f"{name}_zero"] = np.broadcast_to(zeros.flat[0], shape).astype(dtype)
    operands = ["x", "W", "R", "B", "", "h", "c", "", "W_scale", "W_zero", "R_scale", "R_zero"]
    outputs = ["y", "y_h", "y_c"]
    attrs: dict[str, Any] = {"hidden_size": hidden, "direction": direction}
    made = node("DynamicQuantizeLSTM", operands, outputs, domain="com.microsoft", **attrs)
    states = {name: [ways, 2, hidden] for name in ("h", "c")}
    sizes_of = {"y": [4, ways, 2, hidden], "y_h": states["h"], "y_c": states["c"]}
    model = onnx_models.model([made], {"x": [4, 2, 3], **states}, sizes_of, constants, opset=17)
    model.opset_import.append(helper.make_opsetid("com.microsoft", 1))
    return model


@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize(("dtype", "per_channel"), [("int8", False), ("uint8", True)])
def test_lstm_of_integers_is_onnx_runtimes(
    direction: str, dtype: str, per_channel: bool, tmp_path: Path
) -> None:
    """With one thread; with several, each of its threads quantises its own rows of a batch."""
    runtime = pytest.importorskip("onnxruntime")
    model = lstm(direction, dtype, per_channel=per_channel)
    rng = np.random.default_rng(2)
    ways = 1 + (direction == "bidirectional")
    values = {"x": rng.normal(size=(4, 2, 3)).astype(np.float32)}
    values |= {name: rng.normal(0, 0.5, (ways, 2, 6)).astype(np.float32) for name in ("h", "c")}
    options = session_options()
    options.intra_op_num_threads = 1
    session = runtime.InferenceSession(model.SerializeToString(), options)
    found = evaluate(loaded(model, tmp_path), values)
    for name, own in zip(("y", "y_h", "y_c"), session.run(None, values), strict=True):
        np.testing.assert_allclose(found[name], own, rtol=0, atol=1e-6)


@pytest.mark.parametrize(("direction", "ways"), [("forward", 1), ("bidirectional", 2)])
def test_all_products_of_an_lstm_are_in_integers(direction: str, ways: int, tmp_path: Path) -> None:
    """Those of the whole sequence, which are the most, as those of each state."""
    model = lstm(direction, "int8", per_channel=False)
    graph = in_integers(loaded(model, tmp_path), boards.load("mps2-an386").target)
    found = [each.op for each in graph.nodes if each.op in ("Dense", "DynamicDense")]
    assert found == ["DynamicDense"] * (ways * (1 + 4))
