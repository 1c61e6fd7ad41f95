"""One layout per tensor, with as little conversion as can be found (NeoCPU, Section 3.2).

Every node offers its options; a tensor has the layout of the option of the node that writes it,
and a reader that wants another one reads a converted copy, made once for all such readers.  The
options are chosen by coordinate descent: pass over the nodes in order, give each the option that
is cheapest with its neighbours as they are, until nothing changes.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from edgeconv.choose.prices import Prices, Way
from edgeconv.ir.graph import Graph, Node
from edgeconv.ir.layout import ROW_MAJOR, Layout
from edgeconv.price import Machine
from edgeconv.targets import Target

MOST_SWEEPS = 20


class _Assignment:
    """The way picked for each node so far, and what a change would cost."""

    def __init__(self, graph: Graph, target: Target, machine: Machine | None = None) -> None:
        self.graph = graph
        self.prices = Prices(graph, target, machine)
        self.ways = {node.name: self.prices.ways(node) for node in graph.nodes}
        self.picked: dict[str, Way] = {}
        self.layout: dict[str, Layout] = dict.fromkeys(graph.tensors, ROW_MAJOR)
        # How many reads want each tensor in each layout.  Kept as options are picked: asking all
        # readers again for each option is quadratic in a Concat or Sum of thousands of inputs.
        self.wanted: dict[str, Counter[Layout]] = {name: Counter() for name in graph.tensors}
        for name in graph.outputs:
            self.wanted[name][ROW_MAJOR] += 1  # the caller reads it too
        for node in graph.nodes:
            self._pick(node, min(self.ways[node.name], key=lambda way: way.cost))

    def _pick(self, node: Node, way: Way) -> None:
        if before := self.picked.get(node.name):
            for name, layout in zip(node.reads(), before.reads, strict=True):
                self.wanted[name] -= Counter({layout: 1})  # what nobody wants is dropped
        for name, layout in zip(node.reads(), way.reads, strict=True):
            self.wanted[name][layout] += 1
        self.picked[node.name] = way
        self.layout.update(zip(node.outputs, way.writes, strict=True))

    def cost(self, node: Node, way: Way, look_ahead: bool) -> float:
        """What ``way`` costs with the neighbours as they are now."""
        total = way.cost
        own = Counter(zip(node.reads(), self.picked[node.name].reads, strict=True))
        for name, want in zip(node.reads(), way.reads, strict=True):
            if self.wanted[name][want] == own[name, want]:  # else that conversion exists anyhow
                total += self.prices.conversion(name, self.layout[name], want)
        if look_ahead:
            for name, have in zip(node.outputs, way.writes, strict=True):
                for want in self.wanted[name]:
                    total += self.prices.conversion(name, have, want)
        return total

    def sweep(self, look_ahead: bool) -> bool:
        """Improve every node once; whether anything changed."""
        changed = False
        for node in self.graph.nodes:
            current = self.picked[node.name]
            best = min(self.ways[node.name], key=lambda way: self.cost(node, way, look_ahead))
            if self.cost(node, best, look_ahead) < self.cost(node, current, look_ahead):
                self._pick(node, best)
                changed = True
        return changed


def assign(graph: Graph, target: Target, machine: Machine | None = None) -> Graph:
    """Set every tensor's layout and insert the Convert nodes that are needed, at the least cost on
    ``machine`` (`Prices`).

    Graph inputs and outputs stay row-major, as the caller passes them.
    """
    assignment = _Assignment(graph, target, machine)
    assignment.sweep(look_ahead=False)
    for _ in range(MOST_SWEEPS):
        if not assignment.sweep(look_ahead=True):
            break
    return _Inserter(graph, assignment).graph_with_conversions()


class _Inserter:
    """Writes the nodes again, with a Convert where a reader wants another layout."""

    def __init__(self, graph: Graph, assignment: _Assignment) -> None:
        self.graph, self.assignment = graph, assignment
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
        """Append ``node`` with converted inputs; graph outputs end up row-major."""
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
            if name in self.graph.outputs and layout != ROW_MAJOR:
                own = self.written_as[name] = self._copy_of(name, layout)
                self.tensors[name] = replace(self.tensors[name], layout=ROW_MAJOR)
                self.converted[own, ROW_MAJOR] = name
                after.append(Node(f"convert {name}", "Convert", (own,), (name,)))
                name = own
            outputs.append(name)
        epilogue = replace(node.epilogue, residual=residual)
        self.nodes += [
            replace(
                node,
                inputs=inputs,
                outputs=tuple(outputs),
                attrs={**node.attrs, **picked.attrs},
                epilogue=epilogue,
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
