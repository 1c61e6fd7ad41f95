"""Loop and Scan as one node, whose body is a graph of its own that is compiled once.

A body is such a graph where nothing of it changes from trip to trip but the values of what it
carries and of the rows that it reads: element types and shapes stay, and neither depends on which
trip it is.  Others are written out (`control_flow`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
import onnx
from onnx import helper

from edgeconv.base.errors import EdgeconvError
from edgeconv.ir.array_types import array_type
from edgeconv.ir.check import check
from edgeconv.ir.edit import Editor
from edgeconv.ir.element_types import is_element_type
from edgeconv.ir.graph import CHECK, Graph, Node, State
from edgeconv.ir.layout import Shape
from edgeconv.ir.loop import Body
from edgeconv.model.frontend import inlining
from edgeconv.model.frontend.loop_trips import counted_trips
from edgeconv.model.frontend.schedule import reads
from edgeconv.model.frontend.values import Values
from edgeconv.model.frontend.visit import Scope, Visit
from edgeconv.model.frontend.weights import Weights
from edgeconv.model.frontend.written_outputs import with_written_outputs

_WRITTEN_OUT = 3  # trips up to which bodies are written out: of each is known which it is


@dataclass(frozen=True)
class Statement:
    """What a Loop or Scan node says.

    ``trips``: the most, None where that is not known; ``most`` and ``goes``: the values that say so
    at run time, "" for none; ``states``: first values; ``scanned``: each value with its axis and
    whether it is read from the end; ``stacked``: of each row the axis and whether it is written
    from the end.  ``counts``: the body's first two inputs are the number of the trip and a bool,
    its first result is whether there is another one.
    """

    body: onnx.GraphProto
    trips: int | None
    states: tuple[str, ...]
    scanned: tuple[tuple[str, int, bool], ...] = ()
    stacked: tuple[tuple[int, bool], ...] = ()
    most: str = ""
    goes: str = ""
    counts: bool = False


class Inside(NamedTuple):
    """The walk over a body, with the constants of the model: its ``values`` and ``nodes``, ``run``,
    which imports nodes, and ``is_plain``: whether all of them were, as tensors of static shapes."""

    values: Values
    nodes: list[Node]
    run: Callable[[Sequence[onnx.NodeProto], Scope, Collection[str]], None]
    is_plain: Callable[[], bool]


@dataclass(frozen=True)
class LoopLayer:
    """The node of a loop, without its outputs.

    ``operands``: the node's inputs; ``axes``: of sequences among them, by position, the one that is
    to be the first.  ``outputs``: by position those of the ONNX node that something reads, each
    with the axis that rows lie along, in the order of the body's results.
    """

    body: Body
    operands: tuple[str, ...]
    axes: Mapping[int, int]
    outputs: Mapping[int, int]


class NoLayerError(Exception):
    """Why a loop is written out."""


def layer_of(
    inside: Inside, outside: Values, visit: Visit, said: Statement, weights: Weights
) -> LoopLayer:
    """The loop as a layer.  Raises NoLayerError where it is none."""
    try:
        return _Maker(inside, outside, visit, said, weights).made()
    except EdgeconvError as error:
        raise NoLayerError(str(error)) from None


@dataclass
class _Inputs:
    """What the inputs of a body are called in it; ``given``: what they are called outside."""

    all: list[str]
    counter: str = ""
    states: list[str] = field(default_factory=list)
    scanned: list[str] = field(default_factory=list)
    given: dict[str, str] = field(default_factory=dict)


class _Maker:
    def __init__(
        self, inside: Inside, outside: Values, visit: Visit, said: Statement, weights: Weights
    ) -> None:
        self.run, self.nodes, self.is_plain = inside.run, inside.nodes, inside.is_plain
        self.values, self.outside = inside.values, outside
        self.visit, self.said, self.weights = visit, said, weights

    def made(self) -> LoopLayer:
        """See `layer_of`."""
        said, visit = self.said, self.visit
        _require_many(said.trips)
        inputs = self._inputs()
        for name, tensor in inlining.branch_constants(said.body, visit.name).items():
            self.values.define(name, self.weights.array(tensor))
        nodes, results = inlining.inlined_body(said.body, inputs.all, visit.name)
        nodes, results = self._captured(nodes, results, inputs)
        goes, *made = results if said.counts else ("", *results)
        self.run(nodes, visit.scope, results)
        if not self.is_plain() or any(node.op == CHECK for node in self.nodes):
            raise NoLayerError("its body is more than tensors of static shapes")
        carried = dict(zip(inputs.states, made, strict=False))
        rows = made[len(carried) :]
        self._require_same(carried)
        trips, goes = self._trips(nodes, goes, carried)
        live = [i for i, name in enumerate(visit.node.output) if name in visit.live]
        known = trips is not None and not (goes or said.goes)
        if not known and any(i >= len(carried) for i in live):
            raise NoLayerError("how many rows it collects is not known")
        kept = {i: rows[i - len(carried)] for i in live if i >= len(carried)}
        needed = self._needed(
            carried,
            [inputs.states[i] for i in live if i < len(carried)],
            [*kept.values(), *filter(None, [goes])],
        )
        return self._layer(inputs, {n: carried[n] for n in needed}, kept, live, trips, goes)

    def _inputs(self) -> _Inputs:
        """The inputs of the body, declared."""
        said = self.said
        named = [f"{self.visit.name}/{value.name}" for value in said.body.input]
        found = _Inputs(named)
        if len(set(named)) < len(named):
            raise NoLayerError("two inputs of its body have one name")
        own = list(named)
        if said.counts:
            found.counter, truth, *own = named
            self._declare(found.counter, "int64", ())
            self.values.define(truth, np.array(True))
        found.states, found.scanned = own[: len(said.states)], own[len(said.states) :]
        if len(found.scanned) != len(said.scanned):
            raise NoLayerError("its body has another number of inputs")
        for name, outer in zip(found.states, said.states, strict=True):
            self._declare(name, *self._outside(outer))
        for name, (outer, axis, _) in zip(found.scanned, said.scanned, strict=True):
            dtype, shape = self._outside(outer)
            axis %= len(shape)
            self._declare(name, dtype, shape[:axis] + shape[axis + 1 :])
        return found

    def _declare(self, name: str, dtype: str, shape: Shape) -> None:
        kind = helper.np_dtype_to_tensor_dtype(array_type(dtype))
        self.values.declare(name, helper.make_tensor_type_proto(kind, shape))

    def _outside(self, name: str) -> tuple[str, Shape]:
        """Type and shape of a value around the loop."""
        tensor = self.outside.tensors.get(name)
        if tensor is None or not is_element_type(tensor.dtype) or not tensor.size:
            raise NoLayerError(f"{name} is no tensor that is computed with")
        return tensor.dtype, tensor.shape

    def _captured(
        self, nodes: Sequence[onnx.NodeProto], results: Sequence[str], inputs: _Inputs
    ) -> tuple[list[onnx.NodeProto], list[str]]:
        """``nodes`` and ``results`` with what the body takes from around it: constants as they are,
        values of run time as further inputs."""
        own = {*inputs.all, *self.values.tensors, *(n for node in nodes for n in node.output)}
        for name in dict.fromkeys((*(n for node in nodes for n in reads(node)), *results)):
            if name in own:
                continue
            value = self.outside.constant(name)
            if value is not None:
                self.values.define(name, value)
                continue
            inner = f"{self.visit.name}/outside/{name}"
            self._declare(inner, *self._outside(name))
            inputs.given[inner] = name
        names = {outer: inner for inner, outer in inputs.given.items()}
        return inlining.renamed(nodes, names), [names.get(each, each) for each in results]

    def _require_same(self, carried: Mapping[str, str]) -> None:
        for name, result in carried.items():
            old, new = self.values.tensors[name], self.values.tensors.get(result)
            if new is None or (new.shape, new.dtype) != (old.shape, old.dtype):
                raise NoLayerError(f"what it carries as {name} changes its type or shape")

    def _trips(
        self, nodes: Sequence[onnx.NodeProto], goes: str, carried: Mapping[str, str]
    ) -> tuple[int | None, str]:
        """How often it runs at most, and the condition that may end it before, "" for none."""
        said, most = self.said, self.said.trips
        known = self.values.constant(goes) if goes else np.True_
        if known is not None:
            if not known.all():
                raise NoLayerError("one trip")
            if most is None and not said.most:
                raise NoLayerError("nothing ends it")
            return most, ""
        if self.values.tensors[goes].size != 1:
            raise NoLayerError("its condition is no bool")
        first = {
            name: value
            for name, outer in zip(carried, said.states, strict=True)
            if (value := self.outside.constant(outer)) is not None
        }
        constants = {n: t.data for n, t in self.values.tensors.items() if t.data is not None}
        counted = counted_trips(nodes, self.visit.scope.opsets, goes, carried, first, constants)
        if counted is None or said.most:
            return most, goes
        counted = counted if most is None else min(counted, most)
        _require_many(counted)
        return counted, ""

    def _needed(
        self, carried: Mapping[str, str], states: Sequence[str], results: Sequence[str]
    ) -> list[str]:
        """The states that results and ``states`` depend on, over all trips, in order."""
        writers = {name: node for node in self.nodes for name in node.outputs if name}
        wanted, seen = [*results, *states], set[str]()
        while wanted:
            name = wanted.pop()
            if name in seen:
                continue
            seen.add(name)
            wanted += writers[name].reads() if name in writers else ()
            wanted += [carried[name]] if name in carried else []
        return [name for name in carried if name in seen]

    def _layer(
        self,
        inputs: _Inputs,
        carried: Mapping[str, str],
        rows: Mapping[int, str],
        live: Sequence[int],
        trips: int | None,
        goes: str,
    ) -> LoopLayer:
        """``rows``: by position among the outputs."""
        said, visit = self.said, self.visit
        ports = [*filter(None, [inputs.counter]), *carried, *inputs.scanned, *inputs.given]
        graph = Graph(visit.name, tuple(self.nodes), self.values.tensors, tuple(ports), ())
        results = [*carried.values(), *rows.values(), *filter(None, [goes])]
        graph = with_written_outputs(self.values, graph, results)
        written = iter(graph.outputs)
        states = tuple(State(name, next(written), row_major=True) for name in carried)
        row_of = {i: next(written) for i in rows}
        condition = next(written) if goes else ""
        graph = replace(graph, states=states)
        graph = check(Editor(graph).finish(), "frontend")
        read = {name for node in graph.nodes for name in node.reads()}
        scanned = [i for i, name in enumerate(inputs.scanned) if name in read]
        given = tuple(name for name in inputs.given if name in read)
        counter = inputs.counter if inputs.counter in read else ""
        ports = [*filter(None, [counter]), *carried, *(inputs.scanned[i] for i in scanned), *given]
        tensors = {n: t for n, t in graph.tensors.items() if n in ports or n not in graph.inputs}
        graph = replace(graph, inputs=tuple(ports), tensors=tensors)
        kept = {i: inputs.states[i] if i < len(said.states) else row_of[i] for i in live}
        backwards = {inputs.scanned[i] for i in scanned if said.scanned[i][2]}
        stacked = {i: said.stacked[i - len(said.states)] for i in rows}
        body = Body(
            graph,
            trips,
            tuple(inputs.scanned[i] for i in scanned),
            given,
            tuple(kept.values()),
            frozenset(backwards | {row_of[i] for i in rows if stacked[i][1]}),
            counter,
            condition,
        )
        first = dict(zip(inputs.states, said.states, strict=True))
        operands = (
            said.most,
            said.goes,
            *(self._first(first[name]) for name in carried),
            *(said.scanned[i][0] for i in scanned),
            *(inputs.given[name] for name in given),
        )
        at = 2 + len(carried)
        axes = {at + n: said.scanned[i][1] for n, i in enumerate(scanned)}
        outputs = dict.fromkeys(kept, 0)
        outputs |= {i: stacked[i][0] % (1 + len(graph[row_of[i]].shape)) for i in rows}
        axes = {
            place: axis
            for place, axis in axes.items()
            if axis % len(self._outside(operands[place])[1])
        }
        return LoopLayer(body, operands, axes, outputs)

    def _first(self, name: str) -> str:
        """The first value of a state, "" for zeros."""
        value = self.outside.constant(name)
        return name if value is None or value.any() else ""


def _require_many(trips: int | None) -> None:
    if trips is not None and trips <= _WRITTEN_OUT:
        raise NoLayerError(f"{trips} trips")
