"""Which layers of a quantised model are computed in float32 after all, and why.

Nothing is decided here: a layer is asked what it would be with all that the model rounds stored as
integers, by those who decide (`form_of`, candidates), and where that is nothing, which condition
of theirs does not hold (`kernels.algorithms.no_integers`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from edgeconv.ir.candidate import IN_WHOLE_NUMBERS
from edgeconv.ir.choice import Choice, Layer
from edgeconv.ir.encoding import FLOAT32
from edgeconv.ir.filters import WEIGHTED
from edgeconv.ir.graph import Graph, Node
from edgeconv.ir.grids import encodings_of, rounded_to, rounds
from edgeconv.ir.request import Workspace
from edgeconv.kernels.algorithms import algorithms
from edgeconv.kernels.algorithms.no_integers import REASONS, Reason, no_integers
from edgeconv.kernels.algorithms.product_sums import PRODUCT
from edgeconv.kernels.algorithms.widening import widened
from edgeconv.kernels.ops import operators
from edgeconv.search.choose.dynamic_quantisation import quantised_at_run_time
from edgeconv.search.choose.storage import EVERY_LAYER, INSERTED, INT8, OUTPUT, ROUNDED, lossless
from edgeconv.target.targets import Target

_FILTERS_OPTION = Reason("asked", "--storage asks for other filters", "leave that out")
_RESULT_OPTION = Reason("asked", "--storage asks for float32 around it", "leave that out")
_ALGORITHM_OPTION = Reason("asked", "--algorithm asks for it", "leave that out")
_OPERATOR = Reason("operator", "its operator has no kernel in integers here")
_RUN_TIME = Reason(
    "run-time-scales",
    "its input is quantised with scales of run time, for which there is no faster kernel here",
    "quantise activations with constant scales (static quantisation)",
)
_NEIGHBOUR = Reason(
    "neighbour", "its input is in memory as float32, for a layer that writes or reads it so"
)
_LAST = Reason(
    "last-result",
    "its result is a float32 output of the model, for which there is no kernel in integers here",
    "quantise the model's output",
)
_KERNEL = Reason("no-kernel", "there is no kernel in integers for its window or core")
_ROOM = Reason("ram", "there is no RAM for the workspace of a kernel in integers", "allow more RAM")
_FASTER = Reason(
    "faster",
    "that is predicted to be faster on this board",
    "--algorithm asks for integers all the same",
)
# All that a layer may have, in no order.
EVERY_REASON: tuple[Reason, ...] = (
    *(_FILTERS_OPTION, _RESULT_OPTION, _ALGORITHM_OPTION, _OPERATOR, _RUN_TIME, _NEIGHBOUR, _LAST),
    *(_KERNEL, _ROOM, _FASTER, *REASONS),
)


@dataclass(frozen=True, slots=True)
class LayerOptions:
    """What the user asks for, as `CompileOptions` has it."""

    algorithms: Mapping[str, str] = field(default_factory=dict)
    storage: Mapping[str, str] = field(default_factory=dict)


def is_quantised(graph: Graph) -> bool:
    """It rounds what it computes, or has filters that are whole multiples of scales."""
    weighted = (node for node in graph.nodes if node.op in WEIGHTED)
    return rounds(graph) or any(node.exact and node.storage.scale for node in weighted)


def in_integers(layer: Layer) -> bool:
    """Its multiply-accumulates are whole numbers'."""
    return layer.candidate is not None and layer.candidate.compute in IN_WHOLE_NUMBERS


def in_float32(choice: Choice, target: Target, asked: LayerOptions) -> dict[str, Reason]:
    """By name the layers with multiply-accumulates that are computed in float32 though the model is
    quantised, in its order, and why; none of a model that is not."""
    layers = [layer for layer in choice.layers if layer.macs and not in_integers(layer)]
    if not layers or not is_quantised(choice.graph):
        return {}
    asking = _Float32Reasons(choice.graph, target, asked)
    return {layer.node.name: asking.why(layer.node) for layer in layers}


