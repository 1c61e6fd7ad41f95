"""The cheapest ways to run a network that are found, and which tensors are int8 then.

Coordinate descent over the nodes (`Assignment.descend`).  Of a quantised model it starts from
several choices, and changes several nodes at once: where kernels of int8 want other layouts than
those of float32, a Concat and its branches gain only together.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from edgeconv.choose.assignment import Assignment, alone
from edgeconv.choose.prices import Prices, Way
from edgeconv.encoding import FLOAT32, Encoding
from edgeconv.ir.graph import Graph, Node
from edgeconv.ir.layout import CHANNELS_LAST

_MOST_ROUNDS = 4
_WIDEST = 64  # tensors of a node that is changed with its neighbours: each change looks at all


def cheapest(graph: Graph, prices: Prices, free: Mapping[str, Encoding]) -> Assignment:
    """The ways of all nodes, and the encodings of the tensors ``free``: those given, or float32."""
    plain = Assignment(graph, prices)
    plain.sweep(graph.nodes, look_ahead=False)
    plain.descend(graph.nodes)
    if not free and not any(tensor.storage.affine for tensor in graph.activations()):
        return plain
    stored = {name: replace(graph[name], storage=as_) for name, as_ in free.items()}
    found = [plain]
    for start in (alone, _channels_last):
        other = Assignment(graph.with_tensors(stored), prices, start)
        other.descend(graph.nodes)
        found.append(other)
    best = min(found, key=lambda each: each.total(each.graph.nodes))
    _Moves(best, free).until_none_gains()
    return best


def _channels_last(ways: Sequence[Way]) -> Way:
    """What suits kernels of int8."""
    suited = [way for way in ways if {*way.reads, *way.writes} == {CHANNELS_LAST}]
    return alone(suited or [way for way in ways if CHANNELS_LAST in way.writes] or ways)


class _Moves:
    """Changes of several nodes of ``assignment`` at once."""

    def __init__(self, assignment: Assignment, free: Mapping[str, Encoding]) -> None:
        self.assignment, self.free = assignment, free
        self.order = {node.name: i for i, node in enumerate(assignment.graph.nodes)}
        self.touching: dict[str, list[Node]] = {name: [] for name in assignment.graph.tensors}
        for node in assignment.graph.nodes:
            for name in _tensors(node):
                self.touching[name].append(node)

    def until_none_gains(self) -> None:
        """Try all, again and again while one did."""
        narrow = [n for n in self.assignment.graph.nodes if len(_tensors(n)) <= _WIDEST]
        for _ in range(_MOST_ROUNDS):
            gained = [self._encodings(node) | self._ways(node) for node in narrow]
            if not any(gained):
                break

    def _encodings(self, node: Node) -> bool:
        """Whether it pays to have all tensors of ``node``, or one of them, in other encodings."""
        gained = False
        for change in self._changes([name for name in _tensors(node) if name in self.free]):
            touched = [each for name in change for each in self.touching[name]]
            gained |= self.assignment.improves(self._around(touched), stored=change)
        return gained

    def _changes(self, names: Sequence[str]) -> Iterator[dict[str, Encoding]]:
        graph = self.assignment.graph
        for group in (names, *([name] for name in names if len(names) > 1)):
            for as_int8 in (True, False):
                wanted = {name: self.free[name] if as_int8 else FLOAT32 for name in group}
                change = {n: as_ for n, as_ in wanted.items() if graph[n].storage != as_}
                if change:
                    yield change
                graph = self.assignment.graph

    def _ways(self, node: Node) -> bool:
        """Whether it pays to run ``node`` another way, and what is around it as suits that."""
        gained, region = False, self._around([node])
        for way in self.assignment.ways(node):
            now = self.assignment.picked[node.name]
            if (way.reads, way.writes) != (now.reads, now.writes):
                gained |= self.assignment.improves(region, forced={node.name: way})
        return gained

    def _around(self, nodes: Sequence[Node]) -> list[Node]:
        """These and all that share a tensor with one of them, in their order."""
        names = dict.fromkeys(name for node in nodes for name in _tensors(node))
        near = {each.name: each for name in names for each in self.touching[name]}
        return sorted(near.values(), key=lambda each: self.order[each.name])


def _tensors(node: Node) -> list[str]:
    """Those of ``node``, each once."""
    return list(dict.fromkeys(name for name in (*node.reads(), *node.outputs) if name))
