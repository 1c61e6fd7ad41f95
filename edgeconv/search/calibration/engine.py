"""The network compiled for this machine: run on samples with other weights, with activations
rounded, and with every tensor to look at.

    with Engine(graph) as engine:
        outputs = engine.run(sample)
        found = engine.run(sample, parameters={"conv1": Filters(rounded)}, capture=["relu1"])

Whoever measures what storage formats do needs thousands of such runs: the program is built once,
and what changes is a few bytes of its weight image, packed as the layer's kernel reads them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from edgeconv.base.closing import Closing
from edgeconv.base.errors import EdgeconvError, Exit, UsageError
from edgeconv.base.names import did_you_mean
from edgeconv.base.progress import Progress, no_progress
from edgeconv.base.registry import lookup
from edgeconv.ir.activation import Activation
from edgeconv.ir.choice import Choice
from edgeconv.ir.encoding import FLOAT32
from edgeconv.ir.filters import (
    DECODED,
    WEIGHTED,
    Filters,
    decodes,
    filters_of,
    replace_filters,
    without_storage,
)
from edgeconv.ir.graph import Graph, Node
from edgeconv.ir.memory import MemoryMap, Region
from edgeconv.kernels.lowering.activations import evaluate
from edgeconv.kernels.storage import format_of
from edgeconv.search import choose
from edgeconv.search.calibration.inference import Array, Floats, Rounding
from edgeconv.search.calibration.library import GRID, Library, format_numbers
from edgeconv.search.calibration.unshared_arena import own_places
from edgeconv.search.loops import with_programs
from edgeconv.target import board as boards

BOARDS = ("host", "generic-c")  # the second where the first cannot be built


class Engine(Closing):
    """A network in this process.  ``graph``: as ``model.passes.optimise`` leaves it; whatever
    storage it names is ignored, all is float32.  ``truncate``: activations are rounded toward zero.
    One run at a time.

    Raises EdgeconvError: no compiler (exit status 3), a network that cannot be compiled.
    """

    def __init__(
        self, graph: Graph, progress: Progress = no_progress, *, truncate: bool = False
    ) -> None:
        self.graph = replace(_float32(graph), states=())  # each run is given them
        self.layers = {n.name: n for n in self.graph.nodes if decodes(n, self.graph)}
        progress("building the network to measure on")
        self._choice, self._memory, self._library = _loaded(self.graph, truncate)
        self._index = {layer.node.name: i for i, layer in enumerate(self._choice.layers)}
        self._step_of = {layer.node.output: i for i, layer in enumerate(self._choice.layers)}
        self._where = {name: self._origin(name) for name in self._names()}
        self._given: dict[str, Filters] = {}
        self._outputs = [np.zeros(graph[name].shape, graph[name].dtype) for name in graph.outputs]

    def close(self) -> None:
        """Remove the program's files."""
        self._library.close()

    @property
    def tensors(self) -> tuple[str, ...]:
        """As `inference.InferenceEngine.tensors`: those that the program writes as floats."""
        return (*self.graph.inputs, *self._where)

    @property
    def macs(self) -> int:
        """As `inference.InferenceEngine.macs`."""
        return sum(layer.macs for layer in self._choice.layers)

    def parameters(self, layer: str) -> Filters:
        """As `inference.InferenceEngine.parameters`."""
        return filters_of(self._layer(layer), self.graph)

    def adopt(self, layers: Mapping[str, Filters]) -> None:
        """As `inference.InferenceEngine.adopt`."""
        self._give({})
        self.graph = replace_filters(self.graph, layers)
        self.layers = {n.name: n for n in self.graph.nodes if decodes(n, self.graph)}
        for name, given in layers.items():
            self._pack(self._layer(name), given)

    def run(
        self,
        inputs: Mapping[str, Array],
        *,
        parameters: Mapping[str, Filters] | None = None,
        activations: Mapping[str, Rounding] | None = None,
        capture: Iterable[str] = (),
    ) -> dict[str, Floats]:
        """As `inference.InferenceEngine.run`.

        Tensors are rounded to a storage format, or to a grid; graph outputs never are, graph inputs
        to grids alone.  Raises EdgeconvError (exit status 2) for an unknown layer, tensor or
        format.
        """
        self._give(parameters or {})
        self._round(activations or {})
        feeds = self._feeds(inputs, activations or {})
        self._library.run(feeds, self._outputs)
        results = dict(zip(self.graph.outputs, self._outputs, strict=True))
        results = {name: array.copy() for name, array in results.items()}
        for name in capture:
            if name in self.graph.inputs:
                results[name] = feeds[self.graph.inputs.index(name)]
            elif name not in results:
                results[name] = self._read(self._written(name))
        return results

    def run_each(
        self,
        samples: Iterable[Mapping[str, Array]],
        *,
        parameters: Mapping[str, Filters] | None = None,
        activations: Mapping[str, Rounding] | None = None,
        capture: Iterable[str] = (),
    ) -> Iterator[dict[str, Floats]]:
        """As `inference.InferenceEngine.run_each`."""
        names = tuple(capture)
        for sample in samples:
            yield self.run(sample, parameters=parameters, activations=activations, capture=names)

    def run_beside(
        self,
        inputs: Mapping[str, Array],
        results: Mapping[str, Array],
        *,
        parameters: Mapping[str, Filters] | None = None,
        activations: Mapping[str, Rounding] | None = None,
    ) -> dict[str, Floats]:
        """What each tensor of ``results`` would be, were all others what they are there.

        Every layer reads ``results`` where it can, so that the layers' errors do not add up.
        ``activations``: as for ``run``, of tensors that are not in ``results``.  Tensors that the
        graph does not have, or has in another shape, are left out.
        """
        self._give(parameters or {})
        self._round(activations or {})
        given: dict[int, Floats] = {}
        tensors: dict[str, int] = {}
        for name, values in results.items():
            written = self._where.get(name)
            tensor = self.graph.tensors.get(name)
            if written is None or not tensor or tensor.dtype != "float32":
                continue
            if values.shape != tensor.shape:
                continue
            tensors[name] = number = self._step_of[written]
            layout = self._choice.graph[written].layout
            given[number] = np.ascontiguousarray(layout.pack(values.astype(np.float32)))
        own = {number: np.zeros_like(packed) for number, packed in given.items()}
        feeds = self._feeds(inputs, {})
        self._library.run_beside(feeds, self._outputs, given, own)
        found = {}
        for name, number in tensors.items():
            tensor = self._choice.graph[self._where[name]]
            found[name] = np.array(tensor.layout.unpack(own[number], tensor.shape), np.float32)
        return found

    def _feeds(
        self, inputs: Mapping[str, Array], activations: Mapping[str, Rounding]
    ) -> list[npt.NDArray[Any]]:
        """The inputs in the model's order and types, rounded where that is asked for."""
        feeds = []
        for name in self.graph.inputs:
            given, grid = inputs[name], activations.get(name)
            values = evaluate(grid, given) if isinstance(grid, Activation) else given
            feeds.append(np.ascontiguousarray(values, self.graph[name].dtype))
        return feeds

    def _names(self) -> Iterable[str]:
        written = {tensor.name for tensor in self._choice.graph.activations()}
        for tensor in self.graph.activations():
            whole = tensor.dtype != "float32" and tensor.name not in self.graph.outputs
            if tensor.name in written and tensor.name not in self.graph.inputs and not whole:
                yield tensor.name

    def _origin(self, name: str) -> str:
        """The tensor of the compiled graph that a node writes first: what is converted has the
        original as its producer's input."""
        found = name
        producers = self._choice.graph.producers()
        while (node := producers.get(found)) and node.op == "Convert":
            found = node.inputs[0]
        return found

    def _written(self, name: str) -> str:
        if name not in self._where:
            raise _unknown("tensor", name, self._where)
        return self._where[name]

    def _read(self, name: str) -> Floats:
        place, tensor = self._memory.places[name], self._choice.graph[name]
        if place.region is Region.ARENA:
            flat = self._library.arena[place.offset : place.offset + place.bytes].view(np.float32)
        else:
            flat = self._outputs[place.index].reshape(-1)
        logical = tensor.layout.unpack(flat, tensor.shape)
        return np.array(logical, np.float32, order="C")

    def _round(self, activations: Mapping[str, Rounding]) -> None:
        numbers = format_numbers()
        self._library.formats[:] = numbers["float32"]
        for name, form in activations.items():
            if isinstance(form, Activation):
                self._round_to_grid(name, form)
                continue
            lookup("format of activations", form, numbers)
            if name in self.graph.inputs or name in self.graph.outputs:
                raise UsageError("inputs and outputs of the model are float32", where=name)
            self._library.formats[self._step_of[self._written(name)]] = numbers[form]

    def _round_to_grid(self, name: str, grid: Activation) -> None:
        if name in self.graph.inputs:  # done by `_feeds`
            return
        if name in self.graph.outputs:
            raise UsageError("outputs of the model are float32", where=name)
        step = self._step_of[self._written(name)]
        self._library.formats[step] = GRID
        self._library.grids[step] = grid.alpha, grid.beta, grid.gamma

    def _give(self, wanted: Mapping[str, Filters]) -> None:
        """Bring the weight image to ``wanted``; touches only layers that differ from last time."""
        for name in [name for name in self._given if name not in wanted]:
            self._pack(self._layer(name), self.parameters(name))
            del self._given[name]
        for name, given in wanted.items():
            if self._given.get(name) is not given:
                self._pack(self._layer(name), given)
                self._given[name] = given

    def _pack(self, node: Node, given: Filters) -> None:
        """Arrange other constants in the image, in place, as the layer's own plan has them."""
        index = self._index[node.name]
        bias = self.parameters(node.name).bias if given.bias is None else given.bias
        shape = self.graph[node.inputs[1]].shape
        if given.weights.shape != shape:
            raise ValueError(f"{node.name}: filters {given.weights.shape}, not {shape}")
        values = {"filters": given.weights}
        if bias is not None:
            values["bias"] = bias
        for blob in self._choice.layers[index].blobs:
            if node.op not in WEIGHTED and blob.name not in values:
                continue  # a recurrent layer's other operands
            assert blob.arrange is not None, (node.name, blob.name)
            arranged = blob.arrange(values[blob.name].astype(np.float32, copy=False))
            data = format_of(blob.storage).encode(arranged)
            assert len(data) == blob.bytes, (node.name, blob.name)
            at = self._library.places.places[index, blob.name].offset
            self._library.image[at : at + len(data)] = np.frombuffer(data, np.uint8)

    def _layer(self, name: str) -> Node:
        if name not in self.layers:
            raise _unknown("layer with filters", name, self.layers)
        return self.layers[name]


def _unknown(what: str, name: str, known: Iterable[str]) -> EdgeconvError:
    hint = did_you_mean(name, list(known))
    return UsageError(f"no such {what}", got=repr(name), hint=hint)


def _float32(graph: Graph) -> Graph:
    """The graph without storage formats: constants hold what layers compute with anyhow."""
    nodes = tuple(without_storage(n) if n.op in DECODED else n for n in graph.nodes)
    tensors = {
        name: tensor if tensor.storage == FLOAT32 else replace(tensor, storage=FLOAT32)
        for name, tensor in graph.tensors.items()
    }
    return replace(graph, nodes=nodes, tensors=tensors)


def _loaded(graph: Graph, truncate: bool) -> tuple[Choice, MemoryMap, Library]:
    """The network on the first of BOARDS that can be built here."""
    failed: EdgeconvError | None = None
    for name in BOARDS:
        board = boards.load(name)
        choice = choose.select(with_programs(graph, board.target), board.target)
        memory = own_places(choice)
        try:
            return choice, memory, Library(choice, memory, board, truncate=truncate)
        except EdgeconvError as error:
            if error.code is Exit.MISSING_TOOL:
                raise
            failed = error
    assert failed is not None
    raise failed
