"""Which convolutions may be computed by Winograd's minimal filtering, and in which forms."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from edgeconv.algorithms.packing import weights_of
from edgeconv.algorithms.problem import problem_of
from edgeconv.algorithms.winograd.candidate import applies
from edgeconv.algorithms.winograd.forms import accurate
from edgeconv.choose.storage import EVERY_LAYER
from edgeconv.ir.graph import Graph, Node

NAME = "winograd"
DEFAULT_ERROR = 1e-4  # of a layer's largest output


def allow_minimal_filters(
    graph: Graph, algorithms: Mapping[str, str], error: float | None
) -> Graph:
    """Note on convolutions the forms whose error on their own filters is at most ``error``.

    The error is that of a layer alone, in parts of its largest output.

    Without ``error`` on those alone that ``algorithms`` (layer -> algorithm, ``*`` for all others)
    has computed so, with `DEFAULT_ERROR`.
    """
    every = error is not None or algorithms.get(EVERY_LAYER) == NAME
    named = {layer for layer, algorithm in algorithms.items() if algorithm == NAME}
    if not every and not named:
        return graph
    most = DEFAULT_ERROR if error is None else error
    nodes = (
        _allowed(node, graph, most) if node.op == "Conv" and (every or node.name in named) else node
        for node in graph.nodes
    )
    return replace(graph, nodes=tuple(nodes))


def _allowed(node: Node, graph: Graph, most: float) -> Node:
    kinds = (node.epilogue.before.kind, node.epilogue.after.kind)
    # What is rounded to a grid may not be further from it than a direct convolution is.
    if "grid" in kinds or not applies(problem_of(node, graph)):
        return node
    weights = weights_of(node, graph)
    forms = accurate(weights, most) if weights.ndim == 4 else ()
    return replace(node, attrs={**node.attrs, "minimal_filters": forms})
