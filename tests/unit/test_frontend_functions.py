"""Functions and conditions of a model are put in place."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from edgeconv.base.errors import EdgeconvError
from edgeconv.ir.graph import Graph
from tests.ir_interpreter import evaluate
from tests.onnx_models import model

make = helper.make_node


Load = Callable[..., Graph]


def leaky_function() -> onnx.FunctionProto:
    """Leaky(x; slope = 0.5) = max(x, slope * x), through a nested Twice(x) = x + x."""
    slope = onnx.AttributeProto(
        name="value_float", type=onnx.AttributeProto.FLOAT, ref_attr_name="slope"
    )
    constant = make("Constant", [], ["s"])
    constant.attribute.append(slope)
    nodes = [
        constant,
        make("Mul", ["x", "s"], ["scaled"]),
        make("Max", ["x", "scaled"], ["larger"]),
        make("Twice", ["larger"], ["y"], domain="local"),
    ]
    function = helper.make_function(
        "local",
        "Leaky",
        ["x"],
        ["y"],
        nodes,
        [helper.make_opsetid("", 17), helper.make_opsetid("local", 1)],
    )
    function.attribute_proto.append(helper.make_attribute("slope", 0.5))
    return function


def twice_function() -> onnx.FunctionProto:
    return helper.make_function(
        "local",
        "Twice",
        ["x"],
        ["y"],
        [make("Add", ["x", "x"], ["y"])],
        [helper.make_opsetid("", 17)],
    )


def test_values_named_after_the_node_beside_them(loaded: Load) -> None:
    """Of a function within another one: what it is called within the outer one is not taken."""
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("local", 1)]
    outer = [
        make("Relu", ["x"], ["inner/t"]),
        make("Inner", ["inner/t"], ["h"], name="inner", domain="local"),
        make("Add", ["h", "inner/t"], ["y"]),
    ]
    inner = [make("Neg", ["x"], ["t"]), make("Exp", ["t"], ["y"])]
    made = model([make("Outer", ["x"], ["z"], domain="local")], {"x": (2,)}, {"z": None})
    made.functions.append(helper.make_function("local", "Outer", ["x"], ["y"], outer, opsets))
    made.functions.append(helper.make_function("local", "Inner", ["x"], ["y"], inner, opsets))
    made.opset_import.append(opsets[1])
    x = np.array([1.0, -2.0])
    want = np.exp(-np.maximum(x, 0)) + np.maximum(x, 0)
    np.testing.assert_allclose(evaluate(loaded(made), {"x": x})["z"], want)


def test_functions_of_the_model(loaded: Load) -> None:
    nodes = [
        make("Leaky", ["x"], ["a"], domain="local", name="first"),
        make("Leaky", ["a"], ["y"], domain="local", name="second", slope=0.25),
    ]
    source = model(nodes, {"x": (2,)}, {"y": None})
    source.opset_import.append(helper.make_opsetid("local", 1))
    source.functions.extend([leaky_function(), twice_function()])
    graph = loaded(source)
    got = evaluate(graph, {"x": np.array([3.0, -8.0])})["y"]
    assert got.tolist() == [12.0, -4.0]
    assert {node.origin for node in graph.nodes} == {("first",), ("second",)}


def test_recursive_function(loaded: Load) -> None:
    loop = helper.make_function(
        "local",
        "Twice",
        ["x"],
        ["y"],
        [make("Twice", ["x"], ["y"], domain="local")],
        [helper.make_opsetid("local", 1)],
    )
    source = model([make("Twice", ["x"], ["y"], domain="local")], {"x": (2,)}, {"y": None})
    source.functions.append(loop)
    with pytest.raises(EdgeconvError, match="calls itself"):
        loaded(source)


def branch(name: str, op: str) -> onnx.GraphProto:
    """A branch that reads ``x`` from around it and has a constant of its own."""
    two = numpy_helper.from_array(np.array(2.0, np.float32), "two")
    out = helper.make_tensor_value_info(f"{name}_out", TensorProto.FLOAT, None)
    nodes = [make("Mul", ["x", "two"], ["t"]), make(op, ["t"], [f"{name}_out"])]
    return helper.make_graph(nodes, name, [], [out], [two])


@pytest.mark.parametrize(("condition", "want"), [(True, [6.0, 2.0]), (False, [-6.0, -2.0])])
def test_if_with_a_constant_condition(condition: bool, want: list[float], loaded: Load) -> None:
    node = make("If", ["c"], ["y"], then_branch=branch("a", "Abs"), else_branch=branch("b", "Neg"))
    graph = loaded(model([node], {"x": (2,)}, {"y": None}, {"c": np.array(condition)}))
    got = evaluate(graph, {"x": np.array([3.0, 1.0])})["y"]
    assert got.tolist() == want
