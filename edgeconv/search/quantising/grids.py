"""Which tensors of a float32 network are rounded to eight bits, and which of them alike."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from edgeconv.ir.filters import WEIGHTED
from edgeconv.ir.graph import Graph, Node
from edgeconv.ir.grids import moved, moves, rounded_to
from edgeconv.kernels.lowering.options import Stored
from edgeconv.kernels.ops import operators
from edgeconv.kernels.storage.base import FLOAT32
from edgeconv.search.choose.storage import EVERY_LAYER, INT8, by_kind, storable


@dataclass(frozen=True, slots=True)
class Places:
    """Where a network is rounded.  ``groups``: tensors that are rounded as soon as they are
    written, those together that share a grid.  ``carried``: what only moves such numbers, and the
    member of a group that it is like."""

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


@dataclass(frozen=True, slots=True)
class RequestedFormats:
    """What the user says of formats: ``outputs`` and ``layers`` (of filters), by layer.  ``owner``:
    by tensor, the layer that the user knows to write it.  ``kept``: tensors that stay float32."""

    layers: Mapping[str, str]
    outputs: Mapping[str, str]
    owner: Mapping[str, str]
    kept: frozenset[str] = frozenset()

    @classmethod
    def of(
        cls, graph: Graph, storage: Mapping[str, str], kept: frozenset[str] = frozenset()
    ) -> RequestedFormats:
        """``storage``: by the keys of ``search.choose.select``, of a network as passes leave it."""
        owner = {name: node.name for name, node in graph.producers().items()}
        return cls(*by_kind(graph, storage), owner, kept)

    @property
    def everything(self) -> bool:
        """What is not named is int8 too: no result is asked to be, or all are."""
        rest = self.outputs.get(EVERY_LAYER)
        return rest == INT8 or (rest is None and INT8 not in self.outputs.values())

    def rounds(self, tensor: str, node: Node | None) -> bool:
        """Whether a tensor may be int8; ``node``: what writes it, None of an input."""
        if tensor in self.kept:
            return False
        if node is None:
            return self.everything
        form = self.outputs.get(self.owner.get(tensor, node.name))
        return self.everything if form is None else form == INT8

    def filters(self, graph: Graph, found: Places) -> tuple[str, ...]:
        """The layers of ``graph`` whose filters are to be int8: where not everything is, those that
        read and write int8, and so where a tensor stays float32 that could be int8."""
        whole = found.grid_of()
        names = []
        for node in graph.nodes:
            if node.op in WEIGHTED:
                form = self.layers.get(node.name, self.layers.get(EVERY_LAYER, INT8))
                tensors = {node.inputs[0], node.output}
                inside = tensors <= whole.keys()
                if form == INT8 and (inside or (self.everything and not tensors & self.kept)):
                    names.append(node.name)
        return tuple(names)


def quantisable(graph: Graph) -> bool:
    """Whether a network has something to quantise to int8, and nothing that is rounded already."""
    return any(node.op in WEIGHTED for node in graph.nodes) and not rounded_to(graph)


def places(graph: Graph, wanted: RequestedFormats) -> Places:
    """Every result that kernels can keep as int8, and the inputs of the graph that they can read
    so.

    What moves numbers, such as Reshape or a Concat, rounds nothing itself: its operands share a
    grid.  What Softmax reads stays as it is: steps there are factors of all results.
    """
    writers, readers = graph.producers(), graph.consumers()
    logits = {name for name, reading in readers.items() if any(n.op == "Softmax" for n in reading)}
    able = [n for n in storable(graph) if wanted.rounds(n, writers[n]) and n not in logits]
    shared = _Shared()
    carried: dict[str, str] = {}
    for name in graph.inputs:
        reads = all(Stored.READS in operators()[node.op].stored for node in readers[name])
        may = graph[name].dtype == FLOAT32 and wanted.rounds(name, None)
        if may and readers[name] and reads:
            shared.add(name)
    for node in graph.nodes:
        sources = _sources(node, graph)
        if sources and all(name in shared for name in sources):
            for name in (*sources[1:], node.output):
                shared.join(sources[0], name)
            carried[node.output] = carried.get(sources[0], sources[0])
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
