"""Operators on integers in the graph that a reference engine runs, so that a program is held to it.

A program has the real numbers that integers stand for where the model has the integers alone, and
rounds within a layer what the model rounds within an operator.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import onnx
from onnx import numpy_helper

from edgeconv.ir.layout import Shape
from edgeconv.model.frontend.definitions import Definition, Definitions, Row, row_of
from edgeconv.model.frontend.schedule import live_values, ordered, value_names
from edgeconv.model.frontend.values import static_shape
from edgeconv.model.frontend.weights import Values, Weights


def show_reals(graph: onnx.GraphProto, weights: Weights) -> None:
    """Has every operator on integers read what the frontend calls its real operands, quantised
    again: the same integers.  One whose kernel is not what defines it is replaced."""
    _rewrite(graph, weights, lambda row: row.engine_differs, folds=False)


def define(graph: onnx.GraphProto, weights: Weights) -> None:
    """Puts the definition of every operator on integers that rounds in its place; the others read
    their real operands, quantised again."""
    _rewrite(graph, weights, lambda row: row.rounds, folds=True)


def _rewrite(
    graph: onnx.GraphProto, weights: Weights, replaced: Callable[[Row], bool], *, folds: bool
) -> None:
    rows = [row_of(node) for node in graph.node]
    if not any(row and row.integers for row in rows):
        return
    constants, nodes = _Constants(graph, weights), []
    definitions = Definitions(
        constants.get, shape=_stated(graph).get, reserved=value_names(graph), folds=folds
    )
    for node in _live(graph):
        row = row_of(node)
        if row is not None and row.integers:
            definitions.folds = folds or replaced(row)
            definition = definitions.of(node, row)
            if replaced(row):
                nodes += definition.nodes
            else:
                nodes += [*_reals(definition, constants), node]
            _add_constants(graph, definition)
        else:
            nodes.append(node)
    _replace(graph, nodes)


def _stated(graph: onnx.GraphProto) -> dict[str, Shape | None]:
    """The shapes that the graph states of values, None for those that are not static."""
    return {value.name: static_shape(value.type) for value in (*graph.input, *graph.value_info)}


class _Constants:
    """The constants of a graph by name, read as they are asked for."""

    def __init__(self, graph: onnx.GraphProto, weights: Weights) -> None:
        self._weights = weights
        self._tensors = {tensor.name: tensor for tensor in graph.initializer}
        for node in graph.node:
            values = [a.t for a in node.attribute if a.name == "value"]
            if node.op_type == "Constant" and values:
                self._tensors[node.output[0]] = values[0]

    def get(self, name: str) -> Values | None:
        """The value of ``name``, None where it is no constant."""
        tensor = self._tensors.get(name)
        return None if tensor is None else self._weights.array(tensor)


def _reals(definition: Definition, constants: _Constants) -> list[onnx.NodeProto]:
    """Nodes that make the real operands of a node, which are not constants, and their integers."""
    node, nodes = definition.node, {made.output[0]: made for made in definition.nodes}
    found = []
    for index, (real, scaling) in definition.reals.items():
        if constants.get(node.input[index]) is None:
            found += [nodes[real]] if real in nodes else []
            node.input[index] = definition.add("QuantizeLinear", [real, *scaling])
            found.append(definition.nodes[-1])
    return found


def _live(graph: onnx.GraphProto) -> Sequence[onnx.NodeProto]:
    """The nodes that the outputs depend on, in the order in which the frontend meets them."""
    known = {value.name for value in graph.input} | {each.name for each in graph.initializer}
    known |= {sparse.values.name for sparse in graph.sparse_initializer}
    nodes = ordered(graph.node, known)
    live = live_values(nodes, [value.name for value in graph.output])
    return [node for node in nodes if any(name in live for name in node.output)]


def _add_constants(graph: onnx.GraphProto, definition: Definition) -> None:
    graph.initializer.extend(
        numpy_helper.from_array(value, name) for name, value in definition.constants.items()
    )


def _replace(graph: onnx.GraphProto, nodes: Sequence[onnx.NodeProto]) -> None:
    copies = [onnx.NodeProto.FromString(node.SerializeToString()) for node in nodes]
    del graph.node[:]
    graph.node.extend(copies)
