"""Rewriting graphs: a mutable working copy that turns back into a frozen Graph."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any

from edgeconv.base.names import untaken
from edgeconv.ir.activation import Activation
from edgeconv.ir.graph import CHECK, Array, Epilogue, Graph, Node, Tensor, origins
from edgeconv.ir.grids import rounded_to
from edgeconv.ir.layout import Shape


def is_swept(graph: Graph) -> bool:
    """Whether `Editor.sweep` would leave ``graph`` as it is; to find out takes a fraction of what
    an Editor does."""
    read = {*graph.outputs, *(name for node in graph.nodes for name in node.reads())}
    written = {*graph.inputs}
    for node in graph.nodes:
        if node.op != CHECK and read.isdisjoint(node.outputs):
            return False
        written.update(node.outputs)
    return graph.tensors.keys() <= read | written


class Editor:
    """A graph being rewritten by a pass.

    A node is known by its position, which never changes: a removed node leaves None behind, a new
    one gets the next free position.  Execution order follows from the data flow when ``finish``
    freezes the graph; where the data flow leaves a choice the original order stands, and a new
    node runs next to the node it was inserted ``near``.  Who reads and who writes a tensor is
    indexed and kept up to date, so a pass that visits every node once takes linear time.
    ``changed`` says whether anything was edited.
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.nodes: list[Node | None] = []
        self.tensors: dict[str, Tensor] = dict(graph.tensors)
        self.outputs = frozenset(graph.outputs)
        self._rank: list[int] = []  # where execution order is free, lower ranks go first
        self._readers: dict[str, set[int]] = {}
        self._writer: dict[str, int] = {}
        self._node_names: set[str] = set()
        for rank, node in enumerate(graph.nodes):
            self._append(node, rank)
        self.changed = False

    @cached_property
    def grids(self) -> Mapping[str, Activation]:
        """`rounded_to` of the graph as it was."""
        return rounded_to(self.graph)

    def __iter__(self) -> Iterator[int]:
        """Positions of the nodes, those added meanwhile included and removed ones left out."""
        position = 0
        while position < len(self.nodes):
            if self.nodes[position] is not None:
                yield position
            position += 1

    def node(self, position: int) -> Node:
        """The node at ``position``; ValueError when it was removed."""
        found = self.nodes[position]
        if found is None:
            raise ValueError(f"node {position} was removed")
        return found

    def readers(self, name: str) -> list[int]:
        """Positions of the nodes that read ``name``, each once, epilogues included."""
        return sorted(self._readers.get(name, ()), key=self._key)

    def sole_reader(self, name: str) -> int | None:
        """The only node that reads ``name``, provided it does so once; None for graph outputs."""
        readers = self._readers.get(name, ())
        if len(readers) != 1 or name in self.outputs:
            return None
        position = next(iter(readers))
        return position if self.node(position).reads().count(name) == 1 else None

    def writer(self, name: str) -> int | None:
        """Position of the node that writes ``name``; None for inputs and constants."""
        return self._writer.get(name)

    def producer(self, name: str) -> Node | None:
        """The node that writes ``name``; None for inputs and constants."""
        position = self._writer.get(name)
        return None if position is None else self.nodes[position]

    def made_by(self, name: str, op: str) -> Node | None:
        """The node of operator ``op``, its epilogue empty, that writes ``name``."""
        node = self.producer(name)
        return node if node and node.op == op and node.epilogue.is_empty else None

    def private_writer(self, name: str, reader: int) -> int | None:
        """Position of the node that writes ``name`` for the node at ``reader`` and no other."""
        return self._writer.get(name) if self.sole_reader(name) == reader else None

    def runs_after(self, one: int, other: int) -> bool:
        """Whether ``one`` comes later than ``other`` in the order the graph had."""
        return self._key(one) > self._key(other)

    def shape(self, name: str) -> Shape:
        """The logical shape of a tensor."""
        return self.tensors[name].shape

    def constant(self, name: str) -> Array | None:
        """The value of ``name`` if it is a constant."""
        return self.tensors[name].data if name in self.tensors else None

    def scalar(self, name: str) -> float | None:
        """The value of ``name`` if it is a constant of one floating-point element."""
        value = self.constant(name)
        if value is None or value.size != 1 or value.dtype.kind != "f":
            return None
        return float(value.reshape(()).item())

    def add_constant(self, hint: str, value: Array) -> str:
        """Add a constant under a name made from ``hint``; returns the name."""
        name = self.fresh(hint)
        self.tensors[name] = Tensor(name, value.shape, str(value.dtype), data=value)
        self.changed = True
        return name

    def add_tensor(self, hint: str, shape: Shape, like: Tensor) -> str:
        """Add an activation of ``shape`` with the type of ``like``; returns its name."""
        name = self.fresh(hint)
        self.tensors[name] = Tensor(name, shape, like.dtype, storage=like.storage)
        self.changed = True
        return name

    def add_real(self, hint: str, like: str) -> str:
        """Add a float32 activation of the shape of ``like``; returns its name."""
        real = replace(self.tensors[like], dtype="float32")
        return self.add_tensor(hint, real.shape, real)

    def fresh(self, hint: str) -> str:
        """A tensor name: ``hint``, or ``hint.1``, ``hint.2``, ... when it is taken."""
        return untaken(hint, self.tensors)

    def fresh_node(self, hint: str) -> str:
        """A node name: ``hint``, or ``hint.1``, ``hint.2``, ... when it is taken."""
        return untaken(hint, self._node_names)

    def replace(self, position: int, node: Node | None) -> None:
        """Put ``node`` in place of the one at ``position`` (None removes it)."""
        self._unlink(position)
        self.nodes[position] = node
        self._link(position)
        self.changed = True

    def update(self, position: int, **fields: Any) -> None:
        """Change some fields of the node at ``position``."""
        self.replace(position, replace(self.node(position), **fields))

    def insert(self, near: int, node: Node) -> int:
        """Add ``node``, to run next to the one at ``near``; returns its position."""
        self.changed = True
        return self._append(node, self._rank[near])

    def absorb(self, producer: int, consumer: int, **fields: Any) -> None:
        """Let ``producer`` stand for ``consumer`` too: it takes over its outputs and origin.

        ``fields`` are further changes of the producer.  What it used to write is gone, so the
        consumer must have been its only reader.
        """
        last = self.node(consumer)
        origin = origins(self.node(producer), last)
        self.replace(consumer, None)
        self.update(producer, outputs=last.outputs, origin=origin, **fields)

    def rename_uses(self, old: str, new: str) -> None:
        """Let every reader of ``old``, epilogues included, read ``new`` instead."""
        for position in self.readers(old):
            node = self.node(position)
            epilogue = node.epilogue
            if epilogue.residual == old:
                epilogue = Epilogue(epilogue.before, new, epilogue.after)
            inputs = tuple(new if name == old else name for name in node.inputs)
            self.update(position, inputs=inputs, epilogue=epilogue)

    def bypass(self, position: int) -> bool:
        """Remove a node that copies its first input to its only output.

        The output's name survives where it is a graph output, the input's otherwise.  False, and
        nothing changed, when both ends belong to the caller (an input wired to an output).
        """
        node = self.node(position)
        source, target = node.inputs[0], node.output
        if target in self.outputs:
            writer = self.writer(source)
            if writer is None or source in self.outputs:
                return False
            self.replace(position, None)
            outs = tuple(target if out == source else out for out in self.node(writer).outputs)
            self.update(writer, outputs=outs)
            self.rename_uses(source, target)
        else:
            self.replace(position, None)
            self.rename_uses(target, source)
        return True

    def make_constant(self, position: int, value: Array) -> None:
        """Replace the node at ``position`` by the value of its output, which keeps its name."""
        tensor = self.tensors[self.node(position).output]
        self.replace(position, None)
        self.tensors[tensor.name] = replace(tensor, data=value)

    def sweep(self) -> None:
        """Remove the nodes whose results nothing reads, and the tensors that are left over."""
        work = list(self)
        while work:
            node = self.nodes[position := work.pop()]
            if node is None or node.op == CHECK or any(self._needed(out) for out in node.outputs):
                continue
            self.replace(position, None)
            writers = (self.writer(name) for name in node.reads())
            work.extend(writer for writer in writers if writer is not None)
        kept = self.outputs | set(self.graph.inputs)
        unread = [
            name
            for name in self.tensors
            if name not in kept and name not in self._writer and not self._readers.get(name)
        ]
        for name in unread:
            del self.tensors[name]
            self.changed = True

    def finish(self) -> Graph:
        """The frozen graph, swept and in execution order; the very same one if nothing changed."""
        self.sweep()
        if not self.changed:
            return self.graph
        return replace(self.graph, nodes=tuple(self._in_order()), tensors=self.tensors)

    def _needed(self, name: str) -> bool:
        return name in self.outputs or bool(self._readers.get(name))

    def _key(self, position: int) -> tuple[int, int]:
        return self._rank[position], position

    def _append(self, node: Node, rank: int) -> int:
        self.nodes.append(node)
        self._rank.append(rank)
        self._link(len(self.nodes) - 1)
        return len(self.nodes) - 1

    def _link(self, position: int) -> None:
        if (node := self.nodes[position]) is None:
            return
        self._node_names.add(node.name)
        for name in node.reads():
            self._readers.setdefault(name, set()).add(position)
        for name in node.outputs:
            if name:
                self._writer[name] = position

    def _unlink(self, position: int) -> None:
        if (node := self.nodes[position]) is None:
            return
        for name in node.reads():
            self._readers[name].discard(position)
        for name in node.outputs:
            if self._writer.get(name) == position:
                del self._writer[name]

    def _in_order(self) -> Iterator[Node]:
        """Kahn's topological sort; among the nodes that could run, the lowest rank goes first."""
        waits_for: dict[int, int] = {}
        for position in self:
            reads = dict.fromkeys(self.node(position).reads())
            waits_for[position] = sum(name in self._writer for name in reads)
        ready = [self._key(position) for position, count in waits_for.items() if count == 0]
        heapq.heapify(ready)
        done = 0
        while ready:
            node = self.node(heapq.heappop(ready)[1])
            yield node
            done += 1
            for name in node.outputs:
                for reader in self._readers.get(name, ()):
                    waits_for[reader] -= 1
                    if waits_for[reader] == 0:
                        heapq.heappush(ready, self._key(reader))
        if done != len(waits_for):
            raise ValueError("the rewritten graph has a cycle")
