"""A loop as one node: a body that is compiled once, and what becomes of its values from trip to
trip.

Loop: inputs trips, condition, then the first value of each state, the sequences that are scanned
and what every trip reads whole.  ``trips``: int64, how often it runs at most, "" where the body's
`Body.trips` says it; ``condition``: a bool, whether it runs at all, "" where it does.  A first
value "" is zeros.  The outputs are the body's ``results``: the last value of a state, or the rows
of all trips along a first dimension of their own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from edgeconv.ir.graph import Graph, Node
from edgeconv.ir.layout import Shape

LOOP = "Loop"
TRIPS, CONDITION, FIRST_STATE = range(3)  # places of inputs
ENDLESS = 2**31 - 1  # trips that no loop makes: a count of so many is none


@dataclass(frozen=True, eq=False)
class Body:
    """The body of a loop.

    ``graph``: its states are what the loop carries, the other inputs ``counter`` (the number of the
    trip, int64), ``scanned`` and ``given``, the other outputs ``condition`` and rows.  ``trips``:
    the most, None where nothing bounds them, or only the node's operand does.  ``results``: what
    the node's outputs are, inputs of states and rows.  ``scanned``: inputs that are, in each trip,
    the next row of a sequence; ``backwards``: of these and of the rows those that begin at the end.
    ``counter`` and ``condition``: "" where the body has none.
    """

    graph: Graph
    trips: int | None
    scanned: tuple[str, ...] = ()
    given: tuple[str, ...] = ()
    results: tuple[str, ...] = ()
    backwards: frozenset[str] = frozenset()
    counter: str = ""
    condition: str = ""

    def __repr__(self) -> str:
        return f"Body({self.graph.name!r}, {id(self)})"

    @property
    def carried(self) -> tuple[str, ...]:
        """The inputs of its states."""
        return tuple(state.input for state in self.graph.states)

    def shape(self, result: str) -> Shape:
        """The shape of the node's output that one of the ``results`` is."""
        own = self.graph[result].shape
        return own if result in self.carried else (self.trips or 0, *own)


def body_of(node: Node) -> Body:
    """The body of a Loop node."""
    found = node.attrs["body"]
    assert isinstance(found, Body), node.name
    return found


def with_body(node: Node, body: Body) -> Node:
    """``node`` with another body of the same inputs and results."""
    return replace(node, attrs={**node.attrs, "body": body})


def with_bodies(graph: Graph, rewritten: Callable[[Graph], Graph]) -> Graph:
    """``graph`` with what ``rewritten`` makes of the bodies of its loops; the same where that
    changes none."""
    nodes, changed = [], False
    for node in graph.nodes:
        if node.op == LOOP:
            body = body_of(node)
            made = rewritten(body.graph)
            if made is not body.graph:
                node, changed = with_body(node, replace(body, graph=made)), True
        nodes.append(node)
    return replace(graph, nodes=tuple(nodes)) if changed else graph
