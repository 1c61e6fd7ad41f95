"""Graphs written as ONNX files compute what they did."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from onnx import helper

from edgeconv.ir.graph import Graph
from edgeconv.kernels.ops import operators
from edgeconv.model import frontend, passes
from edgeconv.model.frontend import layer_names, recurrent_results, reference_outputs
from edgeconv.model.frontend.saving import WRITERS, save
from tests.imported_models import I64, f32, node_model, weights
from tests.onnx_models import residual
from tests.quantised_models import Network, tiny
from tests.recurrent_models import Recurrent

_C = (1, 4, 6, 5)
ONE_NODE: tuple[tuple[str, int, Sequence[Sequence[int]], Sequence[Any], dict[str, Any]], ...] = (
    ("Relu", 17, [_C], (), {}),
    ("Clip", 17, [_C], (np.float32(-0.5), np.float32(0.7)), {}),
    ("LeakyRelu", 17, [_C], (), {"alpha": 0.2}),
    ("Elu", 17, [_C], (), {"alpha": 0.7}),
    ("HardSigmoid", 17, [_C], (), {"alpha": 0.3, "beta": 0.4}),
    ("HardSwish", 17, [_C], (), {}),
    *((kind, 20, [_C], (), {}) for kind in ("Sigmoid", "Tanh", "Softplus", "Erf", "Gelu")),
    ("Gelu", 20, [_C], (), {"approximate": "tanh"}),
    ("Round", 17, [_C], (), {}),
    ("PRelu", 17, [_C], (weights(4, 1, 1),), {}),
    ("Mul", 17, [_C, (1, 4, 1, 1)], (), {}),
    ("Div", 17, [_C], (f32(3.0),), {}),
    ("MatMul", 17, [(2, 3, 4), (2, 4, 5)], (), {}),
    ("MatMul", 17, [(2, 3, 4)], (weights(4, 5),), {}),
    ("Gemm", 17, [(3, 4)], (weights(5, 4), weights(5)), {"transB": 1, "alpha": 0.5}),
    ("ReduceMean", 17, [_C], (), {"axes": [2, 3], "keepdims": 0}),
    ("ReduceL2", 17, [_C], (), {"axes": [1], "keepdims": 1}),
    ("ReduceMax", 17, [_C], (), {"axes": [1, 3]}),
    ("Pad", 17, [_C], (np.array([0, 1, 2, 0, 0, 0, 1, 3], I64), np.float32(1.5)), {}),
    ("Pad", 17, [_C], (np.array([0, 0, 1, 1, 0, 0, 1, 2], I64),), {"mode": "reflect"}),
    ("Resize", 17, [_C], (None, f32(1, 1, 2, 1.6)), {"mode": "linear"}),
    ("Resize", 17, [_C], (None, f32(1, 1, 2, 2)), {"mode": "nearest"}),
    ("Slice", 17, [_C], tuple(np.array(v, I64) for v in ([4, -1], [0, -9], [2, 3], [-2, -1])), {}),
    ("Transpose", 17, [_C], (), {"perm": [0, 2, 3, 1]}),
    ("Expand", 17, [(4, 1)], (np.array([2, 4, 3], I64),), {}),
    ("Tile", 17, [(2, 3)], (np.array([2, 2], I64),), {}),
    ("Gather", 17, [_C], (np.array([3, 0, 0], I64),), {"axis": 1}),
    ("LRN", 17, [_C], (), {"size": 3, "alpha": 0.01}),
    ("Softmax", 17, [_C], (), {"axis": 1}),
    ("LogSoftmax", 17, [_C], (), {"axis": 3}),
    ("Concat", 17, [_C, _C], (), {"axis": 1}),
    ("MaxPool", 17, [_C], (), {"kernel_shape": [3, 2], "strides": [2, 2], "ceil_mode": 1}),
    ("AveragePool", 17, [_C], (), {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}),
    ("GlobalAveragePool", 17, [_C], (), {}),
    ("Reshape", 17, [_C], (np.array([4, 30], I64),), {}),
    ("BatchNormalization", 17, [_C], (*(np.abs(weights(4)) for _ in range(4)),), {}),
)


def same(made: onnx.ModelProto, folder: Path) -> Graph:
    """The model as a graph, saved: both files compute the same, and give the same graph."""
    path, saved = folder / "model.onnx", folder / "saved.onnx"
    onnx.save(made, path)
    graph = passes.optimise(frontend.load(path))
    save(graph, saved)
    onnx.checker.check_model(str(saved), full_check=True)
    rng = np.random.default_rng(3)
    feeds = {
        name: rng.standard_normal(graph[name].shape).astype(np.float32)
        if graph[name].dtype == "float32"
        else rng.integers(0, 100, graph[name].shape).astype(graph[name].dtype)
        for name in graph.inputs
    }
    wanted, got = (reference_outputs(each, feeds).values for each in (path, saved))
    assert wanted.keys() == got.keys()
    for name, values in wanted.items():
        np.testing.assert_allclose(got[name], values, rtol=2e-5, atol=2e-6)
    again = passes.optimise(frontend.load(saved))
    assert described(again) == described(graph)
    return again


def described(graph: Graph) -> list[tuple[str, str, tuple[str, ...]]]:
    """What layers are called, what they are and what they write."""
    return [(node.name, node.op, node.outputs) for node in graph.nodes]


def read_again(made: onnx.ModelProto, folder: Path) -> tuple[Graph, Graph]:
    """The model as a graph, and that graph saved and read."""
    path, saved = folder / "model.onnx", folder / "saved.onnx"
    onnx.save(made, path)
    graph = passes.optimise(frontend.load(path))
    save(graph, saved)
    return graph, passes.optimise(frontend.load(saved))


@pytest.mark.parametrize("case", ONE_NODE, ids=lambda case: f"{case[0]}-{len(case[2])}")
def test_one_node(case: tuple[Any, ...], tmp_path: Path) -> None:
    op_type, opset, shapes, constants, attrs = case
    same(node_model(op_type, opset, shapes, constants, **attrs), tmp_path)


def test_a_network(tmp_path: Path) -> None:
    same(residual(), tmp_path)


def test_a_quantised_network_keeps_its_integers(tmp_path: Path) -> None:
    again = same(tiny()[0], tmp_path)
    stored = [node.attrs["storage"] for node in again.nodes if "storage" in node.attrs]
    assert stored
    assert all(form.scale for form in stored)


def test_a_constant_output(tmp_path: Path) -> None:
    node = helper.make_node("Constant", [], ["y"], value_floats=[1.0, 2.0])
    made = helper.make_model(
        helper.make_graph(
            [node, helper.make_node("Relu", ["x"], ["z"])],
            "constant",
            [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [2])],
            [
                helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [2]),
                helper.make_tensor_value_info("z", onnx.TensorProto.FLOAT, [2]),
            ],
        ),
        opset_imports=[helper.make_opsetid("", 17)],
        ir_version=9,
    )
    same(made, tmp_path)


_FUNCTIONS = ("Exp", "Relu", "Sigmoid", "Tanh", "Abs", "Mul", "Add", "SiLU", "Conv", "residual")


def functions(kinds: Sequence[str], rounded: Sequence[bool]) -> onnx.ModelProto:
    """One function behind the other, some of which are rounded to eight bits."""
    net, shape = Network(), (1, 4, 5, 3)
    x = before = net.pair("x", 0.02, 3)
    for i, (kind, rounds) in enumerate(zip(kinds, rounded, strict=True)):
        y = f"t{i}"
        if kind == "SiLU":
            gate = net.pair(net.node("Sigmoid", [x], f"{y}_gate"), 1 / 256, -128)
            net.node("Mul", [x, gate], y)
        elif kind == "Conv":
            net.node("Conv", [x, net.filters(f"w{i}", (4, 4, 1, 1))], y)
        elif kind == "residual":
            net.node("Add", [x, before], y)
        elif kind in ("Add", "Mul"):
            net.node(kind, [x, net.constant(f"c{i}", np.asarray(0.7, np.float32))], y)
        else:
            net.node(kind, [x], y)
        before, x = x, net.pair(y, 0.02 + 0.003 * i, -5) if rounds else y
    net.node("Identity", [x], "out")
    return net.model({"x": ("float32", shape)}, {"out": ("float32", shape)})


@settings(max_examples=25, deadline=None, derandomize=True)
@given(st.lists(st.tuples(st.sampled_from(_FUNCTIONS), st.booleans()), min_size=1, max_size=7))
@example([("Mul", True), ("Exp", True)])
def test_layers_of_several_functions_keep_their_names(kinds: list[tuple[str, bool]]) -> None:
    made = functions([kind for kind, _ in kinds], [rounded for _, rounded in kinds])
    with TemporaryDirectory() as folder:
        graph, again = read_again(made, Path(folder))
        assert described(again) == described(graph)
        save(again, Path(folder) / "twice.onnx")
        twice = passes.optimise(frontend.load(Path(folder) / "twice.onnx"))
    assert described(twice) == described(graph)


@pytest.mark.parametrize(
    "layer",
    [
        Recurrent("GRU", (5, 1, 6, 8), {"linear_before_reset": 1}, results=("Y_h",)),
        Recurrent("GRU", (5, 1, 6, 8), bits=8),
        Recurrent("LSTM", (5, 1, 6, 8), {"direction": "bidirectional"}, ("B", "P"), results=("Y",)),
        Recurrent("RNN", (5, 1, 6, 8), results=("Y_h",)),
    ],
    ids=str,
)
def test_recurrent_layers_and_their_constants_keep_their_names(
    layer: Recurrent, tmp_path: Path
) -> None:
    graph, again = read_again(layer.built()[0], tmp_path)
    assert described(again) == described(graph)
    (had,), (has,) = (
        [node.inputs for node in each.nodes if node.op == "Recurrent"] for each in (graph, again)
    )
    assert has == had


@pytest.mark.parametrize(
    "said", ["{", "[1]", '{"t1": 3}', '{"t1": ""}', '{"nothing": "a"}', "[" * 100_000]
)
@pytest.mark.parametrize("key", [layer_names.KEY, recurrent_results.KEY])
def test_metadata_of_others_is_left_alone(key: str, said: str, tmp_path: Path) -> None:
    read_again(functions(["Mul", "Exp"], [True, True]), tmp_path)
    made = onnx.load(tmp_path / "saved.onnx")
    del made.metadata_props[:]
    plain, _ = read_again(made, tmp_path)
    made.metadata_props.add(key=key, value=said)
    read, _ = read_again(made, tmp_path)
    assert described(read) == described(plain)


def test_a_name_that_another_layer_has(tmp_path: Path) -> None:
    """The other one gets one that is free."""
    made = functions(["Conv", "Conv"], [True, True])
    made.metadata_props.add(key=layer_names.KEY, value='{"t0_q_dq": "t1_node"}')
    graph, again = read_again(made, tmp_path)
    assert [node.name for node in graph.nodes if node.op == "Conv"] == ["t1_node", "t1_node.1"]
    assert described(again) == described(graph)


def test_every_operator_can_be_saved() -> None:
    """All that a graph may have but what the choice makes of it for a target; a Table, which passes
    make, is saved as what it is made of, a Loop by what saves the graph of its body."""
    chosen = {"Convert", "Attention", "Keep"}
    saved = {*WRITERS, "Loop"}
    assert {o.name for o in operators().values() if o.lower} - chosen == saved
