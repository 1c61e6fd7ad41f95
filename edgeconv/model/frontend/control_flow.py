"""If, Loop and Scan as the nodes that they come to: nothing is left that jumps.

Bodies are written out as often as they run.  How often must be known, or bounded: where the
condition of a Loop of a known trip count is computed at run time, what it carries is kept from
then on (`Where`); a Loop of which the model states the shape of what it collects runs as often as
that says; both branches of such an If are computed, and one of them chosen.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Protocol

import numpy as np
import onnx
from onnx import helper

from edgeconv.base import limits
from edgeconv.base.errors import EdgeconvError
from edgeconv.ir.loop import ENDLESS, Body
from edgeconv.model.frontend import inlining, scans, walking
from edgeconv.model.frontend.data_dependent import DataDependentShapes
from edgeconv.model.frontend.definitions import DEFINED_IN
from edgeconv.model.frontend.loop_layers import (
    Inside,
    NoLayerError,
    Statement,
    layer_of,
)
from edgeconv.model.frontend.sequences import Sequences
from edgeconv.model.frontend.values import Values, static_shape
from edgeconv.model.frontend.visit import Visit
from edgeconv.model.frontend.walking import shape_of
from edgeconv.model.frontend.weights import Weights

_DECIDING = {"If": 1, "Loop": 2}  # operands that say what runs: by operator, the first
_AT_RUN_TIME = "its condition is computed at run time"


class Walking(walking.Walking, Protocol):
    """What is asked of the walk besides."""

    def free_prefix(self, prefix: str, inner: Collection[str]) -> str: ...

    loops: bool

    def inside(self) -> Inside: ...

    def add_loop(self, body: Body, visit: Visit, operands: Sequence[str]) -> list[str]: ...

    @property
    def values(self) -> Values: ...

    @property
    def sequences(self) -> Sequences: ...

    @property
    def data_dependent(self) -> DataDependentShapes: ...


class _RefusedError(Exception):
    """Why the node is not compiled."""


class ControlFlow:
    """Writes out the control flow of one model."""

    def __init__(self, walk: Walking, weights: Weights) -> None:
        self._walk, self._weights = walk, weights
        self._count = 0  # of names that were made

    def take(self, visit: Visit) -> bool:
        """Whether the node of ``visit`` is one: then it is written out, or refused."""
        ways = {"If": self._if, "Loop": self._loop, "Scan": self._scan}
        way = ways.get(visit.node.op_type) if visit.node.domain in ("", "ai.onnx") else None
        if way is None:
            return False
        try:
            way(visit)
        except _RefusedError as error:
            reasons = (str(error), self._values_to_state(visit))
            self._walk.refuse(visit, "; ".join(filter(None, reasons)))
        return True

    def _values_to_state(self, visit: Visit) -> str:
        """Inputs which, were they known, would say what runs, and how often."""
        return self._walk.values_to_state(visit.node.input[: _DECIDING.get(visit.node.op_type, 0)])

    def _if(self, visit: Visit) -> None:
        branches = {attribute.name: attribute.g for attribute in visit.node.attribute}
        name = visit.node.input[0]
        condition = self._walk.constant(name)
        if condition is None and shape_of(self._walk, name) is None:
            raise _RefusedError(_AT_RUN_TIME)
        if condition is not None:
            if condition.dtype != np.bool_ or condition.size != 1:
                got = f"a condition of {condition.dtype.name} {list(condition.shape)}"
                raise visit.invalid(got, "a condition is one bool")
            branch = branches["then_branch" if condition.all() else "else_branch"]
            self._branch(visit, branch)
            return
        with self._told(visit):
            both = [
                self._body(
                    visit,
                    branches[f"{which}_branch"],
                    (),
                    f"{visit.name}/{which}",
                    visit.node.output,
                )
                for which in ("then", "else")
            ]
        results = zip(*both, strict=False)  # as many at least as the node has outputs
        scalar = self._scalar(visit, name)
        held, data_dependent = self._walk.sequences.elements, self._walk.data_dependent
        for pair, output in zip(results, visit.node.output, strict=False):
            if not output or data_dependent.chosen(visit, scalar, pair, output):
                continue
            parts = self._alike(pair)
            if pair[0] in held:
                chosen = (self._made(visit, "Where", scalar, *part) for part in parts)
                held[output] = tuple(chosen)
            else:
                self._nodes(visit, [("Where", (scalar, *parts[0]), output, {})])

    @contextmanager
    def _told(self, visit: Visit) -> Iterator[None]:
        """What is wrong with a branch that may not be meant, with the way to leave it out."""
        try:
            yield
        except EdgeconvError as error:
            hint = "; ".join(filter(None, (error.hint, self._values_to_state(visit))))
            raise error.with_hint(hint) from None

    def _alike(self, pair: Sequence[str]) -> list[tuple[str, ...]]:
        """Results of two branches, tensor by tensor where they are sequences: of equal shapes."""
        held = self._walk.sequences.elements
        each = [held.get(name, (name,)) for name in pair]
        if len({(name in held, len(names)) for name, names in zip(pair, each, strict=True)}) > 1:
            raise _RefusedError(f"{_AT_RUN_TIME}, and its branches have sequences that differ")
        parts = list(zip(*each, strict=True))
        for part in parts:
            self._same(part, f"{_AT_RUN_TIME}, and its branches have results")
        return parts

    def _branch(self, visit: Visit, graph: onnx.GraphProto) -> None:
        """The one that is known to be taken: its own nodes are what is refused of it."""
        prefix = self._walk.free_prefix(visit.name, inlining.inner_names(graph))
        for name, tensor in inlining.branch_constants(graph, prefix).items():
            self._walk.define(name, self._weights.array(tensor))
        nodes = inlining.inlined_branch(graph, visit.node, prefix)
        scope = replace(visit.scope, origin=visit.scope.origin or visit.name)
        self._walk.run(nodes, scope, visit.live)

    def _scan(self, visit: Visit) -> None:
        """A Scan of opset 9 and later, one sequence at a time."""
        node, attrs = visit.node, _attributes(visit.node)
        if not 1 <= (most := int(attrs["num_scan_inputs"])) <= len(node.input):
            got = f"num_scan_inputs {most} of {len(node.input)} inputs"
            raise visit.invalid(got, "something is scanned, an input")
        if visit.schema is not None and visit.schema.since_version < 9:
            self._scan_each(visit, attrs)
            return
        count, body = int(attrs["num_scan_inputs"]), attrs["body"]
        states, scanned = [*node.input[: len(node.input) - count]], node.input[-count:]
        shapes = [shape for name in scanned if (shape := shape_of(self._walk, name)) is not None]
        if len(shapes) < count:
            raise _RefusedError("the shapes of what it scans are not known")
        axes = scans.each(visit, attrs, "scan_input_axes", count)
        for axis, shape in zip(axes, shapes, strict=True):
            if not -len(shape) <= axis < len(shape):
                got = f"scan_input_axes {axis} of {list(shape)}"
                raise visit.invalid(got, "it is an axis of what is scanned")
        trips = {shape[axis] for axis, shape in zip(axes, shapes, strict=True)}
        if len(trips) != 1:
            raise visit.invalid(f"scans of {sorted(trips)} steps", "all have as many")
        (number,) = trips
        back = scans.each(visit, attrs, "scan_input_directions", count)
        outputs = max(0, len(node.output) - len(states))
        out_axes = scans.each(visit, attrs, "scan_output_axes", outputs)
        out_back = scans.each(visit, attrs, "scan_output_directions", outputs)
        said = Statement(
            body,
            number,
            tuple(states),
            tuple((n, a, bool(b)) for n, a, b in zip(scanned, axes, back, strict=True)),
            tuple((a, bool(b)) for a, b in zip(out_axes, out_back, strict=True)),
        )
        if self._walk.loops and self._layer(visit, said):
            return
        kept: list[list[str]] = []
        least = len(states) + outputs
        for i in range(number):
            where = f"{visit.name}/{i}"
            self._held(visit, number)
            slices = [
                self._taken(visit, name, axis, number - 1 - i if turned else i)
                for name, axis, turned in zip(scanned, axes, back, strict=True)
            ]
            results = self._body(visit, body, (*states, *slices), where, least=least)
            states = results[: len(states)]
            kept.append(results[len(states) :])
        self._finish(visit, states, kept, out_axes, out_back)

    def _scan_each(self, visit: Visit, attrs: Mapping[str, Any]) -> None:
        """Before opset 9: the first dimension of everything is that of as many scans."""
        lengths, *given = visit.node.input
        count = int(attrs["num_scan_inputs"])
        if count > len(given):
            got = f"num_scan_inputs {count} of {len(given)} behind sequence_lens"
            raise visit.invalid(got, "something is scanned, an input")
        shapes = [shape for name in given if (shape := shape_of(self._walk, name)) is not None]
        if lengths or len(shapes) < len(given):
            raise _RefusedError("how long its sequences are is not known")
        batch, steps = scans.batch_of(visit, shapes, count)
        if not batch or not steps:
            raise _RefusedError("it is never run")
        back = scans.each(visit, attrs, "directions", count)
        least = len(visit.node.output)
        each: list[list[str]] = []
        for b in range(batch):
            mine = [self._taken(visit, name, 0, b) for name in given]
            states, rows = mine[:-count], list[list[str]]()
            for i in range(steps):
                self._held(visit, batch * steps)
                slices = [
                    self._taken(visit, name, 0, steps - 1 - i if turned else i)
                    for name, turned in zip(mine[-count:], back, strict=True)
                ]
                where = f"{visit.name}/{b}/{i}"
                results = self._body(visit, attrs["body"], (*states, *slices), where, least=least)
                states, rows = results[: len(states)], [*rows, results[len(states) :]]
            each.append([*states, *(self._stacked(visit, row) for row in zip(*rows, strict=True))])
        for output, parts in zip(visit.node.output, zip(*each, strict=True), strict=False):
            if output:
                self._nodes(visit, [("Identity", [self._stacked(visit, parts)], output, {})])

    def _stacked(self, visit: Visit, names: Sequence[str]) -> str:
        """Tensors of equal shape, one after the other along a first dimension of their own."""
        where = self._constant(visit, np.array([0]))
        rows = [self._made(visit, "Unsqueeze", name, where) for name in names]
        return self._made(visit, "Concat", *rows, axis=0)

    def _loop(self, visit: Visit) -> None:
        node, body = visit.node, _attributes(visit.node)["body"]
        trips, condition, *states = node.input
        known = self._walk.constant(trips) if trips else None
        if known is not None and known.size != 1:
            got = f"a trip count of shape {list(known.shape)}"
            raise visit.invalid(got, "the count of trips is one number")
        most = None if known is None else max(int(known.reshape(-1)[0]), 0)
        if most is not None and most >= ENDLESS:  # which exporters write for none
            most = None
        active = condition  # "": as long as there are trips
        goes = self._walk.constant(condition) if condition else np.True_
        stated = None if most is not None and goes is not None else self._stated_trips(visit)
        if stated is not None:
            most, active = stated, ""
        count = len(node.output) - len(states)

        def rolled() -> bool:
            return stated is None and self._rolled_loop(visit, body, most, goes)

        if self._walk.loops and rolled():
            return
        if stated is None and trips and known is None:
            if rolled():  # even if others are to be written out
                return
            raise _RefusedError("its trip count is computed at run time")
        kept: list[list[str]] = []
        least = 1 + max(len(states), len(node.output))  # the condition is a result, too
        while most is None or len(kept) < most:
            goes_on = self._walk.constant(active) if active else np.True_
            if goes_on is not None and not np.all(goes_on):
                break
            if goes_on is None and most is None:
                if rolled():
                    return
                raise _RefusedError(f"{_AT_RUN_TIME}, and nothing bounds its trip count")
            where = f"{visit.name}/{len(kept)}"
            self._held(visit, len(kept) + 1 if goes_on is not None else most or 0)
            number = self._constant(visit, np.int64(len(kept)))
            truth = self._constant(visit, np.True_)
            given = (number, truth, *states)
            after, *results = self._body(visit, body, given, where, least=least)
            made, scanned = results[: len(states)], results[len(states) :]
            if goes_on is None:
                if scanned and any(node.output[len(states) :]):
                    raise _RefusedError(f"{_AT_RUN_TIME}, and so is the size of what it collects")
                made = self._chosen(visit, active, made, states)
                after = self._and(visit, active, after)
            active, states = after if stated is None else "", made
            kept.append(scanned)
        self._finish(visit, states, kept, [0] * count, [0] * count)

    def _rolled_loop(
        self, visit: Visit, body: onnx.GraphProto, most: int | None, goes: Any
    ) -> bool:
        """Whether a Loop is a layer, which then is written.  ``goes``: its condition at first."""
        trips, condition, *states = visit.node.input
        if goes is not None and not np.all(goes):
            return False
        count = len(visit.node.output) - len(states)
        said = Statement(
            body,
            most,
            tuple(states),
            stacked=((0, False),) * count,
            most=trips if trips and self._walk.constant(trips) is None else "",
            goes=condition if goes is None else "",
            counts=True,
        )
        return self._layer(visit, said)

    def _layer(self, visit: Visit, said: Statement) -> bool:
        """Whether a loop is a layer, which then is written."""
        try:
            found = layer_of(self._walk.inside(), self._walk.values, visit, said, self._weights)
        except NoLayerError:
            return False
        operands = list(found.operands)
        for place, axis in found.axes.items():
            operands[place] = self._moved(visit, operands[place], axis, 0)
        made = self._walk.add_loop(found.body, visit, operands)
        for name, (index, axis) in zip(made, found.outputs.items(), strict=True):
            if axis:
                name = self._moved(visit, name, 0, axis)
            self._write_one(visit, name, visit.node.output[index])
        return True

    def _moved(self, visit: Visit, name: str, axis: int, to: int) -> str:
        """A value with one of its axes elsewhere."""
        shape = shape_of(self._walk, name)
        assert shape is not None, name
        order = [i for i in range(len(shape)) if i != axis % len(shape)]
        order.insert(to, axis % len(shape))
        return self._made(visit, "Transpose", name, perm=order)

    def _write_one(self, visit: Visit, name: str, output: str) -> None:
        self._nodes(visit, [("Identity", (name,), output, {})])

    def _stated_trips(self, visit: Visit) -> int | None:
        """How often a Loop runs, where the model states the shape of what it collects."""
        states = len(visit.node.input) - 2
        for name in filter(None, visit.node.output[states:]):
            kind = self._walk.stated(name)
            shape = static_shape(kind) if kind is not None else None
            if shape:
                return shape[0]
        return None

    def _held(self, visit: Visit, trips: int) -> None:
        where = f"node {visit.name!r} ({visit.node.op_type})"
        limits.held("loop-trips", trips, where, "its body is written out as often as it runs")

    def _body(
        self,
        visit: Visit,
        graph: onnx.GraphProto,
        given: Sequence[str],
        prefix: str,
        called: Sequence[str] = (),
        *,
        least: int = 0,
    ) -> list[str]:
        """The names of its results, of which ``given`` are the inputs; ``called``: what they are
        outside, if that is all that reads them.  Rejects a body of other inputs, and one of less
        results than ``called``, or ``least`` and as many as carry on what was ``given``."""
        if len(graph.input) != len(given):
            got = f"a body of {len(graph.input)} inputs that is given {len(given)}"
            raise visit.invalid(got, "it has an input for each")
        if len(graph.output) < (needed := max(least, len(called))):
            got = f"a body of {len(graph.output)} results where {needed} are read"
            raise visit.invalid(got, "it has a result for each")
        prefix = self._walk.free_prefix(prefix, inlining.inner_names(graph))
        for name, tensor in inlining.branch_constants(graph, prefix).items():
            self._walk.define(name, self._weights.array(tensor))
        nodes, results = inlining.inlined_body(graph, given, prefix)
        demand = self._walk.data_dependent.demand
        if called:
            demand.note_results(results, called)
        else:
            demand.note((), results)
        self._run(visit, nodes, visit.scope.opsets, results)
        return results

    def _run(
        self,
        visit: Visit,
        nodes: Sequence[onnx.NodeProto],
        opsets: Mapping[str, int],
        outputs: Collection[str],
    ) -> None:
        inside = self._walk.run_inside(visit, nodes, opsets, {*outputs, *visit.live})
        if inside:
            raise _RefusedError(f"its body needs {'; '.join(inside.operators or inside.lines())}")

    def _nodes(
        self, visit: Visit, made: Sequence[tuple[str, Sequence[str], str, Mapping[str, Any]]]
    ) -> None:
        """Standard nodes: operator, inputs, output, attributes."""
        nodes = [
            helper.make_node(op_type, [*inputs], [output], name=output, **attrs)
            for op_type, inputs, output, attrs in made
        ]
        opsets = {**visit.scope.opsets, "": max(visit.scope.opsets.get("", 0), DEFINED_IN)}
        self._run(visit, nodes, opsets, [node.output[0] for node in nodes])

    def _write(self, visit: Visit, made: Sequence[tuple[str, Sequence[str]]]) -> None:
        """The outputs of the node, in order."""
        pairs = zip(made, visit.node.output, strict=False)
        self._nodes(visit, [(op, inputs, output, {}) for (op, inputs), output in pairs if output])

    def _finish(
        self,
        visit: Visit,
        states: Sequence[str],
        kept: Sequence[Sequence[str]],
        axes: Sequence[int],
        back: Sequence[int],
    ) -> None:
        """The last states, and what was ``kept`` of each trip, stacked along ``axes``."""
        self._write(visit, [("Identity", (state,)) for state in states])
        for place, output in enumerate(visit.node.output[len(states) :]):
            if output and not kept:
                raise _RefusedError("it is never run, and has results of each trip")
            if output:
                each = [results[place] for results in kept][:: -1 if back[place] else 1]
                where = self._constant(visit, np.array([axes[place]]))
                rows = [self._made(visit, "Unsqueeze", name, where) for name in each]
                self._nodes(visit, [("Concat", rows, output, {"axis": int(axes[place])})])

    def _taken(self, visit: Visit, name: str, axis: int, index: int) -> str:
        """What is at ``index`` of an axis."""
        place = self._constant(visit, np.int64(index))
        return self._made(visit, "Gather", name, place, axis=axis)

    def _chosen(
        self, visit: Visit, active: str, new: Sequence[str], old: Sequence[str]
    ) -> list[str]:
        scalar = self._scalar(visit, active)
        for pair in zip(new, old, strict=True):
            self._same(pair, f"{_AT_RUN_TIME}, and what it carries changes its shape:")
        return [self._made(visit, "Where", scalar, *pair) for pair in zip(new, old, strict=True)]

    def _and(self, visit: Visit, first: str, second: str) -> str:
        operands = (self._scalar(visit, name) for name in (first, second))
        return self._made(visit, "And", *operands)

    def _scalar(self, visit: Visit, name: str) -> str:
        """A condition without dimensions."""
        shape = shape_of(self._walk, name)
        if not shape:
            return name
        if set(shape) != {1}:
            raise visit.invalid(f"a condition of shape {list(shape)}", "a condition is one bool")
        return self._made(visit, "Squeeze", name)

    def _made(self, visit: Visit, op_type: str, *inputs: str, **attrs: Any) -> str:
        """The result of a standard node."""
        name = self._walk.fresh(self._hint(visit))
        self._nodes(visit, [(op_type, inputs, name, attrs)])
        return name

    def _hint(self, visit: Visit) -> str:
        """What to do about a name that no value of a body has."""
        self._count += 1
        return f"{visit.name}.control/{self._count}"

    def _same(self, pair: Sequence[str], what: str) -> None:
        shapes = [shape_of(self._walk, name) for name in pair]
        if None in shapes or len(set(shapes)) > 1:
            told = " and ".join(
                "of an unknown shape" if s is None else str(list(s)) for s in shapes
            )
            raise _RefusedError(f"{what} {told}")

    def _constant(self, visit: Visit, value: Any) -> str:
        return self._walk.add_constant(self._hint(visit), np.asarray(value))


def _attributes(node: onnx.NodeProto) -> dict[str, Any]:
    return {a.name: helper.get_attribute_value(a) for a in node.attribute}
