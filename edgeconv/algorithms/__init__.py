"""The convolution algorithms, and the choice among them for one node."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from functools import cache

from edgeconv.algorithms.base import Algorithm
from edgeconv.algorithms.problem import problem_of
from edgeconv.encoding import FLOAT32
from edgeconv.errors import EdgeconvError, Exit
from edgeconv.ir.choice import Layer
from edgeconv.ir.graph import Graph, Node
from edgeconv.ops.base import LayoutOption, Stored
from edgeconv.registry import lookup, scan
from edgeconv.targets import Target

# Elements that a core moves between layouts in the time of one multiply-add slot: a slot is half a
# cycle or a cycle, and a conversion streams about two elements per cycle through L2.
ELEMENTS_PER_SLOT = 2.0


@cache
def algorithms() -> dict[str, Algorithm]:
    """Algorithm name -> Algorithm."""
    return scan(sys.modules[__name__], "ALGORITHM", Algorithm)


def applicable(node: Node, graph: Graph, target: Target) -> list[Algorithm]:
    """The algorithms that can compute ``node``, cheapest first."""
    problem, needs = problem_of(node, graph), _needs(node, graph)
    fitting = [
        entry
        for entry in algorithms().values()
        if needs in entry.stored and entry.applies(problem, target)
    ]
    return sorted(fitting, key=lambda entry: entry.cost(problem, target))


def _needs(node: Node, graph: Graph) -> Stored:
    """What a kernel for ``node`` must do with tensors that are not float32 in memory."""
    read = {graph[name].storage for name in node.reads()} - {FLOAT32}
    written = {graph[name].storage for name in node.outputs} - {FLOAT32}
    return (Stored.READS if read else Stored.NOTHING) | (
        Stored.WRITES if written else Stored.NOTHING
    )


def candidates(node: Node, graph: Graph, target: Target) -> list[Algorithm]:
    """Those that the layout search may pick from, cheapest first: the one that the node's
    ``algorithm`` attribute names, else all applicable ones that compute in float32.

    Raises EdgeconvError when the named one does not exist or cannot compute this convolution.
    """
    fitting = applicable(node, graph, target)
    wanted = node.attrs.get("algorithm")
    if wanted is None:
        return [entry for entry in fitting if not entry.filters_as]
    chosen = lookup("convolution algorithm", wanted, algorithms())
    if chosen not in fitting:
        raise EdgeconvError(
            "algorithm does not apply",
            where=node.name,
            got=repr(wanted),
            rule=chosen.requires,
            hint=f"here: {', '.join(entry.name for entry in fitting)}",
            code=Exit.USAGE,
        )
    return [chosen]


def layouts(node: Node, graph: Graph, target: Target) -> Sequence[LayoutOption]:
    """Layout options of all candidates; a slower algorithm's carry the difference as a penalty."""
    problem = problem_of(node, graph)
    found = candidates(node, graph, target)
    costs = [entry.cost(problem, target) for entry in found]
    return [
        replace(option, penalty=option.penalty + ELEMENTS_PER_SLOT * (cost - costs[0]))
        for cost, entry in zip(costs, found, strict=True)
        for option in entry.layouts(node, graph, target)
    ]


def select(node: Node, graph: Graph, target: Target) -> Algorithm:
    """The cheapest candidate that reads and writes the layouts decided in ``graph``."""
    reads = tuple(graph[name].layout for name in node.reads())
    writes = tuple(graph[name].layout for name in node.outputs)
    return next(
        entry
        for entry in candidates(node, graph, target)
        if any(
            (option.reads, option.writes) == (reads, writes)
            for option in entry.layouts(node, graph, target)
        )
    )


def lower(node: Node, graph: Graph, target: Target) -> Layer:
    """Kernel call of the selected algorithm."""
    return select(node, graph, target).lower(node, graph, target)
