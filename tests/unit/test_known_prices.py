"""Prices that choices share: by what they depend on, and by nothing else."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from edgeconv.ir.graph import Graph
from edgeconv.ir.request import Request, Workspace
from edgeconv.model import frontend, passes
from edgeconv.search.choose.prices import Known, Prices
from edgeconv.target.backends import TARGETS

TARGET = TARGETS["avx512"]


@pytest.fixture
def graph(residual_model: Path) -> Graph:
    return passes.optimise(frontend.load(residual_model))


def renamed(graph: Graph) -> Graph:
    """The same network, its nodes and tensors called otherwise."""
    other = {name: f"other {name}" for name in graph.tensors} | {"": ""}
    nodes = tuple(
        replace(
            node,
            name=f"other {node.name}",
            inputs=tuple(other[name] for name in node.inputs),
            outputs=tuple(other[name] for name in node.outputs),
            epilogue=replace(node.epilogue, residual=other[node.epilogue.residual]),
        )
        for node in graph.nodes
    )
    tensors = {other[n]: replace(t, name=other[n]) for n, t in graph.tensors.items()}
    inputs, outputs = ([other[name] for name in names] for names in (graph.inputs, graph.outputs))
    return replace(
        graph, nodes=nodes, tensors=tensors, inputs=tuple(inputs), outputs=tuple(outputs)
    )


def test_what_names_alone_tell_apart_is_priced_once(graph: Graph) -> None:
    known = Known()
    first, other = Prices(graph, TARGET, known=known), renamed(graph)
    ways = [first.ways(node, graph) for node in graph.nodes]
    count = len(known.ways)
    again = Prices(other, TARGET, known=known)
    assert all(again.ways(n, other) is own for n, own in zip(other.nodes, ways, strict=True))
    assert len(known.ways) == count


def test_prices_that_are_shared_are_those_that_are_found_anew(graph: Graph) -> None:
    known = Known()
    for limit in (None, 0, 1 << 20, None):
        nodes = tuple(
            replace(n, request=Request(workspace=Workspace(limit))) if limit is not None else n
            for n in graph.nodes
        )
        limited = replace(graph, nodes=nodes)
        shared, own = Prices(limited, TARGET, known=known), Prices(limited, TARGET)
        for node in nodes:
            assert list(shared.ways(node, limited)) == list(own.ways(node, limited)), node.name


def test_other_shapes_constants_and_activations_are_other_prices(graph: Graph) -> None:
    known = Known()
    node = next(node for node in graph.nodes if node.op == "Conv")
    weights = graph[node.inputs[1]]
    assert weights.data is not None
    others = [
        graph.with_tensors({weights.name: replace(weights, data=np.copy(weights.data))}),
        graph.with_tensors({node.output: replace(graph[node.output], ring=2)}),
    ]
    keys = [known.key(node, each) for each in (graph, *others)]
    keys.append(known.key(replace(node, request=Request("direct")), graph))
    assert len({*keys}) == len(keys)
    assert known.key(replace(node, name="another"), graph) == keys[0]
