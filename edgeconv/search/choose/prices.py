"""What the ways to run a node cost, before it is known where tensors lie.

There is one price (`edgeconv.target.price`), of kernel calls: an option of a node is lowered as it
would be emitted, and so is a conversion between two layouts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf

from edgeconv.base.errors import EdgeconvError
from edgeconv.ir.candidate import EXACTLY
from edgeconv.ir.choice import Layer, tensor_bytes
from edgeconv.ir.element_types import FLOAT32
from edgeconv.ir.encoding import FLOAT32 as FLOAT
from edgeconv.ir.graph import Graph, Node, Tensor
from edgeconv.ir.layout import CHANNELS_LAST, ROW_MAJOR, Layout, Order
from edgeconv.ir.request import Described
from edgeconv.kernels import float16
from edgeconv.kernels.algorithms import applicable
from edgeconv.kernels.algorithms.problem import filters_as
from edgeconv.kernels.algorithms.widening import widened
from edgeconv.kernels.lowering.options import LayoutOption
from edgeconv.kernels.ops import operators
from edgeconv.search.choose.bit_for_bit import following
from edgeconv.target.price import Machine, machine_of, price, streaming
from edgeconv.target.price.operands import between_neighbours
from edgeconv.target.targets import Target


@dataclass(frozen=True, slots=True)
class Way:
    """An option of a node and what it costs, conversions aside; ``flash``: bytes of constants."""

    option: LayoutOption
    cost: float
    flash: int = 0

    @property
    def reads(self) -> tuple[Layout, ...]:
        """The layouts of ``node.reads()``."""
        return self.option.reads

    @property
    def writes(self) -> tuple[Layout, ...]:
        """The encodings of its outputs."""
        return self.option.writes


_Key = tuple[object, ...]


@dataclass(frozen=True, slots=True)
class Known:
    """Prices that choices for one machine share, by all that they depend on: nodes that differ by
    their names alone have the same ones.  ``constants`` keeps the arrays whose identities are in
    keys."""

    ways: dict[_Key, Sequence[Way]] = field(default_factory=dict)
    conversions: dict[_Key, float] = field(default_factory=dict)
    constants: dict[int, object] = field(default_factory=dict)

    def key(self, node: Node, graph: Graph) -> _Key | None:
        """The key of ``node`` with its tensors as they are in ``graph``, whatever these are called;
        None where an attribute is nothing to look up by."""
        numbers = {name: number for number, name in enumerate(_own(node))}
        tensors = tuple(self._tensor(graph[name]) for name in numbers)
        epilogue = node.epilogue
        key = (
            *(node.op, tuple(sorted(node.attrs.items(), key=lambda item: item[0]))),
            *(epilogue.before, epilogue.after, numbers.get(epilogue.residual), node.request),
            tuple(numbers.get(name) for name in node.inputs),
            tuple(numbers.get(name) for name in node.outputs),
            *(tensors, graph.requantise, graph.scaling),
        )
        try:
            hash(key)
        except TypeError:
            return None
        return key

    def _tensor(self, tensor: Tensor) -> _Key:
        if tensor.data is not None:
            self.constants[id(tensor.data)] = tensor.data
        data = None if tensor.data is None else id(tensor.data)
        return tensor.shape, tensor.dtype, tensor.layout, tensor.storage, tensor.ring, data


def _own(node: Node) -> Sequence[str]:
    """The tensors of ``node``, each once."""
    return [name for name in dict.fromkeys((*node.reads(), *node.outputs)) if name]


class Prices:
    """The prices of the nodes of ``graph`` on ``target``: joules where its ``machine`` states
    energies, else seconds.

    ``known``: what other choices for this target and machine have found out.
    """

    def __init__(
        self,
        graph: Graph,
        target: Target,
        machine: Machine | None = None,
        known: Known | None = None,
    ) -> None:
        self._target, self._machine = target, machine or machine_of(target)
        self._empty = replace(graph, nodes=(), tensors={}, inputs=(), outputs=())
        constants = (tensor for tensor in graph.tensors.values() if tensor.is_constant)
        self._constants = sum(map(tensor_bytes, constants))
        # Times that are measured may be better known by the next choice.
        self._known = Known() if known is None or self._machine.measured else known
        self._ways: dict[_Key, Sequence[Way]] = {}

    def ways(self, node: Node, graph: Graph) -> Sequence[Way]:
        """The node's options, with the formats that tensors have in ``graph``, which is ours but
        for these.

        Raises EdgeconvError when its operator has no kernel.
        """
        stored = (graph[name].storage for name in (*node.reads(), *node.outputs) if name)
        key = node.name, node.request.workspace, *stored
        if key not in self._ways:
            self._ways[key] = self._found(node, graph)
        return self._ways[key]

    def _found(self, node: Node, graph: Graph) -> Sequence[Way]:
        key = self._known.key(node, graph)
        if key is None:
            return self._priced(node, graph)
        key = *key, self._constants
        if key not in self._known.ways:
            self._known.ways[key] = self._priced(node, graph)
        return self._known.ways[key]

    def _priced(self, node: Node, graph: Graph) -> Sequence[Way]:
        operator = operators()[node.op]
        if operator.lower is None:
            rule = f"on {self._target.name}"
            raise EdgeconvError("no kernel for operator", where=node.name, got=node.op, rule=rule)
        offered = following(node, graph, float16.layouts(node, graph, self._target))
        options = [option for option in offered if _is_convertible(option, node, graph)]
        options = self._as_described(node, graph, options)
        priced: dict[int, tuple[float, int]] = {}
        return [self._way(node, graph, option, options, priced) for option in options]

    def _as_described(
        self, node: Node, graph: Graph, options: list[LayoutOption]
    ) -> list[LayoutOption]:
        """The options that a report describes (`Described`), if it does and there are any."""
        wanted = node.request.described
        if wanted is None:
            return options
        near = [option for option in options if _fits(wanted, option, node, graph)]
        alike = (
            near
            if len(near) < 2
            else [o for o in near if self.layer(node, graph, o).algorithm == wanted.algorithm]
        )
        return alike or near or options

    def _way(
        self,
        node: Node,
        graph: Graph,
        option: LayoutOption,
        options: Sequence[LayoutOption],
        priced: dict[int, tuple[float, int]],
    ) -> Way:
        """The way to run a node: of ``options`` that differ by layouts alone, and have channels
        last in the same tensors, the first is priced, and noted in ``priced``: to plan a
        convolution for each takes long, and plans hardly differ; but strides between the pixels of
        all channels do.  Where something is stored in another format, channels last are no
        difference: workspaces depend on them there, by which a program that is checked is chosen
        again."""
        apart = _in_float32(node, graph)
        own = _channels_last(option)
        alike = (
            number
            for number, other in enumerate(options)
            if other.request == option.request and (not apart or _channels_last(other) == own)
        )
        like = next(alike) if option.request else options.index(option)
        if like not in priced:
            layer, tensors = self._as_of(node, graph, options[like])
            flash = sum(blob.bytes for blob in layer.blobs)
            priced[like] = self._predicted(layer, tensors), flash
        base, flash = priced[like]
        cost = base + streaming(option.penalty, self._machine)
        if self._machine.measured is not None:
            cost = self._better_known(*self._as_of(node, graph, option), cost)
        return Way(option, cost, flash)

    def layer(self, node: Node, graph: Graph, option: LayoutOption) -> Layer:
        """The node's kernel call with the layouts of ``option``."""
        return self._as_of(node, graph, option)[0]

    def cost(self, node: Node, graph: Graph, option: LayoutOption) -> float:
        """The cost of the node's kernel with the layouts of ``option``, as it is predicted."""
        return self._predicted(*self._as_of(node, graph, option))

    def _as_of(
        self, node: Node, graph: Graph, option: LayoutOption
    ) -> tuple[Layer, Mapping[str, Tensor]]:
        names = (*node.reads(), *node.outputs)
        tensors = {
            name: tensor if tensor.is_constant else replace(tensor, layout=layout)
            for name, layout in zip(names, (*option.reads, *option.writes), strict=True)
            if name
            for tensor in (graph[name],)
        }
        return self._lowered(option.picked(node), tensors), tensors

    def conversion(self, tensor: Tensor, have: Layout, want: Layout) -> float:
        """What it costs to copy a tensor into another layout; nothing if its bytes are the same."""
        if (
            have == want
            or tensor.is_constant
            or have.canonical(tensor.shape) == want.canonical(tensor.shape)
        ):
            return 0.0
        if have.block != want.block and {have.order, want.order} == {Order.BLOCKED}:
            return inf  # blocks of vectors of different types
        key = tensor.shape, tensor.dtype, tensor.storage, have, want, self._constants
        known = self._known.conversions
        if key not in known:
            node = Node("convert", "Convert", ("have",), ("want",))
            tensors = {
                "have": replace(tensor, name="have", layout=have),
                "want": replace(tensor, name="want", layout=want),
            }
            layer = self._lowered(node, tensors)
            predicted = self._predicted(layer, tensors)
            known[key] = self._better_known(layer, tensors, predicted)
        return known[key]

    def _lowered(self, node: Node, tensors: Mapping[str, Tensor]) -> Layer:
        graph = replace(self._empty, nodes=(node,), tensors=tensors)
        return float16.lowered(node, graph, self._target)

    def _predicted(self, layer: Layer, tensors: Mapping[str, Tensor]) -> float:
        if _is_view(layer):
            return 0.0
        operands = between_neighbours(layer, tensors, self._constants)
        return price(layer, operands, self._machine).cost * self._of_workspace(layer)

    def _better_known(self, layer: Layer, tensors: Mapping[str, Tensor], predicted: float) -> float:
        """The measured seconds where there are some, else what is ``predicted``."""
        if self._machine.measured is None or _is_view(layer):
            return predicted
        found = self._machine.measured(layer, tensors, predicted)
        return predicted if found is None else found * self._of_workspace(layer)

    def _of_workspace(self, layer: Layer) -> float:
        return 1 + self._target.workspace_price * bool(layer.workspace_bytes)


