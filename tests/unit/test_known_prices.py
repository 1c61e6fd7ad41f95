"""Prices and kernel calls that choices share: by what they depend on, and by nothing else."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from edgeconv.app.deciding import Decider
from edgeconv.ir.check import InvariantError
from edgeconv.ir.choice import Layer
from edgeconv.ir.encoding import Encoding
from edgeconv.ir.graph import Graph, Node
from edgeconv.ir.requantisation import TFLITE
from edgeconv.ir.request import Request, Workspace
from edgeconv.kernels.float16 import lowered
from edgeconv.model import frontend, passes
from edgeconv.search.choose.known_calls import KNOWN, KnownCalls
from edgeconv.search.choose.prices import Known, Prices
from edgeconv.search.options import CompileOptions
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


def test_a_kernel_call_is_planned_once(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    known, planned = KnownCalls(), list[str]()

    def counted(node: Node, *args: object, **options: bool) -> Layer:
        planned.append(node.name)
        return lowered(node, *args, **options)  # type: ignore[arg-type]

    monkeypatch.setattr("edgeconv.search.choose.known_calls.lowered", counted)
    first = [known.call(node, graph, TARGET) for node in graph.nodes]
    again = replace(graph, nodes=tuple(reversed(graph.nodes)))
    assert all(
        known.call(n, again, TARGET) is own for n, own in zip(graph.nodes, first, strict=True)
    )
    assert planned == [node.name for node in graph.nodes]
    known.clear()
    assert known.call(graph.nodes[0], graph, TARGET) is not first[0]


def test_what_changes_a_kernel_call_is_another(graph: Graph) -> None:
    known = KnownCalls()
    node = next(node for node in graph.nodes if node.op == "Conv")
    weights, result = graph[node.inputs[1]], graph[node.output]
    calls = [known.call(node, graph, TARGET)]
    for tensor in (
        replace(weights, data=np.copy(weights.constant())),
        replace(result, ring=2),
        replace(result, storage=Encoding(16, exponent=8)),
    ):
        calls.append(known.call(node, graph.with_tensors({tensor.name: tensor}), TARGET))
    calls.append(known.call(replace(node, origin=("another",)), graph, TARGET))
    calls.append(known.call(node, graph, TARGETS["avx2"]))
    calls.append(known.call(node, replace(graph, requantise=TFLITE), TARGET))
    assert len({id(call) for call in calls}) == len(calls)


def test_attributes_that_are_nothing_to_look_up_by_are_planned_anew(graph: Graph) -> None:
    known, node = KnownCalls(), graph.nodes[0]
    odd = replace(node, attrs={**node.attrs, "odd": []})
    calls = [known.call(odd, graph, TARGET) for _ in range(2)]
    assert calls[0] is not calls[1]
    assert not known.calls


def test_deciding_lets_go_of_kernel_calls(residual_model: Path) -> None:
    with Decider(CompileOptions(residual_model, "mps2-an386")) as decider:
        decider.decide()
        assert KNOWN.calls
    assert not KNOWN.calls
    assert not KNOWN.tensors


def test_a_map_that_is_wrong_is_not_decided_for(
    residual_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def clobbered(*args: object) -> None:
        raise InvariantError("clobbered")

    with Decider(CompileOptions(residual_model, "mps2-an386")) as decider:
        monkeypatch.setattr("edgeconv.app.deciding.planning.check_map", clobbered)
        with pytest.raises(InvariantError, match="clobbered"):
            decider.decide()
