"""The cheapest ways to run a network, and which of its tensors are int8 then."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from edgeconv.base.errors import EdgeconvError
from edgeconv.ir.choice import Search
from edgeconv.ir.encoding import FLOAT32, Encoding
from edgeconv.ir.graph import Graph, Node
from edgeconv.ir.requantisation import EXACT
from edgeconv.search.choose.arena_limit import Room
from edgeconv.search.choose.assignment import Assignment, alone
from edgeconv.search.choose.pbqp import Optimum, minimise
from edgeconv.search.choose.prices import Prices
from edgeconv.search.choose.program import Pick, Program
from edgeconv.search.choose.storage import has_storage


def cheapest(
    graph: Graph,
    prices: Prices,
    free: Mapping[str, Encoding],
    flash: float = np.inf,
    room: Room | None = None,
    ports: frozenset[str] = frozenset(),
) -> tuple[Assignment, Search]:
    """The ways of all nodes, and the encodings of the tensors ``free``: those given, or float32.

    ``ports``: inputs and outputs that may have any layout that pads nothing.
    ``flash``: bytes that constants may take, ``room``: what there is of the arena; they are no
    limits where nothing is within them.  Nothing costs less, unless the time ended (`Search.gap`):
    then it is the cheapest of what the program found by then and of coordinate descents, which know
    no room.  Raises EdgeconvError, naming the node, where one has no way at all.
    """
    program = Program(graph, prices, free, flash, room, ports)
    optimum = minimise(program.problem)
    if optimum.bound == np.inf:
        program = Program(graph, prices, free, ports=ports)
        optimum = minimise(program.problem)
    for node, ways in zip(graph.nodes, program.picks, strict=True):
        if not ways:
            raise _without_way(node, graph)
    found = []
    if optimum.picked is not None:
        picks = zip(program.picks, optimum.picked, strict=False)  # behind the nodes: their tensors
        found = [_assigned(graph, prices, [own[number] for own, number in picks], ports)]
    if optimum.picked is None or (optimum.gap > 0 and room is None):
        found += _descended(graph, prices, free, ports)
    if not found:
        raise EdgeconvError(
            "no kernels fit together",
            rule="every node has some, but what one writes as integers another reads as float32",
            hint="--storage LAYER:output=float32 for the results between them",
        )
    best = min(found, key=Assignment.total)
    return best, _search(program, optimum, best.total())


def _assigned(
    graph: Graph, prices: Prices, picks: Sequence[Pick], ports: frozenset[str]
) -> Assignment:
    stored = {name: as_ for pick in picks for name, as_ in pick.stored.items()}
    ways = {node.name: pick.way for node, pick in zip(graph.nodes, picks, strict=True)}
    return Assignment(_stored(graph, stored), prices, lambda node, _: ways[node.name], ports)


def _descended(
    graph: Graph, prices: Prices, free: Mapping[str, Encoding], ports: frozenset[str]
) -> list[Assignment]:
    """From every tensor as it is, and from all in the encodings ``free``, where nodes have ways."""
    starts = (graph, _stored(graph, free)) if free else (graph,)
    found = [
        Assignment(start, prices, alone, ports)
        for start in starts
        if all(prices.ways(node, start) for node in start.nodes)
    ]
    for each in found:
        each.descend()
    return found


def _without_way(node: Node, graph: Graph) -> EdgeconvError:
    """What to tell of a node that no kernel computes as everything about it is asked for."""
    stored = {n: graph[n].storage for n in (*node.reads(), *node.outputs) if n}
    rounded = [name for name, storage in stored.items() if storage != FLOAT32]
    asked = {
        f"--algorithm {node.name}={node.request.algorithm}": bool(node.request.algorithm),
        "--storage of its filters": has_storage(node),
        f"--storage of {', '.join(map(repr, rounded))}": bool(rounded),
        f"--requantise {graph.requantise}": graph.requantise != EXACT,
    }
    given = [option for option, holds in asked.items() if holds]
    return EdgeconvError(
        "no kernel computes a node as it is asked for",
        where=node.name,
        got=node.op,
        rule=f"none is within {', '.join(given)}" if given else "none takes its tensors",
        hint="leave one of these out, or cut the network in front of it with --output",
    )


def _stored(graph: Graph, encodings: Mapping[str, Encoding]) -> Graph:
    return graph.with_tensors(
        {name: replace(graph[name], storage=as_) for name, as_ in encodings.items()}
    )


def _search(program: Program, optimum: Optimum, cost: float) -> Search:
    problem, bound = program.problem, optimum.bound
    gap = (cost - bound) / cost if optimum.picked is None or optimum.gap > 0 else 0.0
    left = optimum.nodes, optimum.edges
    gap = max(0.0, gap) if cost else 0.0
    return Search(len(problem.costs), len(problem.edges), *left, gap, cost)
