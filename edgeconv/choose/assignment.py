"""What every node of a network is picked to do, and what that costs.

Every node offers its ways; a tensor has the layout of the way of the node that writes it, and a
reader that wants another one reads a converted copy, made once for all such readers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from edgeconv.choose.prices import Prices, Way
from edgeconv.encoding import Encoding
from edgeconv.ir.graph import Graph, Node
from edgeconv.ir.layout import ROW_MAJOR, Layout

MOST_SWEEPS = 20
_GAIN = 1e-9  # of the cost: what less than that saves is no improvement, but rounding

Pick = Callable[[Sequence[Way]], Way]


def alone(ways: Sequence[Way]) -> Way:
    """The cheapest, neighbours aside."""
    return min(ways, key=lambda way: way.cost)


class Assignment:
    """The way picked for each node so far, and what a change would cost.

    ``start`` picks the first ones.
    """

    def __init__(self, graph: Graph, prices: Prices, start: Pick = alone) -> None:
        self.graph, self.prices = graph, prices
        self.picked: dict[str, Way] = {}
        self.layout: dict[str, Layout] = dict.fromkeys(graph.tensors, ROW_MAJOR)
        # How many reads want each tensor in each layout.  Kept as options are picked: asking all
        # readers again for each option is quadratic in a Concat or Sum of thousands of inputs.
        self.wanted: dict[str, Counter[Layout]] = {name: Counter() for name in graph.tensors}
        for name in graph.outputs:
            self.wanted[name][ROW_MAJOR] += 1  # the caller reads it too
        for node in graph.nodes:
            self.pick(node, start(self.ways(node)))

    def ways(self, node: Node) -> Sequence[Way]:
        """Those of ``node`` with its tensors in the formats that they have now."""
        return self.prices.ways(node, self.graph)

    def pick(self, node: Node, way: Way) -> None:
        """Have ``node`` computed so."""
        if before := self.picked.get(node.name):
            for name, layout in zip(node.reads(), before.reads, strict=True):
                self.wanted[name] -= Counter({layout: 1})  # what nobody wants is dropped
        for name, layout in zip(node.reads(), way.reads, strict=True):
            self.wanted[name][layout] += 1
        self.picked[node.name] = way
        self.layout.update(zip(node.outputs, way.writes, strict=True))

    def conversion(self, name: str, have: Layout, want: Layout) -> float:
        """What it costs to copy a tensor into another layout."""
        return self.prices.conversion(self.graph[name], have, want)

    def cost(self, node: Node, way: Way, look_ahead: bool) -> float:
        """What ``way`` costs with the neighbours as they are now."""
        total = way.cost
        own = Counter(zip(node.reads(), self.picked[node.name].reads, strict=True))
        for name, want in zip(node.reads(), way.reads, strict=True):
            if self.wanted[name][want] == own[name, want]:  # else that conversion exists anyhow
                total += self.conversion(name, self.layout[name], want)
        if look_ahead:
            for name, have in zip(node.outputs, way.writes, strict=True):
                for want in self.wanted[name]:
                    total += self.conversion(name, have, want)
        return total

    def sweep(self, nodes: Iterable[Node], look_ahead: bool = True) -> bool:
        """Improve every one of these once; whether anything changed."""
        changed = False
        for node in nodes:
            current, ways = self.picked[node.name], self.ways(node)
            best = min(ways, key=lambda way: self.cost(node, way, look_ahead))
            if self.cost(node, best, look_ahead) < self.cost(node, current, look_ahead):
                self.pick(node, best)
                changed = True
        return changed

    def descend(self, nodes: Sequence[Node]) -> None:
        """Pass over these nodes in order, give each the way that is cheapest with its neighbours as
        they are, until nothing changes."""
        for _ in range(MOST_SWEEPS):
            if not self.sweep(nodes):
                break

    def total(self, nodes: Sequence[Node]) -> float:
        """What these nodes cost, and the conversions of every tensor that they touch."""
        names = dict.fromkeys(n for node in nodes for n in (*node.reads(), *node.outputs) if n)
        return sum(self.picked[node.name].cost for node in nodes) + sum(
            self.conversion(name, self.layout[name], want)
            for name in names
            for want in self.wanted[name]
        )

    def improves(
        self,
        region: Sequence[Node],
        forced: Mapping[str, Way] | None = None,
        stored: Mapping[str, Encoding] | None = None,
    ) -> bool:
        """Whether ``region`` is cheaper with the nodes ``forced`` to those ways, or tensors
        ``stored`` so, and the rest of it as is best then: it is left so, else as it was.

        All nodes that touch tensors of ``stored`` are in ``region``.
        """
        before, graph = self.total(region), self.graph
        undo = [(node, self.picked[node.name]) for node in region]
        forced, stored = forced or {}, stored or {}
        self.graph = graph.with_tensors(
            {name: replace(graph[name], storage=as_) for name, as_ in stored.items()}
        )
        free = [node for node in region if node.name not in forced]
        for node in region:  # ways of other formats are others
            least = min(self.ways(node), key=lambda way: self.cost(node, way, look_ahead=True))
            self.pick(node, forced.get(node.name, least))
        self.descend(free)
        self.sweep(region)
        if self.total(region) < before * (1 - _GAIN):
            return True
        self.graph = graph
        for node, way in undo:
            self.pick(node, way)
        return False
