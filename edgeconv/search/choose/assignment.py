"""What every node of a network is picked to do, and what that costs.

Every node offers its ways; a tensor has the layout of the way of the node that writes it, and a
reader that wants another one reads a converted copy, made once for all such readers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial

from edgeconv.ir.graph import Graph, Node
from edgeconv.ir.layout import ROW_MAJOR, Layout
from edgeconv.search.choose.prices import Prices, Way

MOST_SWEEPS = 20

First = Callable[[Node, Sequence[Way]], Way]


def alone(node: Node, ways: Sequence[Way]) -> Way:
    """The cheapest, neighbours aside."""
    del node
    return min(ways, key=lambda way: way.cost)


class Assignment:
    """The way picked for each node so far, and what a change would cost.

    ``first`` picks the first ones.  ``ports``: inputs and outputs whose layout is free, if it pads
    nothing.
    """

    def __init__(
        self,
        graph: Graph,
        prices: Prices,
        first: First = alone,
        ports: frozenset[str] = frozenset(),
    ) -> None:
        self.graph, self.prices, self.ports = graph, prices, ports
        self.picked: dict[str, Way] = {}
        self.layout: dict[str, Layout] = dict.fromkeys(graph.tensors, ROW_MAJOR)
        # How many reads want each tensor in each layout.  Kept as options are picked: asking all
        # readers again for each option is quadratic in a Concat or Sum of thousands of inputs.
        self.wanted: dict[str, Counter[Layout]] = {name: Counter() for name in graph.tensors}
        for name in graph.outputs:
            if name not in ports:
                self.wanted[name][ROW_MAJOR] += 1  # the caller reads it too
        for node in graph.nodes:
            self.pick(node, first(node, self.ways(node)))
        self._settle_inputs()

    def ways(self, node: Node) -> Sequence[Way]:
        """The ways of ``node`` with its tensors in the formats that they have now."""
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

    def to_convert(self, name: str) -> bool:
        """Whether an output is converted for the caller."""
        layout = self.layout[name]
        return layout != ROW_MAJOR and not (
            name in self.ports and layout.fits(self.graph[name].shape)
        )

    def _settle_inputs(self) -> None:
        """Have the caller give what is free in the layout from which readers convert least."""
        for name in self.graph.inputs:
            if name in self.ports:
                wanted = self.wanted[name]

                def cost(have: Layout, name: str = name) -> float:
                    return sum(self.conversion(name, have, want) for want in self.wanted[name])

                fits = (each for each in wanted if each.fits(self.graph[name].shape))
                self.layout[name] = min((ROW_MAJOR, *fits), key=cost)

    def conversion(self, name: str, have: Layout, want: Layout) -> float:
        """What it costs to copy a tensor into another layout."""
        return self.prices.conversion(self.graph[name], have, want)

    def cost(self, node: Node, way: Way) -> float:
        """What ``way`` costs with the neighbours as they are now."""
        total = way.cost
        own = Counter(zip(node.reads(), self.picked[node.name].reads, strict=True))
        for name, want in dict.fromkeys(zip(node.reads(), way.reads, strict=True)):
            if self.wanted[name][want] == own[name, want]:  # else that conversion exists anyhow
                total += self.conversion(name, self.layout[name], want)
        for name, have in zip(node.outputs, way.writes, strict=True):
            total += sum(self.conversion(name, have, want) for want in self.wanted[name])
        return total

    def descend(self) -> None:
        """Pass over the nodes in order, give each the way that is cheapest with its neighbours as
        they are, until nothing changes: no exact search, and no need of its time."""
        for _ in range(MOST_SWEEPS):
            changed = False
            for node in self.graph.nodes:
                best = min(self.ways(node), key=partial(self.cost, node))
                if self.cost(node, best) < self.cost(node, self.picked[node.name]):
                    self.pick(node, best)
                    changed = True
            if not changed:
                break
        self._settle_inputs()

    def total(self) -> float:
        """What all nodes cost, and the conversions of every tensor."""
        return sum(way.cost for way in self.picked.values()) + sum(
            self.conversion(name, self.layout[name], want)
            for name, wanted in self.wanted.items()
            for want in self._read_as(name, wanted)
        )

    def _read_as(self, name: str, wanted: Counter[Layout]) -> set[Layout]:
        """Also by the caller."""
        caller = name in self.graph.outputs and self.to_convert(name)
        return {*wanted, ROW_MAJOR} if caller else {*wanted}
