"""IF and WHILE: ONNX's If and Loop, whose bodies are other graphs of the file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import onnx
from onnx import TensorProto, helper

from edgeconv.model.frontend.tflite.elements import element
from edgeconv.model.frontend.tflite.loop_lists import counted_loop
from edgeconv.model.frontend.tflite.recurrent_loops import recurrent_layer, write_layer
from edgeconv.model.frontend.tflite.writing import Writing
from edgeconv.model.tflite import DamagedError, Operator


def branch(out: Writing, operator: Operator) -> None:
    """IF: one graph or another, by a bool."""
    condition = _scalar(out, out.stored(operator, 0))
    given = [out.stored(operator, index) for index in range(1, len(operator.inputs))]
    graphs: dict[str, Any] = {
        f"{way}_branch": _graph(out, operator.options[way], given, len(operator.outputs), way)
        for way in ("then", "else")
    }
    names = out.add_all("If", [condition], len(operator.outputs), main=True, **graphs)
    for index, name in enumerate(names):
        out.move(operator, name, index)


def composite(out: Writing, operator: Operator) -> None:
    """STABLEHLO_COMPOSITE: what the graph is that it stands for."""
    given = [out.stored(operator, index) for index in range(len(operator.inputs))]
    names = _inlined(out, operator.options["decomposition"], given, len(operator.outputs))
    for index, name in enumerate(names):
        out.move(operator, name, index)


def loop(out: Writing, operator: Operator) -> None:
    """WHILE: a graph as long as another one says so, of what it made the last time; a recurrent
    layer where it is one."""
    layer = recurrent_layer(out, operator)
    if layer is not None:
        write_layer(out, operator, layer)
        return
    given = [out.stored(operator, index) for index in range(len(operator.inputs))]
    if len(operator.outputs) != len(given):
        raise DamagedError(f"WHILE of {len(given)} inputs and {len(operator.outputs)} outputs")
    goes = _inlined(out, operator.options["cond"], given, 1)
    body = out.within(operator.options["body"])
    inside = body.model
    _check(inside.inputs, given)
    kinds = [element(inside.tensors[place]) for place in inside.inputs]
    names = [inside.tensors[place].name for place in inside.inputs]
    body.fill(body)
    results = [body.kept(place) for place in inside.outputs]
    if len(results) != len(given):
        raise DamagedError(f"WHILE with a body of {len(results)} results for {len(given)}")
    counted = counted_loop(out, operator)
    rows = _rows(body, counted.items) if counted else {}
    for index in rows:
        results[index] = names[index]
    after = _scalar(body, _inlined(body, operator.options["cond"], results, 1)[0])
    number, truth = (body.fresh(each, "loop") for each in ("trip", "goes"))
    inputs = [
        helper.make_tensor_value_info(number, TensorProto.INT64, []),
        helper.make_tensor_value_info(truth, TensorProto.BOOL, []),
        *(
            helper.make_tensor_value_info(name, kind, None)
            for name, kind in zip(names, kinds, strict=True)
        ),
    ]
    copies = [body.add("Identity", [name]) for name in (after, *results, *rows.values())]
    kinds += [kinds[index] for index in rows]
    graph = helper.make_graph(
        body.nodes,
        body.fresh("body", "loop"),
        inputs,
        [
            helper.make_tensor_value_info(name, kind, None)
            for name, kind in zip(copies, (TensorProto.BOOL, *kinds), strict=True)
        ],
    )
    trips = out.value(counted.length) if counted else ""
    operands = [trips, "" if counted else _scalar(out, goes[0]), *given]
    count = len(given) + len(rows)
    made = out.add_all("Loop", operands, count, main=True, body=graph)
    of_rows = dict(zip(rows, made[len(given) :], strict=True))
    for index, name in enumerate(made[: len(given)]):
        out.move(operator, of_rows.get(index, name), index)


def _rows(body: Writing, items: Mapping[int, int]) -> dict[int, str]:
    """What a body writes into lists, by loop variable, without their first dimension."""
    return {
        index: body.add(
            "Reshape", [body.kept(item), body.value(body.model.tensors[item].shape[1:])]
        )
        for index, item in items.items()
    }


def _graph(
    out: Writing, index: int, given: Sequence[str], results: int, way: str
) -> onnx.GraphProto:
    """The graph ``index`` of the file as a branch that reads ``given`` from outside."""
    inner = out.within(index)
    names = _written(inner, given, results)
    kinds = [element(inner.model.tensors[place]) for place in inner.model.outputs]
    return helper.make_graph(
        inner.nodes,
        inner.fresh(way, "branch"),
        [],
        [
            helper.make_tensor_value_info(name, kind, None)
            for name, kind in zip(names, kinds, strict=True)
        ],
    )


def _inlined(out: Writing, index: int, given: Sequence[str], results: int) -> list[str]:
    """The results of the graph ``index`` of the file, its nodes among those of ``out``."""
    inner = out.within(index)
    names = _written(inner, given, results)
    out.nodes += inner.nodes
    return names


def _written(inner: Writing, given: Sequence[str], results: int) -> list[str]:
    """The nodes of a graph whose inputs are ``given``, and the names of its results, each written
    by a node."""
    graph = inner.model
    _check(graph.inputs, given)
    for place, name in zip(graph.inputs, given, strict=True):
        own = graph.tensors[place].name
        inner.nodes.append(helper.make_node("Identity", [name], [own], inner.fresh("given", own)))
    inner.fill(inner)
    if len(graph.outputs) != results:
        raise DamagedError(f"a graph of {len(graph.outputs)} results where {results} are read")
    return [inner.add("Identity", [inner.kept(place)]) for place in graph.outputs]


def _check(places: Sequence[int], given: Sequence[str]) -> None:
    if len(places) != len(given):
        raise DamagedError(f"a graph of {len(places)} inputs that is given {len(given)}")


def _scalar(out: Writing, name: str) -> str:
    """A condition without dimensions."""
    return out.add("Reshape", [name, out.value([])])
