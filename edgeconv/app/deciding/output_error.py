"""What layers computed by Winograd's algorithm make of a network's outputs, measured on samples."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from edgeconv.app.deciding.network_run import NetworkRun
from edgeconv.base.closing import Closing
from edgeconv.base.names import untaken
from edgeconv.base.progress import Progress, no_progress
from edgeconv.ir.activation import Activation, clamp
from edgeconv.ir.decisions import Decisions, decisions
from edgeconv.ir.element_types import FLOAT32
from edgeconv.ir.graph import Epilogue, Graph, Node
from edgeconv.ir.winograd_form import Nested
from edgeconv.kernels.algorithms.problem import problem_of
from edgeconv.kernels.algorithms.winograd.emulation import convolved
from edgeconv.run.verify.compare import compare

Array = npt.NDArray[Any]
Values = dict[str, Array]
_HELD = 1 << 23  # numbers of tensors that layers read and make, of a sample


@dataclass(frozen=True, slots=True)
class _Layer:
    """A convolution without its epilogue: what it makes, and what is added to that."""

    node: Node
    sums: str
    error: str
    added: str


class OutputError(Closing):
    """The error at the outputs of ``graph``, whose convolutions ``layers`` may be computed so.

    Every sample is run once as it is.  What a layer's form makes of the numbers that it reads there
    is then added to its sums, as the difference to what they were, in one more run: errors are so
    small that how one changes another's does not matter.  Where outputs depend on decisions, which
    a rounding turns over, what these read is judged in their place.
    Raises EdgeconvError as `NetworkRun`.
    """

    def __init__(
        self,
        graph: Graph,
        layers: Sequence[Node],
        samples: Sequence[Mapping[str, Array]],
        progress: Progress = no_progress,
    ) -> None:
        self._progress = progress
        found = decisions(graph)
        made = dict.fromkeys(name for name in graph.outputs if name not in graph.inputs)
        undecided = (name for name in made if name not in found.decided)
        real = (name for name in undecided if graph[name].dtype == FLOAT32)
        self._graph, self._samples, self._layers = graph, samples, _named(graph, layers)
        upon = _decided_upon(self._layers.values(), found)
        self._judged = tuple(dict.fromkeys((*real, *found.read, *upon)))
        self._run = NetworkRun(_split(graph, self._layers, self._judged, erring=True), progress)
        self._nothing = {
            each.error: np.zeros(graph[each.node.output].shape, np.float32)
            for each in self._layers.values()
        }
        self._plain = [self._run({**self._nothing, **sample}) for sample in samples]

    def close(self) -> None:
        """Let go of the network."""
        self._run.close()

    def of(self, forms: Mapping[str, Nested]) -> float:
        """`with_errors`, of these layers in these forms."""
        return self.with_errors(self.errors(forms))

    def with_errors(self, errors: Sequence[Values]) -> float:
        """The largest difference of an output from what it is without, in parts of its largest
        magnitude, with these ``errors``: of each sample, by the name of the layer."""
        worst = 0.0
        for sample, plain, own in zip(self._samples, self._plain, errors, strict=True):
            given = {self._layers[name].error: error for name, error in own.items()}
            found = self._run({**self._nothing, **sample, **given})
            differences = (compare(name, found[name], plain[name]) for name in self._judged)
            worst = max((worst, *(each.relative for each in differences)))
        return worst

    def errors(self, forms: Mapping[str, Nested]) -> list[Values]:
        """What these layers in these forms make, less what they make of the same numbers else."""
        found: list[Values] = [{} for _ in self._samples]
        for some in self._at_once([self._layers[name] for name in forms]):
            sums = {each.node.name: each for each in some}
            inner = {each.node.inputs[0] for each in some}.difference(self._graph.inputs)
            watched = (*inner, *(each.sums for each in some))
            with NetworkRun(_split(self._graph, sums, watched), self._progress) as run:
                for sample, errors in zip(self._samples, found, strict=True):
                    plain = {**sample, **run(sample)}
                    for each in some:
                        name, read = each.node.name, each.node.inputs[0]
                        errors[name] = self._made(each.node, forms[name], plain[read])
                        errors[name] -= plain.pop(each.sums)
            del run, plain  # before the next session has its own
        return found

    def _at_once(self, layers: Iterable[_Layer]) -> Iterator[list[_Layer]]:
        """Layers whose tensors are held at the same time."""
        some: list[_Layer] = []
        held = 0
        for each in layers:
            own = sum(self._graph[name].size for name in (each.node.inputs[0], each.node.output))
            if some and held + own > _HELD:
                yield some
                some, held = [], 0
            some.append(each)
            held += own
        if some:
            yield some

    def _made(self, node: Node, form: Nested, x: Array) -> Array:
        """A layer's sums and bias by Winograd's algorithm."""
        graph = self._graph
        problem = problem_of(node, graph)
        weights, shape = graph[node.inputs[1]].constant(), graph[node.output].shape
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


def _named(graph: Graph, layers: Iterable[Node]) -> dict[str, _Layer]:
    """``layers`` by name, with names of tensors that ``graph`` does not have."""
    taken, found = set(graph.tensors), {}
    for node in layers:
        names = [untaken(f"{node.output}/{what}", taken) for what in ("sums", "error", "added")]
        taken.update(names)
        found[node.name] = _Layer(node, *names)
    return found


def _split(
    graph: Graph, layers: Mapping[str, _Layer], outputs: Sequence[str], *, erring: bool = False
) -> Graph:
    """``graph`` with ``layers`` apart from their epilogues; ``erring``: with an input for each that
    is added to its sums."""
    nodes: list[Node] = []
    tensors = dict(graph.tensors)
    for node in graph.nodes:
        layer = layers.get(node.name)
        if layer is None:
            nodes.append(node)
            continue
        like = graph[node.output]
        names = layer.sums, layer.error, layer.added
        tensors |= {name: replace(like, name=name) for name in names}
        nodes.append(replace(node, outputs=(layer.sums,), epilogue=Epilogue()))
        last = layer.sums
        if erring:
            last = node.output if node.epilogue.is_empty else layer.added
            both = (layer.sums, layer.error)
            nodes.append(Node(layer.error, "Binary", both, (last,), {"kind": "add"}))
        if last != node.output:
            nodes.append(Node(layer.added, "Unary", (last,), node.outputs, epilogue=node.epilogue))
    errors = (each.error for each in layers.values()) if erring else ()
    return replace(
        graph,
        nodes=tuple(nodes),
        tensors=tensors,
        inputs=(*graph.inputs, *errors),
        outputs=tuple(outputs),
    )
