"""The walk over the nodes of a model: each is evaluated, imported, expanded or refused."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np
import onnx
from onnx import helper

from edgeconv.base import limits
from edgeconv.base.errors import EdgeconvError
from edgeconv.base.names import untaken
from edgeconv.ir.array_types import array_type
from edgeconv.ir.element_types import FLOAT32
from edgeconv.ir.graph import DataDependentOutput, Node
from edgeconv.ir.layout import Shape
from edgeconv.ir.loop import LOOP, Body
from edgeconv.kernels.ops import importers, typed_importers
from edgeconv.kernels.ops.base import Importer
from edgeconv.model.frontend import (
    contributed,
    fold_bounds,
    folding,
    gradients,
    inlining,
    input_values,
    short_lstm,
    signature,
)
from edgeconv.model.frontend.checked_shapes import StatedOtherwise, by_definition, with_shapes
from edgeconv.model.frontend.clipped_cells import DOMAIN as OWN_DOMAIN
from edgeconv.model.frontend.control_flow import ControlFlow
from edgeconv.model.frontend.data_dependent import DataDependentShapes
from edgeconv.model.frontend.definitions import DEFINED_BESIDE, DEFINED_IN, Definitions, row_of
from edgeconv.model.frontend.inference import infer
from edgeconv.model.frontend.late_pads import UNKNOWN_SHAPE, LatePads
from edgeconv.model.frontend.loop_layers import Inside
from edgeconv.model.frontend.names import call_key, function_key, opset_versions, qualified
from edgeconv.model.frontend.problems import Problems, RejectedNodeError
from edgeconv.model.frontend.range_bounds import with_scalars
from edgeconv.model.frontend.schedule import label, live_values, ordered, reads
from edgeconv.model.frontend.sequences import Sequences
from edgeconv.model.frontend.sources import schema_of, source_of
from edgeconv.model.frontend.stated_shapes import before, with_stated_shapes
from edgeconv.model.frontend.string_values import StringValues
from edgeconv.model.frontend.texts import Texts
from edgeconv.model.frontend.values import Values, static_shape
from edgeconv.model.frontend.visit import INVALID, Scope, Visit, body_of
from edgeconv.model.frontend.weights import Weights
from edgeconv.model.frontend.widening import Widening


class Walk(StringValues):
    """Imports nodes in order; the ``ImportContext`` of the importers.

    ``stated``: types that the model itself states of its values.  ``nodes`` is the graph so far,
    ``problems`` what was refused, ``own`` the model's own nodes that were met.  ``loops``: Loop and
    Scan are nodes of their own where they can be.
    """

    loops = True

    def __init__(
        self,
        weights: Weights,
        functions: Iterable[onnx.FunctionProto],
        reserved: Collection[str],
        stated: Mapping[str, onnx.TypeProto],
    ) -> None:
        super().__init__(reserved)
        self.nodes: list[Node] = []
        self._weights = weights
        self.sequences = Sequences(self)
        self.late_pads = LatePads(self)
        self.data_dependent = DataDependentShapes(self, weights.array)
        self.texts = Texts(self, self.data_dependent)
        self._control_flow = ControlFlow(self, weights)
        self._stated = dict(stated)
        self._functions = {function_key(f): f for f in functions}
        self._names: set[str] = set()
        self.own: list[Visit] = []
        self.stated_otherwise = StatedOtherwise()
        self._widening = Widening(self)
        self._definitions = Definitions(self.constant, self._dtype, self._shape, reserved)
        self._deadline = limits.Deadline.of("model-seconds", "the model")
        self._written = 0  # nodes
        self._folded = 0  # bytes

    def run(self, nodes: Sequence[onnx.NodeProto], scope: Scope, outputs: Collection[str]) -> None:
        """Import those of ``nodes`` that ``outputs`` depend on."""
        self._written = limits.held("model-nodes", self._written + len(nodes), "the model")
        self._awaited.update(name for node in nodes for name in node.output)
        known = {*self.tensors, *self._types, *self._unknown}
        known.update(self._without_tensors())
        nodes = ordered(gradients.reading_results(nodes), known)
        self._stated = before(nodes, self._stated, lambda name: self._shape(name) == ())
        live = live_values(nodes, outputs)
        self.data_dependent.demand.note(nodes, () if scope.origin else outputs)
        for node in nodes:
            if any(name in live for name in node.output):
                opsets = scope.opsets
                if node.domain == OWN_DOMAIN or call_key(node) not in self._functions:
                    node, opsets = contributed.standard(node, opsets)
                schema, within = schema_of(node, opsets), replace(scope, opsets=opsets)
                visit = Visit(node, self._unique(label(node)), within, live, schema)
                visit = with_scalars(visit, self)
                if not scope.origin:
                    self.own.append(visit)
                self._take(visit)

    def finish_data_dependent(
        self, outputs: Sequence[str], scope: Scope
    ) -> list[DataDependentOutput]:
        """Write those of ``outputs`` that are data-dependent, and the counts."""
        if self.problems:
            return []
        node = onnx.NodeProto(name=self._unique("counted"), op_type="Identity")
        return self.data_dependent.finish(Visit(node, node.name, scope, outputs, None), outputs)

    @property
    def values(self) -> Values:
        """What is known of values: the walk itself."""
        return self

    def inside(self) -> Inside:
        """A walk over a body that is to be a graph of its own, with the functions of the model and
        what is known of its constants."""
        inner = Walk(self._weights, self._functions.values(), self._taken[3], {})
        inner.dequantised, inner._names = self.dequantised, self._names
        inner._awaited.update(self.tensors)

        def is_plain() -> bool:
            return not (inner.problems or inner._without_tensors() or inner.rounded)

        return Inside(inner, inner.nodes, inner.run, is_plain)

    def add_loop(self, body: Body, visit: Visit, operands: Sequence[str]) -> list[str]:
        """Append the node of a loop; returns the names of its outputs."""
        names = []
        for result in body.results:
            names.append(self.fresh(f"{visit.name}/{result}"))
            kind = helper.np_dtype_to_tensor_dtype(array_type(body.graph[result].dtype))
            self.declare(names[-1], helper.make_tensor_type_proto(kind, body.shape(result)))
        node = Node(visit.name, LOOP, tuple(operands), tuple(names), {"body": body})
        self._append([node], visit)
        return names

    def _unique(self, hint: str) -> str:
        name = untaken(hint, self._names)
        self._names.add(name)
        return name

    def free_prefix(self, prefix: str, inner: Collection[str]) -> str:
        """What values named ``inner`` within a node are to be named under: ``prefix``, or that with
        more behind it where a value has one of these names."""
        while any(self._is_taken(f"{prefix}/{name}") for name in inner):
            prefix += ".body"
        return prefix

    def _take(self, visit: Visit) -> None:
        """The first way that applies."""
        self._deadline.check()
        self._check(visit)
        ways: tuple[Callable[[Visit], bool], ...] = (
            self._import_own,
            self._call_function,
            lambda visit: gradients.take(self, visit, self.own),
            self._control_flow.take,
            self.sequences.take,
            self.texts.take,
            self.late_pads.take,
            self.data_dependent.take,
            self._fold,
            self._define,
            self._import,
            self._expand,
        )
        if not any(way(visit) for way in ways):
            why = "not supported" if visit.schema else "unknown to ONNX in this opset"
            self.refuse(visit, visit.said() or why)
        for name in visit.node.output:
            known = name in self._without_tensors() or self._is_known(name)
            if name in visit.live and not known:
                self.refuse(visit, f"nothing in its definition writes its output {name}")

    def _without_tensors(self) -> Collection[str]:
        """Values that no tensor has the name of."""
        late = self.late_pads.names() | self.data_dependent.names() | self.texts.names()
        return self.sequences.names() | late if late else self.sequences.names()

    def _check(self, visit: Visit) -> None:
        """EdgeconvError when the node breaks its operator's signature, or texts are no UTF-8."""
        known = visit.schema is not None or row_of(visit.node) is not None
        for attribute in visit.node.attribute if known else ():
            try:
                for text in (attribute.s, *attribute.strings):
                    text.decode()
            except UnicodeDecodeError as error:
                raise visit.invalid(f"attribute {attribute.name!r}: {error}") from None
        if visit.schema is None:
            return
        try:
            signature.check(visit.node, visit.scope.opsets)
        except INVALID as error:
            raise visit.invalid(str(error)) from None

    def refuse(self, visit: Visit, reason: str) -> None:
        """Note a problem, and what can be told of the outputs nevertheless."""
        self.problems.node(visit.operator, visit.scope.origin or visit.name, reason)
        self._skip(visit)

    def _skip(self, visit: Visit) -> None:
        kinds: Mapping[str, onnx.TypeProto] = {}
        open_ = self._unknown.union(self._without_tensors()) - self.texts.names()
        if visit.schema and not open_.intersection(reads(visit.node)):
            try:
                kinds = self._infer(visit, visit.schema)
            except EdgeconvError:
                kinds = {}
        for name in filter(None, visit.node.output):
            if name in kinds:
                self.declare(name, kinds[name], report=False)
            else:
                self._unknown.add(name)

    def values_to_state(self, names: Sequence[str]) -> str:
        """Which inputs make ``names`` constants, if few numbers do: a way out, "" for none."""
        return input_values.way_out(names, self.nodes, self.tensors)

    def stated(self, name: str) -> onnx.TypeProto | None:
        """The type that the model itself states of a value."""
        return self._stated.get(name)

    def stated_shape(self, name: str) -> Shape | None:
        """The shape that the model states, where that is static."""
        kind = self._stated.get(name)
        return static_shape(kind) if kind is not None else None

    def _kind_of(self, name: str) -> onnx.TypeProto:
        """The type of a value that may be a sequence."""
        return self.sequences.type_of(name) or self._type(name)

    def _infer(self, visit: Visit, schema: onnx.defs.OpSchema) -> dict[str, onnx.TypeProto]:
        """Types of the outputs; EdgeconvError when the node contradicts its operator."""
        names = reads(visit.node)
        kinds = {name: self._kind_of(name) for name in names}
        return infer(visit, schema, kinds, {name: self.constant(name) for name in names})

    def _shapes(self, visit: Visit, schema: onnx.defs.OpSchema) -> dict[str, Shape] | None:
        """The shapes of the outputs that the operator's importer has a formula of; None where that
        rejects the node, which is noted."""
        if not all(name in self.tensors for name in reads(visit.node)):
            return {}
        try:
            return by_definition(visit.node, visit.name, schema, self)
        except RejectedNodeError as error:
            self._reject(visit, error)
            self._unknown.update(filter(None, visit.node.output))
            return None

    def _import_own(self, visit: Visit) -> bool:
        """An operator of ours that ONNX does not have."""
        if not short_lstm.is_short_lstm(visit.node):
            return False
        if self._unknown.intersection(reads(visit.node)):
            self._skip(visit)
            return True
        for name, kind in short_lstm.results_of(visit.node, self).items():
            if name in visit.live:
                self.declare(name, kind)
        try:
            made = short_lstm.nodes_of(visit.node, visit.name, visit.live, self)
            self._append(made, visit)
        except RejectedNodeError as error:
            self._reject(visit, error)
        return True

    def _call_function(self, visit: Visit) -> bool:
        """A function of the model itself: its nodes in place of the call."""
        node, scope = visit.node, visit.scope
        key = call_key(node)
        function = self._functions.get(key)
        if function is None:
            return False
        if key in scope.calls:
            raise visit.invalid("a function that calls itself", "functions must not be recursive")
        attributes = {a.name: a for a in (*function.attribute_proto, *node.attribute)}
        nodes, opsets = self._inlined(visit, function, attributes)
        inner = Scope(opsets, scope.origin or visit.name, (*scope.calls, key))
        self.run(nodes, inner, visit.live)
        return True

    def _inlined(
        self,
        visit: Visit,
        function: onnx.FunctionProto,
        attributes: inlining.Attributes,
    ) -> tuple[list[onnx.NodeProto], dict[str, int]]:
        """The nodes of ``function`` in place of the node that is visited, and their opsets."""
        prefix = self.free_prefix(visit.name, inlining.inner_names(function))
        nodes = inlining.inlined_function(function, visit.node, attributes, prefix)
        return nodes, {**visit.scope.opsets, **opset_versions(function.opset_import)}

    def _fold(self, visit: Visit) -> bool:
        """A node whose value is known: evaluate it."""
        node, names = visit.node, reads(visit.node)
        if visit.schema is None or visit.schema.domain:
            return False
        if node.op_type == "Constant" and [a.name for a in node.attribute] == ["value"]:
            self.define(node.output[0], self._weights.array(node.attribute[0].t))
            return True
        needed = folding.needed_inputs(node, names)
        if not needed and self._unknown.intersection(names):
            self._skip(visit)  # of a shape that what was refused leaves open
            return True
        if any(self.constant(name) is None for name in needed):
            return False
        values = {name: self._value_or_placeholder(name) for name in names}
        known = {name: value for name, value in values.items() if value is not None}
        if len(known) < len(values):
            return False
        kinds = self._infer(visit, visit.schema)
        shapes = self._shapes(visit, visit.schema)
        if shapes is None:
            return True
        size = fold_bounds.allowed(node, known, with_shapes(kinds, shapes), self._folded)
        if size is None:
            return False
        self._folded += size
        results = folding.evaluate(node, visit.schema, visit.scope.opsets, known)
        if results is None:
            return False
        if any(have.shape != want for have, want in zip(results, shapes.values(), strict=False)):
            return False  # the evaluator has another definition
        for name, value in zip(filter(None, node.output), results, strict=True):
            self.define(name, value)
        self.dequantised.note(node, self.constant)
        return True

    def _import(self, visit: Visit) -> bool:
        """An operator with an importer: its canonical nodes."""
        node, schema = visit.node, visit.schema
        operator = qualified(node)
        known = operator in importers() or operator in typed_importers()
        if not known or schema is None or schema.deprecated:
            return False
        names = reads(node)
        if self._unknown.intersection(names):
            self._skip(visit)
            return True
        kinds = self._infer(visit, schema)
        used = [name for name in node.output if name in visit.live]
        if all(self.constant(name) is not None for name in names):
            self.refuse(visit, folding.unevaluated({name: self.constant(name) for name in names}))
            return True
        shapes = self._shapes(visit, schema)
        if shapes is None:
            return True
        kinds = with_shapes(kinds, shapes)
        kinds |= with_stated_shapes(used, kinds, self._stated)
        found = [static_shape(kinds[name]) if name in kinds else None for name in used]
        if None in found and self.late_pads.keep(visit):
            return True
        if None in found:
            reasons = (UNKNOWN_SHAPE, self.values_to_state(names))
            self.refuse(visit, "; ".join(filter(None, reasons)))
            return True
        for shape in found:
            if min(shape or (), default=0) < 0:
                raise visit.invalid(f"an output of shape {shape}", "sizes are not negative")
        self.stated_otherwise.note(node, used, found, self._stated)
        computable = all(name in self.tensors for name in names)
        for name in used:
            computable &= self.declare(name, kinds[name])
        if not computable:  # a type that is reported where the value arises
            return True
        filled = [name for name in used if self.tensors[name].size]
        for name in set(used).difference(filled):  # nothing to compute: a constant
            tensor = self.tensors[name]
            self.define(name, np.zeros(tensor.shape, tensor.dtype))
        if filled:
            self._import_node(visit, schema, filled)
        return True

    def _import_node(self, visit: Visit, schema: onnx.defs.OpSchema, wanted: Sequence[str]) -> None:
        """Append the canonical nodes that make the outputs ``wanted``."""
        widened = self._widening.of(visit.node, wanted)
        node, results = widened.node, widened.results
        made = [results.get(name, name) for name in wanted]
        importer, why = self._importer_of(node, made)
        if importer is None:
            self.refuse(visit, why)
            return
        self._append(widened.before, visit)
        try:
            self._append(importer(source_of(node, visit.name, schema, made), self), visit)
        except RejectedNodeError as error:
            self._reject(visit, error)
            return
        self._append(self._widening.after(widened), visit)

    def _importer_of(
        self, node: onnx.NodeProto, made: Sequence[str]
    ) -> tuple[Importer | None, str]:
        """The importer of the operator for the types that the node reads and writes at run time;
        why there is none."""
        tensors = [self.tensors[name] for name in (*reads(node), *made)]
        kinds = {each.dtype for each in tensors if self.constant(each.name) is None} - {FLOAT32}
        found = typed_importers().get(qualified(node))
        if not kinds:
            found = importers().get(qualified(node), found)
        why = f"reads or writes {' and '.join(sorted(kinds))}, which it is not compiled for"
        return found, why

    def _reject(self, visit: Visit, error: RejectedNodeError) -> None:
        reason = "; ".join(filter(None, (f"got {error.got}", error.rule, error.hint)))
        self.problems.node(visit.operator, visit.scope.origin or visit.name, reason)

    def _define(self, visit: Visit) -> bool:
        """An operator that ``definitions`` has: what it is in standard ones."""
        row = row_of(visit.node)
        if row is None:
            return False
        if self._unknown.intersection(reads(visit.node)):
            self._skip(visit)
            return True
        try:
            definition = self._definitions.of(visit.node, row)
        except RejectedNodeError as error:
            self._reject(visit, error)
            self._skip(visit)
            return True
        for name, value in definition.constants.items():
            self.define(name, value)
        self._whole |= definition.whole
        self.rounded |= definition.rounded
        opsets = {**visit.scope.opsets, **DEFINED_BESIDE}
        opsets[""] = max(opsets.get("", 0), DEFINED_IN)
        inside = self.run_inside(visit, definition.nodes, opsets, visit.live)
        self.problems.take_values(inside, visit.node.output)
        if inside:
            reason = "; ".join(inside.lines())
            self.problems.node(visit.operator, visit.scope.origin or visit.name, reason)
        return True

    def run_inside(
        self,
        visit: Visit,
        nodes: Sequence[onnx.NodeProto],
        opsets: Mapping[str, int],
        outputs: Collection[str],
    ) -> Problems:
        """Import those of ``nodes``, which are part of ``visit``, that ``outputs`` depend on; what
        of them is unsupported."""
        outside, self.problems = self.problems, Problems()
        origin = visit.scope.origin or visit.name
        try:
            self.run(nodes, replace(visit.scope, opsets=opsets, origin=origin), outputs)
        finally:
            inside, self.problems = self.problems, outside
        return inside

    def _append(self, nodes: Sequence[Node], visit: Visit) -> None:
        origin = (visit.scope.origin or visit.name,)
        for node in nodes:
            name = node.name if node.name == visit.name else self._unique(node.name)
            self.nodes.append(replace(node, name=name, origin=node.origin or origin))

    def _expand(self, visit: Visit) -> bool:
        """An operator that ONNX defines by others: its definition in place of the node."""
        if visit.schema is None or self._unknown.intersection(reads(visit.node)):
            return False
        function = body_of(visit, visit.schema, self._kind_of)
        if function is None:
            return False
        attributes = {
            name: attribute.default_value
            for name, attribute in visit.schema.attributes.items()
            if attribute.default_value.type
        }
        attributes |= {attribute.name: attribute for attribute in visit.node.attribute}
        first = next(iter(visit.node.input), "")
        kind = self._kind_of(first) if first else onnx.TypeProto()
        if wrong := signature.misplaced(attributes, kind):
            raise visit.invalid(wrong, "it is an axis of the first input")
        nodes, opsets = self._inlined(visit, function, attributes)
        inside = self.run_inside(visit, nodes, opsets, visit.live)
        if inside:
            # Not its parts are unsupported but the node itself.
            reason = "; ".join(inside.operators or inside.lines())
            self.problems.node(
                visit.operator, visit.scope.origin or visit.name, f"its definition needs {reason}"
            )
        return True
