"""From a model to a graph: shapes, names, outputs and notes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from edgeconv.base.errors import EdgeconvError, Exit
from edgeconv.ir.graph import Graph
from tests.ir_interpreter import evaluate
from tests.onnx_models import Values, convolution, model, relu, residual

make = helper.make_node


Load = Callable[..., Graph]


@pytest.mark.parametrize("batch", ["N", None, -1])
def test_free_batch_is_one_and_said_once(batch: int | str | None, loaded: Load) -> None:
    graph = loaded(relu(batch, 3, 4))
    assert graph["x"].shape == graph["y"].shape == (1, 3, 4)
    assert len(graph.notes) == 1
    assert "'x'" in graph.notes[0]


def test_input_shape_sets_the_batch(loaded: Load) -> None:
    graph = loaded(relu("N", 3), x=(5, 3))
    assert graph["y"].shape == (5, 3)
    assert graph.notes == ()


def test_free_dimension_is_named(loaded: Load) -> None:
    with pytest.raises(EdgeconvError) as caught:
        loaded(relu("N", 3, "H", "W"))
    for part in ("'x'", "dimension 2", "'H'", "--input-shape x=1x3x?x?"):
        assert part in str(caught.value)
    assert caught.value.code is Exit.UNSATISFIED


def test_all_inputs_that_lack_sizes_are_named(loaded: Load) -> None:
    source = model([make("Add", ["a", "b"], ["y"])], {"a": (1, "H"), "b": (1, None)}, {"y": None})
    with pytest.raises(EdgeconvError, match=r"--input-shape a=1x\? --input-shape b=1x\?$"):
        loaded(source)


def test_question_marks_are_no_symbol(loaded: Load) -> None:
    graph = loaded(relu("?", 3, "?", "?"), x=(1, 3, 5, 7))
    assert graph["x"].shape == (1, 3, 5, 7)
    with pytest.raises(EdgeconvError, match="dimension 2 without a size"):
        loaded(relu("?", 3, "?", "?"))


def test_input_without_rank(loaded: Load) -> None:
    source = relu(1, 2)
    source.graph.input[0].type.tensor_type.ClearField("shape")
    with pytest.raises(EdgeconvError, match="no shape at all"):
        loaded(source)
    assert loaded(source, x=(2, 2))["y"].shape == (2, 2)


def test_scalar_input(loaded: Load) -> None:
    assert loaded(relu())["y"].shape == ()


@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        ({"xx": (1, 3)}, r"got input 'xx'.*did you mean x\?"),
        ({"x": (1, 4)}, r"input 'x': got 1x4; the model's input is Nx3"),
        ({"x": (1, 3, 1)}, "2 dimensions"),
    ],
)
def test_wrong_input_shape_is_wrong_usage(
    shapes: dict[str, tuple[int, ...]],
    message: str,
    loaded: Load,
) -> None:
    source = relu("N", 3)
    with pytest.raises(EdgeconvError, match=message) as caught:
        loaded(source, **shapes)
    assert caught.value.code is Exit.USAGE


def test_symbols_are_shared_between_inputs(loaded: Load) -> None:
    source = model(
        [make("Add", ["a", "b"], ["y"])], {"a": ("N", "H"), "b": ("N", "H")}, {"y": None}
    )
    graph = loaded(source, a=(2, 7))
    assert graph["b"].shape == (2, 7)
    with pytest.raises(EdgeconvError, match="'H' is 7 elsewhere"):
        loaded(source, a=(2, 7), b=(2, 8))


def test_shape_computations_fold(loaded: Load) -> None:
    nodes = [
        make("Shape", ["x"], ["s"]),
        make("Gather", ["s", "zero"], ["n"], axis=0),
        make("Unsqueeze", ["n", "axes"], ["n1"]),
        make("Concat", ["n1", "rest"], ["target"], axis=0),
        make("Reshape", ["x", "target"], ["y"]),
    ]
    constants = {"zero": np.array(0), "axes": np.array([0]), "rest": np.array([-1])}
    graph = loaded(model(nodes, {"x": ("N", 3, 4)}, {"y": None}, constants))
    assert [node.op for node in graph.nodes] == ["Reshape"]
    assert graph["y"].shape == (1, 12)
    assert set(graph.tensors) == {"x", "y"}


def test_names_and_origin(loaded: Load) -> None:
    nodes = [
        make("Relu", ["x"], ["a"], name="same"),
        make("Relu", ["a"], ["b"], name="same"),
        make("Mish", ["b"], ["c"], name="mish"),
        make("Neg", ["c"], ["y"]),
    ]
    graph = loaded(model(nodes, {"x": (2,)}, {"y": None}, opset=18))
    assert graph.name == "net"
    names = [node.name for node in graph.nodes]
    assert len(set(names)) == len(names)
    assert names[:2] == ["same", "same.1"]
    assert names[-1] == "Neg_y"
    assert {node.origin for node in graph.nodes[2:-1]} == {("mish",)}
    assert {"x", "a", "b", "c", "y"} <= set(graph.tensors)


def test_nodes_are_sorted(loaded: Load) -> None:
    source = residual()
    nodes = list(source.graph.node)
    want = loaded(source)
    del source.graph.node[:]
    source.graph.node.extend(reversed(nodes))
    got = loaded(source)
    x = np.random.default_rng(0).standard_normal(want["image"].shape)
    for name in want.outputs:
        expected = evaluate(want, {"image": x})[name]
        np.testing.assert_array_equal(evaluate(got, {"image": x})[name], expected)


def test_made_up_names_avoid_those_of_the_model(loaded: Load) -> None:
    nodes = [
        make("Sum", ["x", "x", "x"], ["s"]),
        make("Neg", ["s"], ["s/add1"]),
        make("Abs", ["s/add1"], ["y"]),
    ]
    graph = loaded(model(nodes, {"x": (2,)}, {"y": None}))
    x = np.array([1.0, -2.0])
    np.testing.assert_allclose(evaluate(graph, {"x": x})["y"], np.abs(3 * x))


def test_values_of_a_definition_avoid_those_of_the_model(loaded: Load) -> None:
    nodes = [make("Mish", ["x"], ["m"], name="mish")]
    inner = loaded(model(nodes, {"x": (2,)}, {"m": None}, opset=18)).nodes
    taken = inner[0].output
    nodes += [make("Neg", ["m"], [taken]), make("Neg", [taken], ["y"])]
    graph = loaded(model(nodes, {"x": (2,)}, {"y": None}, opset=18))
    x = np.array([1.0, -2.0])
    want = x * np.tanh(np.log1p(np.exp(x)))
    np.testing.assert_allclose(evaluate(graph, {"x": x})["y"], want, rtol=1e-6)


def test_made_up_names_avoid_those_of_a_definition(loaded: Load) -> None:
    """Its operands, the same integers twice, both become real numbers."""
    made = model(
        [make("ConvInteger", ["x", "x", "zero"], ["y"])],
        {"x": (1, 1, 2, 2), "zero": ()},
        {"y": None},
        input_type=onnx.TensorProto.UINT8,
    )
    x, zero = np.array([[[[3, 200], [7, 90]]]], np.uint8), np.array(5, np.uint8)
    want = ((x.astype(int) - 5) * x).sum()
    assert evaluate(loaded(made), {"x": x, "zero": zero})["y"].item() == want


def test_dead_branches_do_not_matter(loaded: Load) -> None:
    nodes = [make("NonZero", ["x"], ["dead"]), make("Relu", ["x"], ["y"])]
    assert [n.op for n in loaded(model(nodes, {"x": (2,)}, {"y": None})).nodes] == ["Unary"]


def test_input_as_output(loaded: Load) -> None:
    graph = loaded(model([], {"x": (2,)}, {"x": None}))
    x = np.array([1.0, 2.0])
    assert graph.inputs == ("x",)
    assert graph.outputs != ("x",)
    np.testing.assert_array_equal(evaluate(graph, {"x": x})[graph.outputs[0]], x)


def test_constant_as_output_stays_a_constant_for_the_others(loaded: Load) -> None:
    value = np.array([3.0, 4.0], np.float32)
    nodes = [make("Add", ["x", "c"], ["y"])]
    graph = loaded(model(nodes, {"x": (2,)}, {"y": None, "c": None}, {"c": value}))
    assert graph.outputs == ("y", "c")
    add = next(node for node in graph.nodes if node.op == "Binary")
    assert graph[add.inputs[1]].is_constant
    np.testing.assert_array_equal(evaluate(graph, {"x": np.zeros(2)})["c"], value)


def test_output_listed_twice(loaded: Load) -> None:
    source = relu(2)
    source.graph.output.append(source.graph.output[0])
    graph = loaded(source)
    assert len(set(graph.outputs)) == 2
    values = evaluate(graph, {"x": np.array([-1.0, 1.0])})
    assert [values[name].tolist() for name in graph.outputs] == [[0, 1], [0, 1]]


def test_shape_from_values(loaded: Load) -> None:
    nodes = [
        make("Cast", ["x"], ["s"], to=TensorProto.INT64),
        make("Reshape", ["x", "s"], ["y"], name="dynamic"),
    ]
    with pytest.raises(EdgeconvError) as caught:
        loaded(model(nodes, {"x": (2,)}, {"y": None}))
    assert "Reshape-14: 1 node (dynamic): the shape of its output depends" in "".join(
        caught.value.details
    )


def test_nan_weights_are_noted(loaded: Load) -> None:
    weights = np.ones((4, 3, 3, 3), np.float32)
    assert loaded(convolution(weights=weights)).notes == ()
    weights[0, 0, 0, 0] = np.nan
    (note,) = loaded(convolution(weights=weights)).notes
    assert "'w'" in note


def test_initializers_listed_as_inputs(loaded: Load) -> None:
    source = convolution()
    for tensor in source.graph.initializer:
        value = helper.make_tensor_value_info(tensor.name, tensor.data_type, tensor.dims)
        source.graph.input.append(value)
    assert loaded(source).inputs == ("x",)


def test_sparse_initializer(loaded: Load) -> None:
    values = numpy_helper.from_array(np.array([5.0, 6.0], np.float32), "c")
    source = model([make("Add", ["x", "c"], ["y"])], {"x": (2, 3)}, {"y": None})
    for indices in (np.array([1, 5]), np.array([[0, 1], [1, 2]])):
        del source.graph.sparse_initializer[:]
        source.graph.sparse_initializer.append(
            helper.make_sparse_tensor(values, numpy_helper.from_array(indices), [2, 3])
        )
        got = evaluate(loaded(source), {"x": np.zeros((2, 3))})["y"]
        assert got.tolist() == [[0, 5, 0], [0, 0, 6]]


def test_quantised_weights_fold(loaded: Load) -> None:
    stored = np.arange(-6, 6, dtype=np.int8).reshape(4, 3)
    nodes = [
        make("DequantizeLinear", ["q", "scale", "zero"], ["w"], axis=0),
        make("MatMul", ["x", "w"], ["y"]),
    ]
    constants: dict[str, Values] = {
        "q": stored,
        "scale": np.array([1, 2, 3, 4], np.float32),
        "zero": np.array([0, 1, 0, 1], np.int8),
    }
    graph = loaded(model(nodes, {"x": (1, 4)}, {"y": None}, constants, opset=13))
    w = (stored.astype(float) - [[0], [1], [0], [1]]) * [[1], [2], [3], [4]]
    got = evaluate(graph, {"x": np.eye(4)[:1]})["y"]
    np.testing.assert_allclose(got[0], w[0])
    assert [node.op for node in graph.nodes] == ["Dense"]
