"""One layout per tensor, with as little conversion as can be found (NeoCPU, Section 3.2).

Every node offers its options; a tensor has the layout of the option of the node that writes it,
and a reader that wants another one reads a converted copy, made once for all such readers.  The
options are chosen by coordinate descent: pass over the nodes in order, give each the option that
is cheapest with its neighbours as they are, until nothing changes.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from edgeconv.errors import EdgeconvError
from edgeconv.ir.graph import Graph, Node, Tensor
from edgeconv.ir.layout import ROW_MAJOR, Layout
from edgeconv.lowering.options import LayoutOption
from edgeconv.ops import operators
from edgeconv.targets import Target

# A conversion reads and writes every element, against one write counted by penalties.
CONVERSION_COST = 2.0
MOST_SWEEPS = 20


def conversion_cost(tensor: Tensor, have: Layout, want: Layout) -> float:
    """Elements moved to bring ``tensor`` into another layout; 0 if its bytes are the same."""
    if tensor.is_constant or have.canonical(tensor.shape) == want.canonical(tensor.shape):
        return 0.0
    return CONVERSION_COST * max(have.elements(tensor.shape), want.elements(tensor.shape))


def options_of(node: Node, graph: Graph, target: Target) -> list[LayoutOption]:
    """The node's options; EdgeconvError when its operator has no kernel."""
    operator = operators()[node.op]
    if operator.lower is None:
        raise EdgeconvError(
            "no kernel for operator", where=node.name, got=node.op, rule=f"on {target.name}"
        )
    return list(operator.layouts(node, graph, target))


class _Assignment:
    """The option picked for each node so far, and what a change would cost."""

    def __init__(self, graph: Graph, target: Target) -> None:
        self.graph = graph
        self.options = {node.name: options_of(node, graph, target) for node in graph.nodes}
        self.picked: dict[str, LayoutOption] = {}
        self.layout: dict[str, Layout] = dict.fromkeys(graph.tensors, ROW_MAJOR)
        # How many reads want each tensor in each layout.  Kept as options are picked: asking all
        # readers again for each option is quadratic in a Concat or Sum of thousands of inputs.
        self.wanted: dict[str, Counter[Layout]] = {name: Counter() for name in graph.tensors}
        for name in graph.outputs:
            self.wanted[name][ROW_MAJOR] += 1  # the caller reads it too
        for node in graph.nodes:
            self._pick(node, self.options[node.name][0])

    def _pick(self, node: Node, option: LayoutOption) -> None:
        if before := self.picked.get(node.name):
            for name, layout in zip(node.reads(), before.reads, strict=True):
                self.wanted[name] -= Counter({layout: 1})  # what nobody wants is dropped
        for name, layout in zip(node.reads(), option.reads, strict=True):
            self.wanted[name][layout] += 1
        self.picked[node.name] = option
        self.layout.update(zip(node.outputs, option.writes, strict=True))

    def cost(self, node: Node, option: LayoutOption, look_ahead: bool) -> float:
        """Cost of ``option`` with the neighbours as they are now."""
        total = option.penalty
        own = Counter(zip(node.reads(), self.picked[node.name].reads, strict=True))
        for name, want in zip(node.reads(), option.reads, strict=True):
            if self.wanted[name][want] == own[name, want]:  # else that conversion exists anyhow
                total += conversion_cost(self.graph[name], self.layout[name], want)
        if look_ahead:
            for name, have in zip(node.outputs, option.writes, strict=True):
                for want in self.wanted[name]:
                    total += conversion_cost(self.graph[name], have, want)
        return total

    def sweep(self, look_ahead: bool) -> bool:
        """Improve every node once; whether anything changed."""
        changed = False
        for node in self.graph.nodes:
            current = self.picked[node.name]
            best = min(self.options[node.name], key=lambda o: self.cost(node, o, look_ahead))
            if self.cost(node, best, look_ahead) < self.cost(node, current, look_ahead):
                self._pick(node, best)
                changed = True
        return changed


def assign(graph: Graph, target: Target) -> Graph:
    """Set every tensor's layout and insert the Convert nodes that are needed.

    Graph inputs and outputs stay row-major, as the caller passes them.
    """
    assignment = _Assignment(graph, target)
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
        wants = self.assignment.picked[node.name].reads
        reads = iter(
            [self.read(name, want) for name, want in zip(node.reads(), wants, strict=True)]
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
            replace(node, inputs=inputs, outputs=tuple(outputs), epilogue=epilogue),
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
