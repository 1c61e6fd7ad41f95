"""Which results of a float32 network are better left in float32: those that integers cost more than
they save, conversions included.

A layer is computed in integers where all that it reads and writes is int8, and takes what it was
predicted to take there; where none of it is, what it takes in float32; and otherwise that and a
conversion.  So an integer program over the tensors that share a grid has the network that takes
least.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache

from edgeconv.ir.graph import Epilogue, Graph, Node, Tensor
from edgeconv.ir.layout import Shape
from edgeconv.search.choose.prices import Prices
from edgeconv.search.milp import Row, solve
from edgeconv.search.quantising.grids import RequestedFormats, places
from edgeconv.search.quantising.rewrite import SOME_GRID
from edgeconv.search.quantising.unfused import unfused
from edgeconv.target.price import Machine
from edgeconv.target.targets import Target

_SECONDS = 20.0
_LITTLE = 1e-6  # of the largest cost: what a tensor as int8 is worth in itself, in bytes
Border = Callable[[str], float]


@dataclass(frozen=True, slots=True)
class Costs:
    """The costs of layers by name, in float32 and in integers."""

    real: Mapping[str, float]
    whole: Mapping[str, float]


def border(graph: Graph, target: Target, machine: Machine | None = None) -> Border:
    """What it takes to round a tensor of ``graph``, or to read it as float32, in a pass of its own:
    kernels that convert as they read or write take less."""

    plain = unfused(graph)

    @cache
    def of_shape(shape: Shape) -> float:
        tensors = {each: Tensor(each, shape) for each in ("have", "want")}
        node = Node("border", "Unary", ("have",), ("want",), epilogue=Epilogue(SOME_GRID))
        alone = Graph("border", (node,), tensors, ("have",), ("want",))
        return min(way.cost for way in Prices(alone, target, machine).ways(node, alone))

    return lambda name: of_shape(plain[name].shape)


def kept_real(
    graph: Graph, storage: Mapping[str, str], costs: Costs, between: Border
) -> frozenset[str]:
    """The tensors of `unfused` ``graph`` that stay float32 where ``costs`` add up to the least;
    ``between``: of a layer that has a tensor as int8 and another one as float32."""
    plain = unfused(graph)
    found = places(plain, RequestedFormats.of(graph, storage))
    whole, number = found.grid_of(), {group[0]: i for i, group in enumerate(found.groups)}
    layers: list[tuple[set[int], float, float]] = []  # groups, what integers save, and a border
    for node in plain.nodes:
        tensors = [n for n in (*node.reads(), *node.outputs) if n in whole]
        if not tensors or node.name not in costs.real.keys() & costs.whole.keys():
            continue
        groups = {number[whole[name]] for name in tensors}
        saved = costs.real[node.name] - costs.whole[node.name]
        layers.append((groups, saved, max(map(between, tensors))))
    own = {f"{name}/round": number[whole[name]] for name in whole}
    rounding = {own[name]: cost for name, cost in costs.whole.items() if name in own}
    chosen = cheapest(len(found.groups), layers, rounding)
    return frozenset(
        name for i, group in enumerate(found.groups) if i not in chosen for name in group
    )


def cheapest(
    count: int, layers: list[tuple[set[int], float, float]], rounding: Mapping[int, float]
) -> frozenset[int]:
    """The groups, of so many, that are int8.

    A layer is in integers if all its groups are, and at a border if some are.
    """
    inside = {i: count + i for i in range(len(layers))}
    mixed = {i: count + len(layers) + i for i in range(len(layers))}
    cost = [-saved for _, saved, _ in layers] + [each for *_, each in layers]
    largest = max([*map(abs, cost), *rounding.values()], default=0.0)
    cost = [rounding.get(i, 0.0) - _LITTLE * largest for i in range(count)] + cost
    rows = []
    for i, (groups, _, _) in enumerate(layers):
        all_of = dict.fromkeys(groups, 1.0)
        rows.append(Row({**all_of, inside[i]: -1.0}, -math.inf, len(groups) - 1.0))
        for group in groups:
            rows.append(Row({inside[i]: 1.0, group: -1.0}, -math.inf, 0.0))
            rows.append(Row({group: 1.0, inside[i]: -1.0, mixed[i]: -1.0}, -math.inf, 0.0))
    if not largest:
        return frozenset(range(count))
    scaled = [value / largest for value in cost]
    ones = [True] * len(cost)
    found = solve(scaled, rows, whole=ones, upper=[1.0] * len(cost), seconds=_SECONDS)
    if found.values is None:
        return frozenset(range(count))
    return frozenset(i for i in range(count) if found.values[i] > 0.5)
