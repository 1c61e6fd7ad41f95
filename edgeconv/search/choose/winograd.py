"""Which convolutions may be computed by Winograd's algorithm, and in which forms."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from edgeconv.ir.choice import tensor_bytes
from edgeconv.ir.graph import Graph, Node
from edgeconv.ir.winograd_form import Nested
from edgeconv.kernels.algorithms.packing import weights_of
from edgeconv.kernels.algorithms.problem import problem_of
from edgeconv.kernels.algorithms.winograd.candidate import applies
from edgeconv.kernels.algorithms.winograd.forms import accurate, described, forms_for
from edgeconv.search.choose.storage import EVERY_LAYER

NAME = "winograd"
LAYER_ERROR = 1e-4  # of a layer's largest output: what every form is held to before all else

Forms = Mapping[str, tuple[Nested, ...]]


def forms_within(graph: Graph, limits: Mapping[str, float]) -> Forms:
    """For the convolutions that ``limits`` names, the forms whose error on their own filters is at
    most that part of their largest output; those that have none are left out."""
    found = {
        node.name: accurate(weights_of(node, graph), limits[node.name], node.attrs["strides"])
        for node in convolutions(graph)
        if node.name in limits
    }
    return {name: forms for name, forms in found.items() if forms}


def forms_described(graph: Graph, plans: Mapping[str, Mapping[str, object]]) -> Forms:
    """The forms that ``plans`` (of report.json, by layer) describe."""
    found = {}
    for node in convolutions(graph):
        plan = plans.get(node.name, {}).items()
        sizes = forms_for(*weights_of(node, graph).shape[2:], strides=node.attrs["strides"])
        found[node.name] = tuple(f for each in sizes for f in each if described(f).items() <= plan)
    return {name: forms for name, forms in found.items() if forms}


def convolutions(graph: Graph) -> list[Node]:
    """The convolutions that may have a form, however large its error."""
    return [node for node in graph.nodes if node.op == "Conv" and _has_forms(node, graph)]


def asked_for(graph: Graph, algorithms: Mapping[str, str]) -> frozenset[str]:
    """The convolutions that ``algorithms`` (layer -> algorithm, ``*`` for all others) has computed
    so where they can be."""
    if NAME not in algorithms.values():
        return frozenset()
    every = algorithms.get(EVERY_LAYER)
    names = (node.name for node in convolutions(graph))
    return frozenset(name for name in names if algorithms.get(name, every) == NAME)


def with_winograd_forms(graph: Graph, forms: Forms) -> Graph:
    """``graph`` with the forms that a convolution may be computed in asked of it."""
    constants = sum(tensor_bytes(each) for each in graph.tensors.values() if each.is_constant)

    def asked(node: Node) -> Node:
        own = forms.get(node.name, ())
        request = replace(node.request, winograd_forms=own, run_constants=constants)
        return replace(node, request=request) if own else node

    return replace(graph, nodes=tuple(map(asked, graph.nodes)))


def _has_forms(node: Node, graph: Graph) -> bool:
    kinds = (node.epilogue.before.kind, node.epilogue.after.kind)
    # What is rounded to a grid may not be further from it than a direct convolution is.
    flat = len(graph[node.inputs[1]].shape) == 4
    return flat and "grid" not in kinds and applies(problem_of(node, graph))
