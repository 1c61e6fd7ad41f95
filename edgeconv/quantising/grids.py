"""Which tensors of a float32 network are rounded to eight bits, and which of them alike."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from edgeconv.choose.storage import storable
from edgeconv.ir.graph import Graph, Node
from edgeconv.ir.grids import moved, moves
from edgeconv.lowering.options import Stored
from edgeconv.ops import operators
from edgeconv.storage.base import FLOAT32
from edgeconv.targets import Target


@dataclass(frozen=True, slots=True)
class Places:
    """``groups``: tensors that are rounded as soon as they are written, those together that share a
    grid.  ``carried``: what only moves such numbers, and the member of a group that it is like."""

    groups: tuple[tuple[str, ...], ...]
    carried: Mapping[str, str]

    @property
    def tensors(self) -> tuple[str, ...]:
        """All that are rounded."""
        return tuple(name for group in self.groups for name in group)

    def grid_of(self) -> dict[str, str]:
        """Tensor on a grid -> the first of its group."""
        first = {name: group[0] for group in self.groups for name in group}
        return {**first, **{name: first[like] for name, like in self.carried.items()}}


def places(graph: Graph, target: Target) -> Places:
    """Every result that kernels can keep as int8, and the inputs of the graph that they can read
    so.

    What moves numbers, such as Reshape or a Concat, rounds nothing itself: its operands share a
    grid.
    """
    able = frozenset(storable(graph, target))
    shared = _Shared()
    carried: dict[str, str] = {}
    readers = graph.consumers()
    for name in graph.inputs:
        reads = all(Stored.READS in operators()[node.op].stored for node in readers[name])
        if graph[name].dtype == FLOAT32 and readers[name] and reads:
            shared.add(name)
    for node in graph.nodes:
        sources = _sources(node, graph)
        if sources and all(name in shared for name in sources):
            for name in (*sources[1:], node.output):
                shared.join(sources[0], name)
            carried[node.output] = sources[0]
        elif node.output in able:
            shared.add(node.output)
    groups = tuple(tuple(n for n in group if n not in carried) for group in shared.groups())
    return Places(groups, carried)


def _sources(node: Node, graph: Graph) -> tuple[str, ...]:
    """What a node only moves; nothing where it does more, or takes in constants."""
    if not moves(node):
        return ()
    names = moved(node)
    padded = node.op == "Pad" and float(node.attrs.get("value", 0.0)) != 0.0
    constants = any(graph[name].is_constant for name in names)
    return () if padded or constants else names


class _Shared:
    """Disjoint sets of names, in the order in which they came."""

    def __init__(self) -> None:
        self._set: dict[str, list[str]] = {}

    def __contains__(self, name: str) -> bool:
        return name in self._set

    def add(self, name: str) -> None:
        self._set.setdefault(name, [name])

    def join(self, one: str, other: str) -> None:
        self.add(other)
        first, second = self._set[one], self._set[other]
        if first is not second:
            first.extend(second)
            self._set |= dict.fromkeys(second, first)

    def groups(self) -> Iterable[list[str]]:
        return {id(names): names for names in self._set.values()}.values()
