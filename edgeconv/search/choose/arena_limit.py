"""What picks need of the arena: RAM as a limit of the program of picks.

Whatever the order of execution, while a node is computed there live what it reads and writes, its
workspace, and every tensor that was written before and is read afterwards because of what depends
on what.  Bytes that may be shared count once at most, so that no plan of the same picks needs less.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from edgeconv.ir.choice import Alias, Layer, tensor_bytes
from edgeconv.ir.encoding import Encoding
from edgeconv.ir.graph import Graph
from edgeconv.ir.layout import ROW_MAJOR, Layout

View = tuple[Encoding, Layout]  # a tensor as a kernel meets it


@dataclass(frozen=True, slots=True)
class Room:
    """``bytes`` of arena, of which everything takes multiples of ``align``.  ``caller``: inputs and
    outputs of the network lie elsewhere."""

    bytes: int
    align: int
    caller: bool

    def taken(self, size: int) -> int:
        """The bytes that something of ``size`` bytes takes."""
        return -(-size // self.align) * self.align


class Needs:
    """What the picks need of the nodes of ``graph`` by number, of which ``free`` tensors may be
    encoded so.

    ``aliases``: by node those that its kernels may offer.
    """

    def __init__(
        self,
        graph: Graph,
        room: Room,
        free: Mapping[str, Encoding],
        aliases: Sequence[Sequence[Alias]],
    ) -> None:
        self.graph, self.room, self._free = graph, room, free
        self._moving = {name for name, t in graph.tensors.items() if not t.is_constant}
        self._writer = {name: i for i, node in enumerate(graph.nodes) for name in node.outputs}
        self._readers: dict[str, set[int]] = {name: set() for name in graph.tensors}
        for number, node in enumerate(graph.nodes):
            for name in node.reads():
                self._readers[name].add(number)
        self._before = self._ancestors()
        self._ports = {*graph.input_ports, *graph.output_ports}
        self._outside = self._of_caller(aliases) if room.caller else set()
        ports = (graph[name] for name in self._ports)
        self._largest = max((tensor_bytes(port) for port in ports), default=0)
        self._same = self._shared(aliases)

    def _ancestors(self) -> list[int]:
        """By node: the mask of those whose results it needs, directly or not."""
        found: list[int] = []
        for node in self.graph.nodes:
            mask = 0
            for name in node.reads():
                if (writer := self._writer.get(name)) is not None:
                    mask |= found[writer] | 1 << writer
            found.append(mask)
        return found

    def _of_caller(self, aliases: Sequence[Sequence[Alias]]) -> set[str]:
        """Tensors that may lie in the caller's memory, if they are no larger than what does."""
        found = {*self._ports}
        for alias in chain.from_iterable(reversed(aliases)):
            if alias.output in found:
                found.add(alias.input)
        for alias in chain.from_iterable(aliases):
            if alias.exact and alias.input in found:
                found.add(alias.output)
        return found & self._moving

    def _shared(self, aliases: Sequence[Sequence[Alias]]) -> dict[str, str]:
        """By tensor a name for all that may hold the same bytes."""
        above: dict[str, str] = {}

        def top(name: str) -> str:
            while name in above:
                name = above[name]
            return name

        for alias in chain.from_iterable(aliases):
            inner, outer = top(alias.inner), top(alias.outer)
            if alias.exact and inner != outer:
                above[inner] = outer
        return {name: top(name) for name in self._moving}

    def bytes(self, name: str, view: View) -> int:
        """The bytes of a tensor in memory as ``view``; none where it may be the caller's."""
        encoding, layout = view
        tensor = self.graph[name]
        size = tensor_bytes(replace(tensor, storage=encoding, layout=layout))
        if name in self._ports:
            as_given = layout.canonical(tensor.shape) == ROW_MAJOR.canonical(tensor.shape)
        else:
            as_given = size <= self._largest
        if name not in self._moving or (name in self._outside and as_given):
            return 0
        return self.room.taken(size)

    def least(self, name: str) -> int:
        """The fewest bytes of a tensor in memory, whatever is picked."""
        encodings = {self.graph[name].storage}
        if name in self._free:
            encodings.add(self._free[name])
        return min(self.bytes(name, (each, ROW_MAJOR)) for each in encodings)

    def own(self, number: int, layer: Layer, views: Mapping[str, View]) -> int:
        """While ``layer`` computes the node, its tensors in ``views``, without what passes by."""
        node = self.graph.nodes[number]
        sizes = {name: self.bytes(name, view) for name, view in views.items()}
        reads = sum(sizes[name] for name in {*node.reads()} & sizes.keys())
        writes = sum(sizes[name] for name in {*node.outputs} & sizes.keys())
        workspace = self.room.taken(layer.workspace_bytes)
        if any(alias.exact for alias in layer.aliases):
            return max(reads, writes) + workspace
        saved: dict[str, int] = {}
        for alias in layer.aliases:
            if not self._kept(alias.input, number):
                both = sizes.get(alias.input, 0), sizes.get(alias.output, 0)
                saved[alias.output] = max(saved.get(alias.output, 0), min(both))
        return reads + writes - sum(saved.values()) + workspace

    def _kept(self, name: str, number: int) -> bool:
        """Whether a tensor is read after the node in any order."""
        return any(self._before[reader] >> number & 1 for reader in self._readers.get(name, ()))

    def passing(self, number: int, reader: int | None = None) -> list[str]:
        """Tensors that live while the node is computed, or from its end to the beginning of
        ``reader``, beside those that are touched then; of those that may share bytes one."""
        nodes = self.graph.nodes
        until = number if reader is None else reader
        own = (
            {*nodes[number].outputs}
            if reader is not None
            else {
                *nodes[number].reads(),
                *nodes[number].outputs,
            }
        )
        touched = {self._same[name] for name in own & self._moving}
        found: dict[str, str] = {}
        for name in self._moving - own:
            writer = self._writer.get(name)
            if writer is None:
                given = name in self._ports and self.room.caller
                written = not given and name in self.graph.inputs
            else:
                written = bool(self._before[number] >> writer & 1)
            if not written or self._same[name] in touched:
                continue
            late = (
                each == reader or self._before[each] >> until & 1 for each in self._readers[name]
            )
            if name in self.graph.outputs or any(late):
                key = self._same[name]
                if key not in found or (self.least(name), name) > (
                    self.least(found[key]),
                    found[key],
                ):
                    found[key] = name
        return sorted(found.values())
