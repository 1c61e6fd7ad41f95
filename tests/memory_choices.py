"""Small programs for the memory planner's tests: layers without kernels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from edgeconv.ir.choice import Alias, Choice, Layer
from edgeconv.ir.graph import KEEP, Graph, Node, State, Tensor
from edgeconv.ir.memory import MemoryMap
from edgeconv.ir.states import WINDOW
from edgeconv.ir.step import Divides, Step, alone, least_rings
from edgeconv.ir.work import Work

NO_WORK = Work(0, 0, 0, 0)


@dataclass(frozen=True)
class Link:
    """A layer that streams rows: its result has rows of ``width`` bytes."""

    divides: Divides
    width: int
    workspace: int = 0


@dataclass
class Net:
    """Builds a Choice layer by layer; sizes are bytes, every tensor is int8 unless stated."""

    align: int = 1
    io: str = "arena"
    tensors: dict[str, Tensor] = field(default_factory=dict)
    layers: list[Layer] = field(default_factory=list)
    inputs: list[str] = field(default_factory=list)
    streaming: list[Step] = field(default_factory=list)  # of several layers
    states: list[State] = field(default_factory=list)

    def tensor(self, name: str, size: int, dtype: str = "int8") -> str:
        self.tensors[name] = Tensor(name, (size // np.dtype(dtype).itemsize,), dtype)
        return name

    def input(self, name: str, size: int, dtype: str = "int8") -> str:
        self.inputs.append(self.tensor(name, size, dtype))
        return name

    def layer(
        self,
        output: str,
        size: int,
        *reads: str,
        aliases: tuple[Alias, ...] = (),
        workspace: int = 0,
        dtype: str = "int8",
    ) -> str:
        """A layer that computes ``output`` from ``reads``."""
        self.tensor(output, size, dtype)
        node = Node(f"make_{output}", "Test", reads, (output,))
        self.layers.append(
            Layer(node, "test", "", {}, (), (), NO_WORK, aliases=aliases, workspace_bytes=workspace)
        )
        return output

    def keep(self, state: str, made: str, *, window: bool = False) -> str:
        """Have the next run find ``made`` as input ``state``; all who read that come before.
        ``window``: it is a part of one."""
        output, size = f"{state}'", self.bytes(state)
        alias = Alias(made, output, made, exact=True)
        self.layer(output, size, made, aliases=(alias,), dtype=self.dtype(state))
        node = replace(self.layers[-1].node, op=KEEP, attrs={WINDOW: window})
        self.layers[-1] = replace(self.layers[-1], node=node)
        self.states.append(State(state, output))
        return output

    def in_place(self, output: str, victim: str, *reads: str) -> str:
        """An element-wise layer that may overwrite ``victim``, one of ``reads`` or the only one."""
        offer = (Alias(victim, output, victim),)
        size, dtype = self.bytes(victim), self.dtype(victim)
        return self.layer(output, size, *(reads or (victim,)), aliases=offer, dtype=dtype)

    def over(self, output: str, size: int, source: str, apart: int) -> str:
        """A layer whose result may lie ``apart`` bytes before what it reads."""
        offer = (Alias(source, source, output, apart),)
        return self.layer(output, size, source, aliases=offer, dtype=self.dtype(source))

    def rows(self, name: str, count: int, width: int, *reads: str) -> str:
        """A layer whose result has ``count`` rows of ``width`` bytes."""
        self.layer(name, count * width, *reads)
        self.tensors[name] = Tensor(name, (count, width), "int8")
        return name

    def concat(self, output: str, *reads: str) -> str:
        """A Concat of contiguous parts."""
        aliases, size = [], 0
        for name in reads:
            aliases.append(Alias(name, name, output, size, exact=True))
            size += self.bytes(name)
        return self.layer(output, size, *reads, aliases=tuple(aliases), dtype=self.dtype(reads[0]))

    def view(self, output: str, of: str, offset: int = 0, size: int | None = None) -> str:
        """A Reshape or a contiguous Slice."""
        size = self.bytes(of) - offset if size is None else size
        alias = Alias(of, output, of, offset, exact=True)
        return self.layer(output, size, of, aliases=(alias,), dtype=self.dtype(of))

    def chain(
        self,
        output: str,
        source: str,
        links: Sequence[Link],
        stream_rows: int,
        *,
        slack: int = 0,
        workers: int = 1,
        residual: str = "",
        apart: int = -1,
    ) -> str:
        """A step of several layers, the last of which makes ``output``; rings have ``slack`` rows
        more than they need.  ``residual``: of the result's size, read by the last layer, which may
        overwrite it.  ``apart``: the result may lie so many bytes before ``source``, -1: not."""
        rings = (*least_rings([link.divides for link in links], stream_rows), 0)
        first, read = len(self.layers), source
        for i, (link, ring) in enumerate(zip(links, rings, strict=True)):
            rows, last = link.divides.rows, i == len(links) - 1
            name = output if last else f"{output}.{i}"
            kept = min(rows, ring + slack) if ring else 0
            self.tensors[name] = Tensor(name, (rows, link.width), "int8", ring=kept)
            reads = (read, residual) if last and residual else (read,)
            node = Node(f"make_{name}", "Test", reads, (name,))
            own = Layer(node, "test", "", {}, (), (), NO_WORK, workspace_bytes=link.workspace)
            offer = (Alias(residual, name, residual),) if last and residual else ()
            if last and apart >= 0:
                offer = (Alias(source, source, name, apart),)
            self.layers.append(replace(own, divides=link.divides, aliases=offer))
            read = name
        self.streaming.append(Step(tuple(range(first, len(self.layers))), stream_rows, workers))
        return output

    def steps(self) -> tuple[Step, ...]:
        several = {step.layers[0]: step for step in self.streaming}
        inside = {layer for step in self.streaming for layer in step.layers}
        each = alone(len(self.layers))
        return tuple(
            several.get(i, each[i]) for i in range(len(each)) if i in several or i not in inside
        )

    def choice(self, *outputs: str) -> Choice:
        nodes = tuple(layer.node for layer in self.layers)
        made = (*outputs, *(state.output for state in self.states))
        graph = Graph("test", nodes, self.tensors, tuple(self.inputs), made)
        graph = replace(graph, states=tuple(self.states))
        return Choice(graph, tuple(self.layers), "test", self.align, self.io, self.steps())

    def bytes(self, name: str) -> int:
        return self.tensors[name].elements * self.item(name)

    def dtype(self, name: str) -> str:
        return self.tensors[name].dtype

    def item(self, name: str) -> int:
        """Bytes of an element."""
        return np.dtype(self.dtype(name)).itemsize


def scheduled(tensors: Sequence[tuple[int, int, int]]) -> Choice:
    """Tensors of given (bytes, first step, last step), in an order that nothing can change.

    Tokens of no bytes chain the layers.
    """
    net = Net(io="caller")
    names = [f"t{i}" for i in range(len(tensors))]
    for name, (size, _, _) in zip(names, tensors, strict=True):
        net.tensor(name, size)
    for step in range(max(last for _, _, last in tensors) + 1):
        net.tensor(f"token{step}", 0)
        both = list(zip(names, tensors, strict=True))
        reads = [name for name, (_, first, last) in both if first < last == step]
        writes = [name for name, (_, first, _) in both if first == step]
        before = [f"token{step - 1}"] if step else []
        node = Node(f"step{step}", "Test", (*before, *reads), (f"token{step}", *writes))
        net.layers.append(Layer(node, "test", "", {}, (), (), NO_WORK))
    return net.choice()


def granted(choice: Choice, memory_map: MemoryMap, output: str) -> set[str]:
    """The inputs with which the layer that writes ``output`` shares bytes."""
    return {
        choice.layers[i].aliases[k].input
        for i, k in memory_map.granted
        if choice.layers[i].node.output == output
    }
