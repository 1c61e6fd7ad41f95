"""One layout per tensor, and conversions where that is cheapest (NeoCPU, Section 3.3.2)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import inf

from edgeconv.ir.choice import Search
from edgeconv.ir.encoding import Encoding
from edgeconv.ir.graph import Graph, Node
from edgeconv.ir.layout import ROW_MAJOR, Layout
from edgeconv.search.choose.arena_limit import Room
from edgeconv.search.choose.assignment import Assignment
from edgeconv.search.choose.cheapest import cheapest
from edgeconv.search.choose.prices import Known, Prices
from edgeconv.target.price import Machine
from edgeconv.target.targets import Target


def assign(
    graph: Graph,
    target: Target,
    machine: Machine | None = None,
    free: Mapping[str, Encoding] | None = None,
    flash: float = inf,
    known: Known | None = None,
    room: Room | None = None,
    ports: frozenset[str] = frozenset(),
) -> tuple[Graph, Search]:
    """Set every tensor's layout and insert the Convert nodes that are needed, at the least cost on
    ``machine`` (`cheapest`); tensors of ``free`` are float32 or stored so.  ``flash``:
    bytes that constants may take, and ``room``: of the arena, if that can be.  ``known``: prices
    that other choices share.

    Graph inputs and outputs stay row-major, as the caller passes them, but for ``ports``: these
    have any layout that pads nothing.
    """
    prices = Prices(graph, target, machine, known)
    found, search = cheapest(graph, prices, free or {}, flash, room, ports)
    return _Inserter(found).graph_with_conversions(), search


class _Inserter:
    """Writes the nodes again, with a Convert where a reader wants another layout."""

    def __init__(self, assignment: Assignment) -> None:
        graph = self.graph = assignment.graph
        self.assignment = assignment
        self.nodes: list[Node] = []
        self.tensors = {
            name: tensor if tensor.is_constant else replace(tensor, layout=assignment.layout[name])
            for name, tensor in graph.tensors.items()
        }
        self.written_as: dict[str, str] = {}  # graph outputs that are produced in another layout
        self.converted: dict[tuple[str, Layout], str] = {}

    def _copy_of(self, name: str, want: Layout) -> str:
        copy = f"{name}:{want}"
        while copy in self.tensors:
            copy += "'"
        self.tensors[copy] = replace(self.tensors[name], name=copy, layout=want)
        return copy

    def read(self, name: str, want: Layout) -> str:
        """The tensor to read for ``name`` in layout ``want``, converted on first use."""
        name = self.written_as.get(name, name)
        if self.tensors[name].layout == want:
            return name
        if (name, want) not in self.converted:
            copy = self.converted[name, want] = self._copy_of(name, want)
            if not self.tensors[name].is_constant:
                self.nodes.append(Node(f"convert {copy}", "Convert", (name,), (copy,)))
        return self.converted[name, want]

    def rewrite(self, node: Node) -> None:
        """Append ``node`` with converted inputs; graph outputs end up as the caller takes them."""
        picked = self.assignment.picked[node.name]
        reads = iter(
            [self.read(name, want) for name, want in zip(node.reads(), picked.reads, strict=True)]
        )
        inputs = tuple(next(reads) if name else "" for name in node.inputs)
        residual = next(reads) if node.epilogue.residual else ""
        after: list[Node] = []
        outputs = []
        for name in node.outputs:
            layout = self.tensors[name].layout if name else ROW_MAJOR
            if name in self.graph.outputs and self.assignment.to_convert(name):
                own = self.written_as[name] = self._copy_of(name, layout)
                self.tensors[name] = replace(self.tensors[name], layout=ROW_MAJOR)
                self.converted[own, ROW_MAJOR] = name
                after.append(Node(f"convert {name}", "Convert", (own,), (name,)))
                name = own
            outputs.append(name)
        epilogue = replace(node.epilogue, residual=residual)
        self.nodes += [
            picked.option.picked(
                replace(node, inputs=inputs, outputs=tuple(outputs), epilogue=epilogue)
            ),
            *after,
        ]

    def graph_with_conversions(self) -> Graph:
        """The rewritten graph; tensors that nothing reads any more are gone."""
        for node in self.graph.nodes:
            self.rewrite(node)
        used = {name for node in self.nodes for name in (*node.reads(), *node.outputs)}
        keep = used | set(self.graph.inputs) | set(self.graph.outputs)
        tensors = {name: tensor for name, tensor in self.tensors.items() if name in keep}
        return replace(self.graph, nodes=tuple(self.nodes), tensors=tensors)