class _Float32Reasons:
    """Reasons of the nodes of ``graph``, whose kernels are chosen."""

    def __init__(self, graph: Graph, target: Target, asked: LayerOptions) -> None:
        self._target, self._options = target, asked
        self._roundings, encodings = rounded_to(graph), encodings_of(graph)
        self._layers = {node.name for node in graph.nodes}
        self._writers = graph.producers()
        undecided = replace(graph, nodes=tuple(map(_undecided, graph.nodes)))
        self._able = lossless(undecided).keys()
        self._run_time = frozenset(quantised_at_run_time(graph))
        self._plain = graph
        held = {
            name: replace(graph[name], storage=encoding)
            for name, encoding in encodings.items()
            if graph[name].storage == FLOAT32 and name not in {*graph.inputs, *graph.outputs}
        }
        self._stored = graph.with_tensors(held)

    def why(self, node: Node) -> Reason:
        """The reason of a node that is computed in float32."""
        if node.op not in (*WEIGHTED, PRODUCT):
            return _OPERATOR
        if node.op in WEIGHTED and self._storage_option(node.name, "") not in (None, INT8):
            return _FILTERS_OPTION
        if not self._run_time.isdisjoint(node.inputs):
            return _RUN_TIME
        asked = widened(node, self._stored) or node  # which kernels are offered as well
        return no_integers(asked, self._stored, self._roundings) or self._left(asked)

    def _left(self, node: Node) -> Reason:
        """The reason of one that stored integers would make the result of."""
        reads = node.inputs if node.op == PRODUCT else node.inputs[:1]
        writers = [writer for name in reads if (writer := self._writer(name))]
        around = [node.name, *(writer.name for writer in writers)]
        if any(
            self._storage_option(name, OUTPUT) not in (None, *ROUNDED.values()) for name in around
        ):
            return _RESULT_OPTION
        if node.op in WEIGHTED and self._has_algorithm_option(node.name):
            return _ALGORITHM_OPTION
        limited = _undecided(node)
        free = replace(limited, request=replace(limited.request, workspace=Workspace()))
        if not _has_kernel(free, self._stored, self._target):
            return _LAST if node.output in self._plain.outputs else _KERNEL
        if not _has_kernel(limited, self._stored, self._target):
            return _ROOM
        stored_as_they_are = all(self._plain[name].storage.scale for name in reads)
        if not stored_as_they_are and any(each.name not in self._able for each in writers):
            return _NEIGHBOUR
        return _FASTER

    def _writer(self, name: str) -> Node | None:
        """The layer of the model that writes a tensor."""
        writer = self._writers.get(name)
        while writer is not None and writer.op in INSERTED:
            writer = self._writers.get(writer.inputs[0])
        return writer

    def _storage_option(self, layer: str, kind: str) -> str | None:
        """The format that the user asks for of the filters of ``layer``, or of its result."""
        storage = self._options.storage
        return storage.get(layer + kind, storage.get(EVERY_LAYER + kind))

    def _has_algorithm_option(self, layer: str) -> bool:
        wanted = self._options.algorithms
        name = wanted.get(layer, wanted.get(EVERY_LAYER))
        return name is not None and algorithms()[name].compute not in IN_WHOLE_NUMBERS


def _undecided(node: Node) -> Node:
    """``node`` for any algorithm."""
    return replace(node, request=replace(node.request, algorithm="", integers=False))


def _has_kernel(node: Node, graph: Graph, target: Target) -> bool:
    """Whether one in integers computes ``node``."""
    asked = (option.request for option in operators()[node.op].layouts(node, graph, target))
    whole = {name for name, each in algorithms().items() if each.compute in IN_WHOLE_NUMBERS}
    return any(each.integers or each.algorithm in whole for each in asked if each)
