"""A loop of a graph as ONNX's Loop."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from edgeconv.ir.graph import Graph, Node, Tensor
from edgeconv.ir.loop import CONDITION, ENDLESS, FIRST_STATE, TRIPS, Body, body_of
from edgeconv.model.frontend.saved_nodes import Written


def loop(
    written: Written,
    node: Node,
    inputs: tuple[str, ...],
    graph_of: Callable[[Graph], onnx.GraphProto],
    value: Callable[[Tensor], onnx.ValueInfoProto],
) -> None:
    """``graph_of``: a graph in ONNX, ``value``: a tensor as an input or output."""
    body = body_of(node)
    states = len(body.carried)
    firsts = inputs[FIRST_STATE : FIRST_STATE + states]
    around = inputs[FIRST_STATE + states :]
    given = [
        name or written.constant(f"{state}/first", np.zeros(own.shape, own.dtype))
        for state, name in zip(body.carried, firsts, strict=True)
        for own in (body.graph[state],)
    ]
    trips = inputs[TRIPS] or written.constant(
        f"{node.name}/trips", np.int64(ENDLESS if body.trips is None else body.trips)
    )
    made = graph_of(body.graph)
    rows = [name for name in body.results if name not in body.carried]
    number, truth, goes = (f"{node.name}/{each}" for each in ("number", "going", "goes"))
    before = _read(body, around, number)
    if not body.condition:
        before.append(helper.make_node("Identity", [truth], [goes]))
    after = {state.input: state.output for state in body.graph.states}
    inner = helper.make_graph(
        [*before, *made.node],
        node.name,
        [
            helper.make_tensor_value_info(number, TensorProto.INT64, []),
            helper.make_tensor_value_info(truth, TensorProto.BOOL, []),
            *(value(body.graph[name]) for name in body.carried),
        ],
        [
            helper.make_tensor_value_info(body.condition or goes, TensorProto.BOOL, None),
            *(value(body.graph[after[name]]) for name in body.carried),
            *(value(body.graph[name]) for name in rows),
        ],
        [*made.initializer, *_last(body, number)],
    )
    last = dict(zip(body.results, node.outputs, strict=True))
    names = [last.get(name) or written.fresh(f"{name}/last") for name in body.carried]
    stacked = {name: written.fresh(f"{name}/rows") for name in rows if name in body.backwards}
    names += [stacked.get(name, last[name]) for name in rows]
    written.node("Loop", (trips, inputs[CONDITION], *given), *names, body=inner)
    for name, turned in stacked.items():
        ends = (np.array([each]) for each in (-1, np.iinfo(np.int64).min, 0, -1))
        written.node("Slice", (turned, *ends), last[name])


def _last(body: Body, number: str) -> list[onnx.TensorProto]:
    if not body.backwards.intersection(body.scanned):
        return []
    return [numpy_helper.from_array(np.array((body.trips or 0) - 1, np.int64), f"{number}/last")]


def _read(body: Body, around: tuple[str, ...], number: str) -> list[onnx.NodeProto]:
    """What the body reads under its own names: rows of this trip, values from around it."""
    nodes = []
    back = f"{number}/back"
    if body.backwards.intersection(body.scanned):
        nodes.append(helper.make_node("Sub", [f"{number}/last", number], [back]))
    for name, outer in zip((*body.scanned, *body.given), around, strict=True):
        if name in body.scanned:
            at = back if name in body.backwards else number
            nodes.append(helper.make_node("Gather", [outer, at], [name], axis=0))
        else:
            nodes.append(helper.make_node("Identity", [outer], [name]))
    if body.counter:
        nodes.append(helper.make_node("Identity", [number], [body.counter]))
    return nodes
