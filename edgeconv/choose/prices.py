"""What the ways to run a node cost, before it is known where tensors lie.

There is one price (`edgeconv.price`), of kernel calls: an option of a node is lowered as it would
be emitted, and so is a conversion between two layouts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from edgeconv.algorithms import applicable
from edgeconv.choose.bit_for_bit import following
from edgeconv.element_types import FLOAT32
from edgeconv.errors import EdgeconvError
from edgeconv.ir.choice import tensor_bytes
from edgeconv.ir.graph import Graph, Node, Tensor
from edgeconv.ir.layout import ROW_MAJOR, Layout
from edgeconv.lowering.options import LayoutOption
from edgeconv.ops import operators
from edgeconv.price import Machine, machine_of, price, streaming
from edgeconv.price.operands import between_neighbours
from edgeconv.targets import Target


@dataclass(frozen=True, slots=True)
class Way:
    """An option of a node and what it costs, conversions aside."""

    option: LayoutOption
    cost: float

    @property
    def reads(self) -> tuple[Layout, ...]:
        """The layouts of ``node.reads()``."""
        return self.option.reads

    @property
    def writes(self) -> tuple[Layout, ...]:
        """Those of its outputs."""
        return self.option.writes

    @property
    def attrs(self) -> Mapping[str, Any]:
        """What the node is given to be lowered so."""
        return self.option.attrs


class Prices:
    """Of the nodes of ``graph`` on ``target``: joules where its ``machine`` states energies, else
    seconds."""

    def __init__(self, graph: Graph, target: Target, machine: Machine | None = None) -> None:
        self._target, self._machine = target, machine or machine_of(target)
        self._empty = replace(graph, nodes=(), tensors={}, inputs=(), outputs=())
        constants = (tensor for tensor in graph.tensors.values() if tensor.is_constant)
        self._constants = sum(map(tensor_bytes, constants))
        self._conversions: dict[tuple[object, ...], float] = {}
        self._ways: dict[tuple[object, ...], Sequence[Way]] = {}

    def ways(self, node: Node, graph: Graph) -> Sequence[Way]:
        """The node's options, with the formats that tensors have in ``graph``, which is ours but
        for these.

        Raises EdgeconvError when its operator has no kernel.
        """
        key = node.name, *(graph[name].storage for name in (*node.reads(), *node.outputs) if name)
        if key not in self._ways:
            self._ways[key] = self._priced(node, graph)
        return self._ways[key]

    def _priced(self, node: Node, graph: Graph) -> Sequence[Way]:
        operator = operators()[node.op]
        if operator.lower is None:
            rule = f"on {self._target.name}"
            raise EdgeconvError("no kernel for operator", where=node.name, got=node.op, rule=rule)
        offered = following(node, graph, operator.layouts(node, graph, self._target))
        options = [option for option in offered if _is_convertible(option, node, graph)]
        return [Way(option, self._of(node, graph, option, options)) for option in options]

    def _of(
        self, node: Node, graph: Graph, option: LayoutOption, options: Sequence[LayoutOption]
    ) -> float:
        """Of options that differ by layouts alone the first is priced: to plan a convolution for
        each takes long, and plans hardly differ."""
        like = next(other for other in options if other.attrs == option.attrs)
        base = self.cost(node, graph, like if option.attrs else option)
        return base + streaming(option.penalty, self._machine)

    def cost(self, node: Node, graph: Graph, option: LayoutOption) -> float:
        """Of the node's kernel with the layouts of ``option``."""
        names = (*node.reads(), *node.outputs)
        tensors = {
            name: tensor if tensor.is_constant else replace(tensor, layout=layout)
            for name, layout in zip(names, (*option.reads, *option.writes), strict=True)
            if name
            for tensor in (graph[name],)
        }
        chosen = replace(node, attrs={**node.attrs, **option.attrs})
        return self._cost(chosen, tensors)

    def conversion(self, tensor: Tensor, have: Layout, want: Layout) -> float:
        """What it costs to copy a tensor into another layout; nothing if its bytes are the same."""
        if (
            have == want
            or tensor.is_constant
            or have.canonical(tensor.shape) == want.canonical(tensor.shape)
        ):
            return 0.0
        key = tensor.shape, tensor.dtype, tensor.storage, have, want
        if key not in self._conversions:
            node = Node("convert", "Convert", ("have",), ("want",))
            tensors = {
                "have": replace(tensor, name="have", layout=have),
                "want": replace(tensor, name="want", layout=want),
            }
            self._conversions[key] = self._cost(node, tensors)
        return self._conversions[key]

    def _cost(self, node: Node, tensors: Mapping[str, Tensor]) -> float:
        """Views are taken to be granted."""
        lower = operators()[node.op].lower
        assert lower is not None
        layer = lower(node, replace(self._empty, nodes=(node,), tensors=tensors), self._target)
        if layer.free_if_aliased and layer.aliases:
            return 0.0
        operands = between_neighbours(layer, tensors, self._constants)
        cost = price(layer, operands, self._machine).cost
        return cost * (1 + self._target.workspace_price * bool(layer.workspace_bytes))


def _is_convertible(option: LayoutOption, node: Node, graph: Graph) -> bool:
    """What is no float32 stays in the model's order: conversions know no other elements."""
    names = (*node.reads(), *node.outputs)
    return all(
        layout == ROW_MAJOR or graph[name].dtype == FLOAT32
        for name, layout in zip(names, (*option.reads, *option.writes), strict=True)
        if name
    )


def algorithms_of(node: Node, graph: Graph, target: Target) -> dict[str, float]:
    """The algorithms that could compute a convolution and the seconds of each, conversions aside:
    those that compute in other types than float32 too, the cheapest first."""
    prices, found = Prices(graph, target), {}
    for name in dict.fromkeys(entry.algorithm for entry in applicable(node, graph, target)):
        asked = replace(node, attrs={**node.attrs, "algorithm": name})
        options = operators()[node.op].layouts(asked, graph, target)
        found[name] = prices.cost(asked, graph, options[0])
    return dict(sorted(found.items(), key=lambda each: each[1]))
