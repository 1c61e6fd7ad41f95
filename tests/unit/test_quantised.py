"""QDQ models: what the frontend and the passes make of them, and what is refused."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from edgeconv.base.errors import EdgeconvError
from edgeconv.ir.activation import Activation, grid
from edgeconv.ir.graph import Graph, Node
from edgeconv.kernels.algorithms.packing import rounded
from edgeconv.kernels.storage import formats
from edgeconv.model import frontend, passes
from edgeconv.model.passes.clamp import compose
from tests import onnx_models
from tests.models.in_integers import held_to_file
from tests.quantised_models import Network, tiny


def loaded(model: onnx.ModelProto, folder: Path) -> Graph:
    return frontend.load(onnx_models.save(model, folder / "model.onnx"))


def optimised(model: onnx.ModelProto, folder: Path) -> Graph:
    return passes.optimise(loaded(model, folder))


def ops_of(graph: Graph) -> Counter[str]:
    return Counter(node.op for node in graph.nodes)


def only(graph: Graph, op: str) -> Node:
    (node,) = (node for node in graph.nodes if node.op == op)
    return node


def stored(graph: Graph, node: Node) -> np.ndarray:
    """The multiples of its units that the weights of ``node`` are."""
    weights = graph[node.inputs[1]].constant().astype(np.float64)
    units = np.array(node.attrs["storage"].scale).reshape(-1, *(1,) * (weights.ndim - 1))
    whole: np.ndarray = np.rint(weights / units)
    np.testing.assert_array_equal((whole * units).astype(np.float32), weights.astype(np.float32))
    return whole


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_a_network_becomes_float_operators_on_grids(dtype: str, tmp_path: Path) -> None:
    model, net = tiny(dtype)
    graph = optimised(model, tmp_path)
    counts = ops_of(graph)
    assert (counts["Dequantise"], counts["Quantise"], counts["Unary"]) == (1, 1, 0)
    first, second = (node for node in graph.nodes if node.op == "Conv")
    step = float(np.float32(0.015))
    assert first.epilogue.before == grid(step, 0, 255)  # its ReLU is the lower bound
    assert second.epilogue.before.kind == second.epilogue.after.kind == "grid"
    assert second.epilogue.residual == first.output
    assert (graph["image"].dtype, graph["scores"].dtype) == (dtype, dtype)
    for node, name in ((first, "w1"), (second, "w2")):
        assert str(node.attrs["storage"].element) == "int8"
        np.testing.assert_array_equal(stored(graph, node), net.weights[name])
    np.testing.assert_array_equal(stored(graph, only(graph, "Dense")), net.weights["w3"].T)


@pytest.mark.parametrize(
    ("dtype", "weights"), [("uint16", "int8"), ("int16", "int16"), ("uint16", "int4")]
)
def test_what_onnxruntime_writes_below_opset_21(dtype: str, weights: str, tmp_path: Path) -> None:
    """Is what it would have written in opset 21, for ONNX Runtime as for us."""
    plain, _ = tiny(dtype, 21, weights)
    other, _ = tiny(dtype, 15, weights, "com.microsoft")
    graphs = [optimised(model, tmp_path) for model in (plain, other)]
    assert graphs[0].nodes == graphs[1].nodes
    for name, tensor in graphs[0].tensors.items():
        assert (tensor.shape, tensor.dtype) == (
            graphs[1][name].shape,
            graphs[1][name].dtype,
        )
        if tensor.data is not None:
            np.testing.assert_array_equal(tensor.data, graphs[1][name].data)
    feeds = {"image": np.random.default_rng(1).integers(0, 32767, (1, 3, 9, 9)).astype(dtype)}
    found = []
    for model in (plain, other):
        path = onnx_models.save(model, tmp_path / "model.onnx")
        run = frontend.reference_outputs(path, feeds)
        assert run.engine.startswith("ONNX Runtime")
        found.append(run.values["scores"])
    assert len(np.unique(found[0])) > 1
    np.testing.assert_array_equal(found[0], found[1])


@pytest.mark.parametrize(
    ("dtype", "zero", "form"),
    [
        ("int8", 0, "int8"),
        ("uint8", 128, "int8"),
        ("uint8", 100, "flyte16"),
        ("int8", 3, "flyte16"),
        ("int16", 0, "flyte24"),
        ("int4", 0, "int4"),
        ("uint4", 8, "int4"),
        ("uint4", 3, "int8"),
    ],
)
def test_formats_that_hold_every_integer(dtype: str, zero: int, form: str, tmp_path: Path) -> None:
    net = Network(opset=21)
    net.node("Conv", ["x", net.filters("w", (4, 3, 3, 3), dtype=dtype, zero=zero)], "y")
    graph = loaded(
        net.model({"x": ("float32", (1, 3, 5, 5))}, {"y": ("float32", (1, 4, 3, 3))}), tmp_path
    )
    conv = only(graph, "Conv")
    assert str(conv.attrs["storage"].element) == form
    np.testing.assert_array_equal(stored(graph, conv), net.weights["w"])
    weights = graph[conv.inputs[1]].constant().astype(np.float32)
    units = np.array(conv.attrs["storage"].scale, np.float32)
    np.testing.assert_array_equal(rounded(weights, formats()[form], units), weights)


def test_scales_along_input_channels_stay_float32(tmp_path: Path) -> None:
    net = Network()
    net.node("Conv", ["x", net.filters("w", (4, 3, 3, 3), axis=1)], "y")
    graph = loaded(
        net.model({"x": ("float32", (1, 3, 5, 5))}, {"y": ("float32", (1, 4, 3, 3))}), tmp_path
    )
    assert "storage" not in only(graph, "Conv").attrs
    assert any("in_c" in note for note in graph.notes)


def test_weights_through_a_transpose(tmp_path: Path) -> None:
    net = Network()
    w = net.node("Transpose", [net.filters("w", (5, 7))], "wt", perm=[1, 0])
    net.node("MatMul", ["x", w], "y")
    graph = loaded(net.model({"x": ("float32", (1, 7))}, {"y": ("float32", (1, 5))}), tmp_path)
    np.testing.assert_array_equal(stored(graph, only(graph, "Dense")), net.weights["w"])


def test_float_weights_quantised_in_the_model(tmp_path: Path) -> None:
    net = Network()
    net.constant("f", net.rng.standard_normal((4, 3, 3, 3), dtype=np.float32))
    net.node("Conv", ["x", net.pair("f", 0.02, 0)], "y")
    graph = loaded(
        net.model({"x": ("float32", (1, 3, 5, 5))}, {"y": ("float32", (1, 4, 3, 3))}), tmp_path
    )
    assert str(only(graph, "Conv").attrs["storage"].element) == "int8"


def test_batch_norm_and_channel_order_keep_the_integers(tmp_path: Path) -> None:
    net = Network()
    y = net.node("Conv", ["x", net.filters("w", (4, 3, 3, 3))], "y")
    factor = np.array([0.5, -3.0, 0.0, 2.0], np.float32)
    for name, value in (("g", factor), ("zero", np.zeros(4)), ("one", np.ones(4))):
        net.constant(name, value.astype(np.float32))
    n = net.node("BatchNormalization", [y, "g", "zero", "zero", "one"], "n", epsilon=0.0)
    net.constant("order", np.array([2, 0, 3, 1]))
    net.node("Gather", [n, "order"], "z", axis=1)
    graph = optimised(
        net.model({"x": ("float32", (1, 3, 5, 5))}, {"z": ("float32", (1, 4, 3, 3))}), tmp_path
    )
    assert ops_of(graph) == {"Conv": 1}
    conv = only(graph, "Conv")
    expected = net.weights["w"] * np.sign(factor).reshape(-1, 1, 1, 1)  # scales are positive
    np.testing.assert_array_equal(stored(graph, conv), expected[[2, 0, 3, 1]])
    scales = net.scales["w"] * np.where(factor == 0, 1, abs(factor))
    np.testing.assert_allclose(conv.attrs["storage"].scale, scales[[2, 0, 3, 1]], rtol=1e-6)


@pytest.mark.parametrize(("dtype", "zero", "lowest"), [("int8", 0, -128), ("uint8", 200, 0)])
def test_negative_factors_of_filters_that_are_no_int8_then(
    dtype: str, zero: int, lowest: int, tmp_path: Path
) -> None:
    """The integers turn to 128 or further, around a zero point of the channel where multiplied."""
    net = Network()
    w = net.filters("w", (4, 8, 3, 3), dtype=dtype, zero=zero)
    net.weights["w"][1, 0, 0, 0] = lowest - zero
    net.constant("w", (net.weights["w"] + zero).astype(dtype))
    y = net.node("Conv", [net.pair("x", 0.05, 3), w], "y", pads=[1] * 4)
    factors = np.array([1.0, -2.0, -0.5, 0.25], np.float32).reshape(1, 4, 1, 1)
    net.constant("factors", factors)
    net.node("Identity", [net.pair(net.node("Mul", [y, "factors"], "n"), 0.4, 0)], "z")
    model = net.model({"x": ("float32", (1, 8, 6, 6))}, {"z": ("float32", (1, 4, 6, 6))})
    found = held_to_file(onnx_models.save(model, tmp_path / "net.onnx"))
    assert (len(found.exact), found.wrong, found.reasons) == (1, [], {})


def test_a_scale_per_input_channel_is_not_folded(tmp_path: Path) -> None:
    net = Network()
    net.constant("s", np.array([[[1.0]], [[2.0]], [[3.0]]], np.float32))
    x = net.node("Mul", ["x", "s"], "m")
    net.node("Conv", [x, net.filters("w", (4, 3, 3, 3))], "y")
    graph = optimised(
        net.model({"x": ("float32", (1, 3, 5, 5))}, {"y": ("float32", (1, 4, 3, 3))}), tmp_path
    )
    assert ops_of(graph) == {"Affine": 1, "Conv": 1}
    np.testing.assert_array_equal(stored(graph, only(graph, "Conv")), net.weights["w"])


def test_compositions() -> None:
    signed = grid(0.5, -128, 127)
    assert compose(Activation("relu"), signed) == grid(0.5, 0, 127)
    assert compose(Activation("clip", -1.3, 6.0), signed) == grid(0.5, -3, 12)
    assert compose(Activation("clip", 6.0, -1.3), signed) == grid(0.5, -3, -3)
    assert compose(signed, Activation("relu")) == grid(0.5, 0, 127)
    assert compose(signed, Activation("clip", -1.5, 6.0)) == grid(0.5, -3, 12)
    assert compose(signed, Activation("clip", -1.3, 6.0)) is None
    assert compose(signed, Activation("clip", -100.3, 6.0)) == grid(0.5, -128, 12)
    assert compose(signed, signed) == signed
    assert compose(grid(0.5, -9, 3), grid(0.5, -2, 127)) == grid(0.5, -2, 3)
    assert compose(grid(0.5, -9, -3), grid(0.5, -2, 127)) == grid(0.5, -2, -2)
    assert compose(signed, grid(0.25, -128, 127)) is None
    assert compose(Activation("sigmoid"), signed) is None


def test_integers_that_another_output_wants(tmp_path: Path) -> None:
    """A pair is one activation even where the integers leave the network too."""
    net = Network()
    y = net.node("Conv", ["x", net.filters("w", (4, 3, 3, 3))], "y")
    q = net.quantise(y, 0.1, 3)
    net.node("Relu", [net.dequantise(q, 0.1, 3)], "z")
    shape = (1, 4, 3, 3)
    graph = optimised(
        net.model({"x": ("float32", (1, 3, 5, 5))}, {q: ("int8", shape), "z": ("float32", shape)}),
        tmp_path,
    )
    assert ops_of(graph) == {"Conv": 1, "Quantise": 1, "Unary": 1}
    assert only(graph, "Conv").epilogue.before == grid(float(np.float32(0.1)), -131, 124)


def test_integers_from_port_to_port(tmp_path: Path) -> None:
    net = Network()
    net.node("Transpose", ["x"], "y", perm=[0, 2, 1])
    graph = optimised(net.model({"x": ("int8", (1, 3, 5))}, {"y": ("int8", (1, 5, 3))}), tmp_path)
    assert ops_of(graph) == {"Transpose": 1}


def one_node(
    op: str, inputs: dict[str, tuple[int, tuple[int, ...]]], **attrs: Any
) -> onnx.ModelProto:
    """A model of one node with a float32 output, its inputs given by type and shape."""
    node = helper.make_node(op, list(inputs), ["y"], "it", **attrs)
    ports = [helper.make_tensor_value_info(n, t, s) for n, (t, s) in inputs.items()]
    out = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    graph = helper.make_graph([node], "one", ports, [out])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


I8, F32 = TensorProto.INT8, TensorProto.FLOAT


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (
            one_node("MatMul", dict.fromkeys("ab", (TensorProto.INT32, (3, 3)))),
            "reads or writes int32",
        ),
    ],
    ids=["MatMul"],
)
def test_refused(model: onnx.ModelProto, words: str, tmp_path: Path) -> None:
    with pytest.raises(EdgeconvError) as error:
        loaded(model, tmp_path)
    assert any(words in line for line in error.value.details), error.value.details
