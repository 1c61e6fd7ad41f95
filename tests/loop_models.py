"""Networks of ONNX's Loop and Scan, whose bodies are layers of every kind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from edgeconv.model.frontend import inlining

UNITS, LENGTH = 32, 12


def value(name: str, shape: Sequence[int], kind: int = TensorProto.FLOAT) -> onnx.ValueInfoProto:
    """An input or output."""
    return helper.make_tensor_value_info(name, kind, shape)


def model(
    node: onnx.NodeProto,
    inputs: Sequence[onnx.ValueInfoProto],
    outputs: Sequence[onnx.ValueInfoProto],
    constants: Mapping[str, Any],
) -> onnx.ModelProto:
    """A network of one node."""
    held = [numpy_helper.from_array(np.asarray(each), name) for name, each in constants.items()]
    graph = helper.make_graph([node], "loops", inputs, outputs, held)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def _random(*shape: int, most: float = 0.3) -> np.ndarray:
    return np.random.default_rng(sum(shape)).uniform(-most, most, shape).astype(np.float32)


def recurrent(*, scan: bool = True, length: int = LENGTH) -> onnx.ModelProto:
    """h = erf(x W + h R), for which ONNX has no layer, as a Scan or as a Loop that gathers x by the
    number of the trip."""
    nodes = [] if scan else [helper.make_node("Gather", ["x", "i"], ["row"], axis=0)]
    nodes += [
        helper.make_node("MatMul", ["row", "w"], ["a"]),
        helper.make_node("MatMul", ["h", "r"], ["b"]),
        helper.make_node("Add", ["a", "b"], ["sum"]),
        helper.make_node("Erf", ["sum"], ["h_out"]),
        helper.make_node("Identity", ["h_out"], ["y_out"]),
    ]
    state, row = value("h", [1, UNITS]), value("row", [1, UNITS])
    results = [value("h_out", [1, UNITS]), value("y_out", [1, UNITS])]
    constants: dict[str, Any] = {"w": _random(UNITS, UNITS), "r": _random(UNITS, UNITS)[::-1]}
    constants["h0"] = np.zeros((1, UNITS), np.float32)
    if scan:
        body = helper.make_graph(nodes, "body", [state, row], results)
        node = helper.make_node(
            "Scan", ["h0", "x"], ["last", "y"], "scan", body=body, num_scan_inputs=1
        )
    else:
        nodes.append(helper.make_node("Identity", ["going"], ["goes"]))
        given = [value("i", [], TensorProto.INT64), value("going", [], TensorProto.BOOL), state]
        goes = value("goes", [], TensorProto.BOOL)
        body = helper.make_graph(nodes, "body", given, [goes, *results])
        node = helper.make_node("Loop", ["trips", "", "h0"], ["last", "y"], "loop", body=body)
        constants["trips"] = np.int64(length)
    outputs = [value("y", [length, 1, UNITS]), value("last", [1, UNITS])]
    return model(node, [value("x", [length, 1, UNITS])], outputs, constants)


def convolutional() -> onnx.ModelProto:
    """A convolution over state and rows, from the end of the second axis to its begin; a state of
    int64, and a value of run time that every trip reads."""
    nodes = [
        helper.make_node("Concat", ["s", "row"], ["both"], axis=1),
        helper.make_node("Conv", ["both", "w"], ["wide"], pads=[1] * 4),
        helper.make_node("Tanh", ["wide"], ["t"]),
        helper.make_node("Add", ["t", "z"], ["s_out"]),
        helper.make_node("Add", ["n", "one"], ["n_out"]),
        helper.make_node("Cast", ["n_out"], ["times"], to=TensorProto.FLOAT),
        helper.make_node("Mul", ["t", "times"], ["y_out"]),
    ]
    frame = [1, 8, 6, 6]
    number = [value(name, [], TensorProto.INT64) for name in ("n", "n_out", "count")]
    body = helper.make_graph(
        nodes,
        "body",
        [value("s", frame), number[0], value("row", [1, 3, 6, 6])],
        [value("s_out", frame), number[1], value("y_out", frame)],
    )
    node = helper.make_node(
        "Scan",
        ["s0", "n0", "x"],
        ["last", "count", "y"],
        "scan",
        body=body,
        num_scan_inputs=1,
        scan_input_axes=[1],
        scan_input_directions=[1],
        scan_output_axes=[2],
        scan_output_directions=[1],
    )
    inputs = [value("x", [1, 5, 3, 6, 6]), value("s0", frame), value("z", frame)]
    outputs = [value("last", frame), number[2], value("y", [1, 8, 5, 6, 6])]
    constants = {"w": _random(8, 11, 3, 3), "n0": np.int64(3), "one": np.int64(1)}
    return model(node, inputs, outputs, constants)


def nested() -> onnx.ModelProto:
    """A Scan and an If within a Loop whose trips are counted at run time; a tensor is called like a
    function."""
    inner = helper.make_graph(
        [
            helper.make_node("Add", ["q", "row"], ["moved"]),
            helper.make_node("Mul", ["moved", "u"], ["q_out"]),
        ],
        "inner",
        [value("q", [4]), value("row", [4])],
        [value("q_out", [4])],
    )
    ways = [
        helper.make_graph([helper.make_node(op, ["b"], [op])], op, [], [value(op, [4])])
        for op in ("Neg", "Exp")
    ]
    scan: dict[str, Any] = {"body": inner, "num_scan_inputs": 1}
    nodes = [
        helper.make_node("Scan", ["a", "x"], ["net_reduce_sum_1"], "inner", **scan),
        helper.make_node("Tanh", ["net_reduce_sum_1"], ["b"]),
        helper.make_node("ReduceSum", ["b"], ["total"], keepdims=0),
        helper.make_node("Greater", ["total", "zero"], ["positive"]),
        helper.make_node(
            "If", ["positive"], ["a_out"], "if", then_branch=ways[0], else_branch=ways[1]
        ),
        helper.make_node("Identity", ["going"], ["goes"]),
    ]
    flags = [value(name, [], TensorProto.BOOL) for name in ("going", "goes")]
    body = helper.make_graph(
        nodes,
        "body",
        [value("i", [], TensorProto.INT64), flags[0], value("a", [4])],
        [flags[1], value("a_out", [4])],
    )
    node = helper.make_node("Loop", ["trips", "", "x0"], ["y"], "loop", body=body)
    inputs = [value("trips", [], TensorProto.INT64), value("x", [6, 4]), value("x0", [4])]
    constants = {"u": _random(4, most=1.0), "zero": np.float32(0)}
    return model(node, inputs, [value("y", [4])], constants)


def halving() -> onnx.ModelProto:
    """While a sum is large; the most trips are more than there can be.  The sum and what is
    halved are called like what the C around them calls."""
    nodes = [
        helper.make_node("Mul", ["memcpy", "half"], ["a_out"]),
        helper.make_node("ReduceSum", ["a_out"], ["int64_t"], keepdims=0),
        helper.make_node("Greater", ["int64_t", "least"], ["goes"]),
        helper.make_node("Add", ["n", "one"], ["n_out"]),
    ]
    body = helper.make_graph(
        nodes,
        "body",
        [
            value("i", [], TensorProto.INT64),
            value("going", [], TensorProto.BOOL),
            value("memcpy", [2, 3]),
            value("n", [1]),
        ],
        [value("goes", [], TensorProto.BOOL), value("a_out", [2, 3]), value("n_out", [1])],
    )
    node = helper.make_node("Loop", ["most", "yes", "x", "n0"], ["y", "count"], "loop", body=body)
    constants = {"half": np.float32(0.5), "least": np.float32(0.1), "one": np.ones(1, np.float32)}
    constants |= {"most": np.int64(2**63 - 1), "yes": np.True_, "n0": np.zeros(1, np.float32)}
    return model(node, [value("x", [2, 3])], [value("y", [2, 3]), value("count", [1])], constants)


def quantised() -> onnx.ModelProto:
    """h = tanh(x W + h R) in QDQ form."""
    whole = np.random.default_rng(5)
    constants: dict[str, Any] = {
        name: whole.integers(-60, 61, (UNITS, UNITS)).astype(np.int8) for name in ("w", "r")
    }
    grids = {"filter": (0.0021, 0), "state": (1 / 128, 0), "row": (0.0173, 3), "sum": (0.0317, -5)}
    for name, (scale, zero) in grids.items():
        constants |= {f"{name}_scale": np.float32(scale), f"{name}_zero": np.int8(zero)}
    nodes = []

    def on_grid(name: str, grid: str) -> str:
        pair = [f"{grid}_scale", f"{grid}_zero"]
        nodes.append(helper.make_node("QuantizeLinear", [name, *pair], [f"{name}_q"]))
        nodes.append(helper.make_node("DequantizeLinear", [f"{name}_q", *pair], [f"{name}_d"]))
        return f"{name}_d"

    for name in ("w", "r"):
        pair = ["filter_scale", "filter_zero"]
        nodes.append(helper.make_node("DequantizeLinear", [name, *pair], [f"{name}_d"]))
    products = [("row", "row", "w_d", "a"), ("h", "state", "r_d", "b")]
    for source, grid, filters, name in products:
        nodes.append(helper.make_node("MatMul", [on_grid(source, grid), filters], [name]))
        on_grid(name, "sum")
    nodes.append(helper.make_node("Add", ["a_d", "b_d"], ["sum"]))
    nodes.append(helper.make_node("Tanh", [on_grid("sum", "sum")], ["t"]))
    nodes.append(helper.make_node("Identity", [on_grid("t", "state")], ["y_out"]))
    unit = [1, UNITS]
    body = helper.make_graph(
        nodes,
        "body",
        [value("h", unit), value("row", unit)],
        [value("t_d", unit), value("y_out", unit)],
    )
    node = helper.make_node(
        "Scan", ["h0", "x"], ["last", "y"], "scan", body=body, num_scan_inputs=1
    )
    constants["h0"] = np.zeros(unit, np.float32)
    length = [LENGTH, 1, UNITS]
    return model(node, [value("x", length)], [value("y", length)], constants)


MODELS = {
    "scan": recurrent(),
    "loop": recurrent(scan=False),
    "convolutional": convolutional(),
    "nested": nested(),
    "halving": halving(),
    "quantised": quantised(),
}


def side_by_side(models: Mapping[str, onnx.ModelProto]) -> onnx.ModelProto:
    """One network of all, of which none reads anything of the others."""
    whole = onnx.ModelProto()
    whole.CopyFrom(next(iter(models.values())))
    fields = ("node", "initializer", "input", "output")
    for field in fields:
        del getattr(whole.graph, field)[:]
    for prefix, single in models.items():
        graph = single.graph
        own = [each.name for field in fields[1:] for each in getattr(graph, field)]
        names = {name: f"{prefix}_{name}" for name in own}
        names |= {name: f"{prefix}_{name}" for node in graph.node for name in node.output if name}
        nodes = inlining.renamed(graph.node, names)
        for node in nodes:
            node.name = f"{prefix}_{node.name}"
        whole.graph.node.extend(nodes)
        for field in fields[1:]:
            for each_value in getattr(graph, field):
                added = getattr(whole.graph, field).add()
                added.CopyFrom(each_value)
                added.name = names[each_value.name]
    return whole
