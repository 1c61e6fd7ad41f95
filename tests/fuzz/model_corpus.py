"""Sound models that mutants are made of: every operator, and every construct of a model file."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from edgeconv.kernels.ops import importers
from tests.onnx_models import Values, convolution, model, residual
from tests.onnx_node_cases import node_cases

_MOST_BYTES = 20_000


@cache
def corpus() -> tuple[bytes, ...]:
    """Serialized models, always in the same order."""
    made = [
        convolution(),
        residual(),
        *(nested_functions(depth, 2) for depth in (1, 3)),
        *(nested_branches(depth) for depth in (1, 3)),
        sparse_weights(),
        folded_outputs(),
        quantised(),
        moved(),
    ]
    cases = _backend_cases()
    likely = [case for case in cases if _is_likely(onnx.ModelProto.FromString(case))]
    return (*(m.SerializeToString() for m in made * 40), *likely * 2, *cases)


def _is_likely(case: onnx.ModelProto) -> bool:
    """Of one node that we have an importer of, on float32: the others are mostly refused."""
    values = (*case.graph.input[:1], *case.graph.output)
    floats = all(v.type.tensor_type.elem_type == TensorProto.FLOAT for v in values)
    return floats and all(node.op_type in importers() for node in case.graph.node)


def chosen(source: random.Random) -> onnx.ModelProto:
    """One of the corpus."""
    return onnx.ModelProto.FromString(source.choice(corpus()))


@cache
def _backend_cases() -> tuple[bytes, ...]:
    """The cases that ONNX ships for its operators, also with the inputs behind the first as
    constants, which many of our importers demand."""
    made = []
    for case in sorted(node_cases(), key=lambda case: str(case.name)):
        if case.model.ByteSize() > _MOST_BYTES:
            continue
        made.append(case.model.SerializeToString())
        if case.data_sets and len(case.model.graph.input) > 1:
            _bind(case.model, case.data_sets[0][0])
            made.append(case.model.SerializeToString())
    return tuple(made)


def backend_cases() -> tuple[bytes, ...]:
    """The cases that ONNX ships for its operators, as they are and with constants."""
    return _backend_cases()


def _bind(source: onnx.ModelProto, inputs: Sequence[Any]) -> None:
    graph = source.graph
    for value, array in list(zip(graph.input, inputs, strict=False))[1:]:
        if isinstance(array, np.ndarray | np.generic):
            graph.initializer.append(numpy_helper.from_array(np.asarray(array), value.name))
            graph.input.remove(value)


def _function(name: str, nodes: Sequence[onnx.NodeProto]) -> onnx.FunctionProto:
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("own", 1)]
    return helper.make_function("own", name, ["x"], ["y"], nodes, opsets)


def nested_functions(depth: int, calls: int) -> onnx.ModelProto:
    """``depth`` functions, each of which calls the next one ``calls`` times: calls^depth nodes."""
    functions = [_function(f"f{depth}", [helper.make_node("Relu", ["x"], ["y"])])]
    for level in range(depth):
        names = ["x", *(f"t{call}" for call in range(1, calls)), "y"]
        functions.append(
            _function(
                f"f{level}",
                [
                    helper.make_node(f"f{level + 1}", [a], [b], domain="own")
                    for a, b in itertools.pairwise(names)
                ],
            )
        )
    top = [helper.make_node("f0", ["x"], ["y"], domain="own")]
    made = model(top, {"x": (1, 2, 3)}, {"y": None})
    made.opset_import.append(helper.make_opsetid("own", 1))
    made.functions.extend(functions)
    return made


def nested_branches(depth: int) -> onnx.ModelProto:
    """``depth`` If nodes within each other, their condition a constant."""
    nodes = [helper.make_node("Relu", ["x"], ["y"])]
    value = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    other = helper.make_graph(nodes, "other", [], [value])
    for _ in range(depth):
        graph = helper.make_graph(nodes, "branch", [], [value])
        nodes = [helper.make_node("If", ["c"], ["y"], then_branch=graph, else_branch=other)]
    return model(nodes, {"x": (1, 2, 3)}, {"y": None}, {"c": np.array(True)})


def sparse_weights() -> onnx.ModelProto:
    """A matrix whose weights are a sparse initializer."""
    made = model([helper.make_node("MatMul", ["x", "w"], ["y"])], {"x": (1, 4)}, {"y": None})
    values = numpy_helper.from_array(np.array([1.0, 2.0], np.float32), "w")
    indices = numpy_helper.from_array(np.array([0, 5], np.int64), "i")
    made.graph.sparse_initializer.append(helper.make_sparse_tensor(values, indices, [4, 3]))
    return made


def folded_outputs() -> onnx.ModelProto:
    """Constants of several kinds, evaluated when compiling, one of them an output."""
    make = helper.make_node
    nodes = [
        make("Shape", ["x"], ["shape"]),
        make("Constant", [], ["two"], value=numpy_helper.from_array(np.array([2], np.int64))),
        make("Constant", [], ["four"], value_ints=[1, 4]),
        make("Concat", ["two", "four", "two"], ["target"], axis=0),
        make("ConstantOfShape", ["two"], ["zeros"]),
        make("Range", ["start", "limit", "step"], ["range"]),
        make("Cast", ["range"], ["counted"], to=TensorProto.FLOAT),
        make("Expand", ["counted", "wide"], ["expanded"]),
        make("Tile", ["expanded", "repeats"], ["tiled"]),
        make("Add", ["x", "tiled"], ["sum"]),
        make("Reshape", ["sum", "target"], ["y"]),
        make("Identity", ["tiled"], ["z"]),
    ]
    constants: dict[str, Values] = {
        "start": np.array(0, np.int64),
        "limit": np.array(4, np.int64),
        "step": np.array(1, np.int64),
        "wide": np.array([2, 4], np.int64),
        "repeats": np.array([2, 1], np.int64),
    }
    return model(nodes, {"x": (4, 4)}, {"y": None, "z": None}, constants)


def quantised() -> onnx.ModelProto:
    """A dense layer between QuantizeLinear and DequantizeLinear."""
    make = helper.make_node
    nodes = [
        make("QuantizeLinear", ["x", "sx", "zx"], ["qx"]),
        make("DequantizeLinear", ["qx", "sx", "zx"], ["dx"]),
        make("DequantizeLinear", ["qw", "sw", "zw"], ["dw"], axis=0),
        make("Gemm", ["dx", "dw"], ["h"], transB=1),
        make("QuantizeLinear", ["h", "sx", "zx"], ["qh"]),
        make("DequantizeLinear", ["qh", "sx", "zx"], ["y"]),
    ]
    constants: dict[str, Values] = {
        "sx": np.array(0.05, np.float32),
        "zx": np.array(3, np.int8),
        "qw": np.arange(-6, 6, dtype=np.int8).reshape(3, 4),
        "sw": np.array([0.1, 0.2, 0.3], np.float32),
        "zw": np.zeros(3, np.int8),
    }
    return model(nodes, {"x": (1, 4)}, {"y": None}, constants)


def moved() -> onnx.ModelProto:
    """Operators that move data, with their parameters as constants."""
    make = helper.make_node
    nodes = [
        make("Split", ["x", "parts"], ["a", "b"], axis=1),
        make("Transpose", ["a"], ["at"], perm=[0, 1, 3, 2]),
        make("Slice", ["b", "starts", "ends", "axes", "steps"], ["bs"]),
        make("Pad", ["bs", "pads"], ["padded"]),
        make("Resize", ["at", "", "scales"], ["wide"], mode="nearest"),
        make("Squeeze", ["wide", "first"], ["flat"]),
        make("Unsqueeze", ["flat", "first"], ["again"]),
        make("Gather", ["padded", "chosen"], ["g"], axis=2),
        make("ReduceSum", ["again", "axes"], ["r"]),
        make("Softmax", ["g"], ["s"], axis=-1),
        make("Clip", ["s", "low", "high"], ["c"]),
        make("Concat", ["c", "g"], ["y"], axis=1),
        make("PRelu", ["r", "slope"], ["z"]),
    ]
    constants: dict[str, Values] = {
        "parts": np.array([1, 3], np.int64),
        "starts": np.array([0], np.int64),
        "ends": np.array([3], np.int64),
        "axes": np.array([2], np.int64),
        "steps": np.array([1], np.int64),
        "pads": np.array([0, 0, 1, 0, 0, 0, 0, 2], np.int64),
        "scales": np.array([1, 1, 2, 1], np.float32),
        "first": np.array([0], np.int64),
        "chosen": np.array([0, 2, -1], np.int64),
        "low": np.array(0, np.float32),
        "high": np.array(6, np.float32),
        "slope": np.array([0.25], np.float32),
    }
    return model(nodes, {"x": (1, 4, 5, 4)}, {"y": None, "z": None}, constants)
