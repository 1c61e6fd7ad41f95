"""What layers computed by Winograd's algorithm make of a network's outputs, measured on samples."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from edgeconv.base.names import untaken
from edgeconv.ir.activation import Activation, clamp
from edgeconv.ir.decisions import Decisions, decisions
from edgeconv.ir.element_types import FLOAT32
from edgeconv.ir.graph import Epilogue, Graph, Node
from edgeconv.ir.winograd_form import Nested
from edgeconv.kernels.algorithms.problem import problem_of
from edgeconv.kernels.algorithms.winograd.emulation import convolved
from edgeconv.model.frontend.running import prepared
from edgeconv.run.verify.compare import compare

Array = npt.NDArray[Any]
Values = dict[str, Array]


@dataclass(frozen=True, slots=True)
class _Layer:
    """A convolution without its epilogue: tensors that it reads and makes, and one that is added to
    what it makes."""

    node: Node
    sums: str
    error: str


class OutputError:
    """The error at the outputs of ``graph``, whose convolutions ``layers`` may be computed so.

    Every sample is run once as it is.  What a layer's form makes of the numbers that it reads there
    is then added to its sums, as the difference to what they were, in one more run: errors are so
    small that how one changes another's does not matter.  Where outputs depend on decisions, which
    a rounding turns over, what these read is judged in their place.
    Raises EdgeconvError as `running.prepared`.
    """

    def __init__(
        self, graph: Graph, layers: Sequence[Node], samples: Iterable[Mapping[str, Array]]
    ) -> None:
        found = decisions(graph)
        made = dict.fromkeys(name for name in graph.outputs if name not in graph.inputs)
        undecided = (name for name in made if name not in found.decided)
        real = (name for name in undecided if graph[name].dtype == FLOAT32)
        judged = list(dict.fromkeys((*real, *found.read)))
        watched, self._layers = _watched(graph, {node.name for node in layers}, judged)
        self._judged = [*judged, *_decided_upon(self._layers.values(), found)]
        self._graph, self._run = graph, prepared(watched)
        nothing = {
            each.error: np.zeros(graph[each.node.output].shape, np.float32)
            for each in self._layers.values()
        }
        self._feeds = [{**nothing, **sample} for sample in samples]
        self._plain = [{**feeds, **self._run(feeds)} for feeds in self._feeds]

    def of(self, forms: Mapping[str, Nested]) -> float:
        """The largest difference of an output from what it is without, in parts of its largest
        magnitude, with these layers in these forms."""
        worst = 0.0
        for feeds, plain in zip(self._feeds, self._plain, strict=True):
            errors = {}
            for name, form in forms.items():
                layer = self._layers[name]
                errors[layer.error] = self._made(layer, form, plain) - plain[layer.sums]
            found = self._run({**feeds, **errors})
            differences = (compare(name, found[name], plain[name]) for name in self._judged)
            worst = max((worst, *(each.relative for each in differences)))
        return worst

    def _made(self, layer: _Layer, form: Nested, plain: Values) -> Array:
        """A layer's sums and bias by Winograd's algorithm."""
        node, graph = layer.node, self._graph
        problem = problem_of(node, graph)
        x, weights = plain[node.inputs[0]], graph[node.inputs[1]].constant()
        shape = graph[node.output].shape
        made = convolved(
            form,
            x,
            weights.astype(np.float32),
            problem.pads[1:],
            shape[2:],
            problem.strides[1:],
            problem.dilations[1:],
        )
        bias = node.inputs[2] if len(node.inputs) > 2 else ""
        if bias:
            made += graph[bias].constant().astype(np.float32).reshape(-1, 1, 1)
        return made


def without_rounding(graph: Graph) -> Graph:
    """``graph`` with the bounds of its grids in place of these."""
    nodes = []
    for node in graph.nodes:
        applied = node.epilogue
        before, after = (_bounds_of(each) for each in (applied.before, applied.after))
        nodes.append(replace(node, epilogue=replace(applied, before=before, after=after)))
    return replace(graph, nodes=tuple(nodes))


def _bounds_of(function: Activation) -> Activation:
    """What is left of a grid without its steps; others as they are."""
    if function.kind != "grid":
        return function
    return clamp(function.beta * function.alpha, function.gamma * function.alpha)


def _decided_upon(layers: Iterable[_Layer], found: Decisions) -> Iterator[str]:
    """The sums of layers whose own epilogue decides."""
    for layer in layers:
        if layer.node.output in found.decided and layer.node.inputs[0] not in found.decided:
            yield layer.sums


def _watched(
    graph: Graph, wanted: set[str], judged: Iterable[str]
) -> tuple[Graph, dict[str, _Layer]]:
    """``graph`` with an input that is added to the sums of every layer of ``wanted``.  Its outputs
    are these sums, what the layers read, and ``judged``."""
    nodes: list[Node] = []
    layers: dict[str, _Layer] = {}
    tensors, taken = dict(graph.tensors), set(graph.tensors)
    for node in graph.nodes:
        if node.name not in wanted:
            nodes.append(node)
            continue
        names = [untaken(f"{node.output}/{what}", taken) for what in ("sums", "error", "added")]
        taken.update(names)
        like = graph[node.output]
        tensors |= {name: replace(like, name=name) for name in names}
        sums, error, added = names
        layers[node.name] = _Layer(node, sums, error)
        nodes.append(replace(node, outputs=(sums,), epilogue=Epilogue()))
        whole = node.epilogue.is_empty
        result = node.output if whole else added
        nodes.append(Node(error, "Binary", (sums, error), (result,), {"kind": "add"}))
        if not whole:
            nodes.append(Node(added, "Unary", (added,), node.outputs, epilogue=node.epilogue))
    read = {each.node.inputs[0]: None for each in layers.values()} | dict.fromkeys(judged)
    seen = [name for name in read if name not in graph.inputs]
    return (
        replace(
            graph,
            nodes=tuple(nodes),
            tensors=tensors,
            inputs=(*graph.inputs, *(each.error for each in layers.values())),
            outputs=(*seen, *(each.sums for each in layers.values())),
        ),
        layers,
    )
