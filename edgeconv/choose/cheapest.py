"""The cheapest ways to run a network, and which of its tensors are int8 then."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from edgeconv.choose.assignment import Assignment, alone
from edgeconv.choose.pbqp import Optimum, minimise
from edgeconv.choose.prices import Prices
from edgeconv.choose.program import Pick, Program
from edgeconv.choose.room import Room
from edgeconv.encoding import Encoding
from edgeconv.ir.choice import Search
from edgeconv.ir.graph import Graph


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
    no room.
    """
    program = Program(graph, prices, free, flash, room, ports)
    optimum = minimise(program.problem)
    if optimum.bound == np.inf:
        program = Program(graph, prices, free, ports=ports)
        optimum = minimise(program.problem)
    found = []
    if optimum.picked is not None:
        picks = zip(program.picks, optimum.picked, strict=False)  # behind the nodes: their tensors
        found = [_assigned(graph, prices, [own[number] for own, number in picks], ports)]
    if optimum.picked is None or (optimum.gap > 0 and room is None):
        found += _descended(graph, prices, free, ports)
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
    found = [Assignment(graph, prices, alone, ports)]
    if free:
        found.append(Assignment(_stored(graph, free), prices, alone, ports))
    for each in found:
        each.descend()
    return found


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