def _fits(described: Described, option: LayoutOption, node: Node, graph: Graph) -> bool:
    """Whether filters lie as they are described, and the layouts of ``option`` are those, of the
    first input that is no constant and of the output, as far as bytes lie otherwise in others."""
    reads = list(node.reads())
    first = next((i for i, name in enumerate(reads) if name and not graph[name].is_constant), 0)
    packed = option.request.packed if option.request else None
    if described.packed != (str(packed.element) if packed else ""):
        return False
    found = [(node.output, described.layout_out, option.writes[0])]
    if reads:
        found.append((reads[first], described.layout_in, option.reads[first]))
    return all(
        Layout.parse(text).canonical(graph[name].shape) == own.canonical(graph[name].shape)
        for name, text, own in found
    )


def _channels_last(option: LayoutOption) -> tuple[bool, ...]:
    return tuple(layout == CHANNELS_LAST for layout in (*option.reads[:1], *option.writes))


def _in_float32(node: Node, graph: Graph) -> bool:
    tensors = (graph[name].storage for name in (*node.reads(), *node.outputs) if name)
    return filters_as(node) == FLOAT and all(storage == FLOAT for storage in tensors)


def _is_view(layer: Layer) -> bool:
    """Views are taken to be granted."""
    return layer.free_if_aliased and bool(layer.aliases)


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
    wide = widened(node, graph)
    exact = applicable(wide, graph, target) if wide else []
    given = {each.algorithm: node for each in applicable(node, graph, target)}
    given |= {each.algorithm: wide for each in exact if wide and each.compute in EXACTLY}
    for name, of in given.items():
        asked = replace(of, request=replace(of.request, algorithm=name))
        options = operators()[node.op].layouts(asked, graph, target)
        found[name] = prices.cost(asked, graph, options[0])
    return dict(sorted(found.items(), key=lambda each: each[1]))


def is_cheaper(graph: Graph, other: Graph, target: Target, machine: Machine | None) -> bool:
    """Whether the nodes of ``graph`` that ``other`` has not cost less than those of ``other`` that
    ``graph`` has not."""

    def cost(graph: Graph, other: Graph) -> float:
        prices, same = Prices(graph, target, machine), set(map(id, other.nodes))
        nodes = (node for node in graph.nodes if id(node) not in same)
        return sum(min(way.cost for way in prices.ways(node, graph)) for node in nodes)

    return cost(graph, other) < cost(other, graph)
