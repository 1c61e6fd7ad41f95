"""The convolution algorithms, and the choice among them for one node."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import cache

from edgeconv.algorithms.base import Algorithm
from edgeconv.algorithms.problem import problem_of
from edgeconv.errors import EdgeconvError, Exit
from edgeconv.ir.choice import Layer
from edgeconv.ir.graph import Graph, Node
from edgeconv.ops.base import LayoutOption
from edgeconv.registry import lookup, scan
from edgeconv.targets import Target


@cache
def algorithms() -> dict[str, Algorithm]:
    """Algorithm name -> Algorithm."""
    return scan(sys.modules[__name__], "ALGORITHM", Algorithm)


def applicable(node: Node, graph: Graph, target: Target) -> list[Algorithm]:
    """The algorithms that can compute ``node``, cheapest first."""
    problem = problem_of(node, graph)
    fitting = [entry for entry in algorithms().values() if entry.applies(problem, target)]
    return sorted(fitting, key=lambda entry: entry.cost(problem, target))


def select(node: Node, graph: Graph, target: Target) -> Algorithm:
    """The algorithm named by the node's ``algorithm`` attribute, else the cheapest.

    Raises EdgeconvError when the named one does not exist or cannot compute this convolution, and
    when no algorithm can on this target.
    """
    fitting = applicable(node, graph, target)
    wanted = node.attrs.get("algorithm")
    if not fitting:
        raise EdgeconvError(
            "no convolution algorithm",
            where=node.name,
            got=f"ISA {target.name}",
            rule="its register tile has no convolution kernel yet",
            hint='use a board of another ISA, or isa = "portable" in the board file',
        )
    if wanted is None:
        return fitting[0]
    chosen = lookup("convolution algorithm", wanted, algorithms())
    if chosen not in fitting:
        raise EdgeconvError(
            "algorithm does not apply",
            where=node.name,
            got=repr(wanted),
            hint=f"here: {', '.join(entry.name for entry in fitting)}",
            code=Exit.USAGE,
        )
    return chosen


def layouts(node: Node, graph: Graph, target: Target) -> Sequence[LayoutOption]:
    """Layout options of the selected algorithm."""
    return select(node, graph, target).layouts(node, graph, target)


def lower(node: Node, graph: Graph, target: Target) -> Layer:
    """Kernel call of the selected algorithm."""
    return select(node, graph, target).lower(node, graph, target)
