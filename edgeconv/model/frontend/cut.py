"""A part of a model, from some of its tensors to others, and how its file is read."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import onnx

from edgeconv.base.errors import UsageError
from edgeconv.base.names import did_you_mean
from edgeconv.model.frontend import input_values
from edgeconv.model.frontend.schedule import label, live_values, ordered, reads


@dataclass(frozen=True, slots=True)
class Cut:
    """The tensors that a part of a model begins with and ends with.

    ``inputs``: all that the part is given, in this order; empty for the model's own.  ``outputs``:
    the same of what it returns.  ``values``: inputs of the model that are constants of the part,
    with their numbers as `edgeconv.base.arguments.numbers` reads them.  ``dynamic_quantisation``:
    of TensorFlow Lite's layers that read float32 beside int8 filters, as its own kernels do; no
    part of what a report notes here, since it follows from ``--requantise``.
    """

    inputs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    values: tuple[tuple[str, str], ...] = ()
    dynamic_quantisation: bool = False

    def __bool__(self) -> bool:
        return bool(self.inputs or self.outputs or self.values)

    @property
    def ends(self) -> bool:
        """It begins or ends inside of the model."""
        return bool(self.inputs or self.outputs)

    @classmethod
    def of(cls, noted: Mapping[str, Any] | None) -> Cut:
        """The cut that a report notes (``to_json``), or none."""
        noted = noted or {}
        values = tuple(sorted(noted.get("values", {}).items()))
        return cls(tuple(noted.get("inputs", ())), tuple(noted.get("outputs", ())), values)

    def to_json(self) -> dict[str, Any]:
        """What a report notes of it."""
        noted = {"inputs": list(self.inputs), "outputs": list(self.outputs)}
        return {**noted, "values": dict(self.values)} if self.values else noted


WHOLE = Cut()
_NO_TYPES: Mapping[str, onnx.TypeProto] = MappingProxyType({})


def apply(
    model: onnx.ModelProto,
    cut: Cut,
    types: Mapping[str, onnx.TypeProto] = _NO_TYPES,
    states: Sequence[tuple[str, str]] = (),
) -> None:
    """Make ``model`` the part of it that ``cut`` says, in place.

    Nodes that its outputs do not need go, and so do inputs and constants that nothing reads any
    more: before IR version 4 constants are inputs, and engines refuse one that is none.  An input
    that was computed before has the type that ``types`` says, else that the model states, else that
    follows from its operators: its shape may be unknown.

    Where ``cut.inputs`` names none, an output of ``states``, pairs of an input and an output, is
    one of the part too if the part reads that input.  Inputs with a value become constants first
    (`input_values.fix`).

    Raises EdgeconvError (exit status 2): a name is none of a tensor of the model or given twice, an
    input is a constant or no output depends on it, or an output depends on an input of the model
    that is not among ``cut.inputs``.
    """
    graph = model.graph
    input_values.fix(graph, dict(cut.values))
    if not cut.ends:
        return
    kinds = _kinds(model) | {
        name: onnx.ValueInfoProto(name=name, type=kind) for name, kind in types.items()
    }
    constants = {tensor.name for tensor in graph.initializer}
    constants |= {sparse.values.name for sparse in graph.sparse_initializer}
    own = [value.name for value in graph.input if value.name not in constants]
    _check_names("--input", cut.inputs, {*own, *_written(graph)}, constants)
    _check_names("--output", cut.outputs, {*own, *_written(graph), *constants})
    outputs = cut.outputs or tuple(value.name for value in graph.output)
    _detach(graph, cut.inputs)
    nodes = ordered(graph.node, {*own, *constants, *cut.inputs})
    live = live_values(nodes, outputs)
    while not cut.inputs and (more := [o for i, o in states if i in live and o not in outputs]):
        outputs = (*outputs, *more)
        live = live_values(nodes, outputs)
    _check_inputs(cut, outputs, own, nodes, live)
    kept = cut.inputs or tuple(name for name in own if name in live)
    _replace(graph.node, [node for node in nodes if any(name in live for name in node.output)])
    for at in reversed(range(len(graph.initializer))):
        if graph.initializer[at].name not in live:
            del graph.initializer[at]
    _replace(graph.input, [kinds.get(name, _unknown(name)) for name in kept])
    _replace(graph.output, [kinds.get(name, _unknown(name)) for name in outputs])


def _written(graph: onnx.GraphProto) -> set[str]:
    return {name for node in graph.node for name in node.output if name}


def _check_names(
    option: str, names: Sequence[str], known: Collection[str], constants: Collection[str] = ()
) -> None:
    for position, name in enumerate(names):
        rule, hint = "", ""
        if name in constants:
            rule = "it is a constant of the model"
        elif name not in known:
            rule, hint = "the model has no such tensor", did_you_mean(name, known)
            if option == "--output":
                hint += " (-o is the folder of the project)"
        elif name in names[:position]:
            rule = "it is given twice"
        if rule:
            raise UsageError(option, got=repr(name), rule=rule, hint=hint)


def _check_inputs(
    cut: Cut,
    outputs: Sequence[str],
    own: Iterable[str],
    nodes: Sequence[onnx.NodeProto],
    live: Collection[str],
) -> None:
    """Whether ``cut.inputs`` are what the outputs depend on."""
    for name in cut.inputs:
        if name not in live:
            raise UsageError(
                "--input",
                got=repr(name),
                rule="no output depends on it",
                hint=f"the outputs are {', '.join(map(repr, outputs))}",
            )
    missing = [name for name in own if cut.inputs and name in live and name not in cut.inputs]
    if missing:
        reader = next((n for n in nodes if missing[0] in reads(n) and _is_live(n, live)), None)
        raise UsageError(
            "--input names some of the inputs only",
            got=", ".join(map(repr, cut.inputs)),
            rule=f"the outputs depend on input {missing[0]!r} too"
            + (f", by node {label(reader)!r}" if reader else ""),
            hint=" ".join(("add", *(f"--input {name}" for name in missing))),
        )


def _is_live(node: onnx.NodeProto, live: Collection[str]) -> bool:
    return any(name in live for name in node.output)


def _detach(graph: onnx.GraphProto, inputs: Collection[str]) -> None:
    """Have no node write ``inputs``; one that writes other values too goes on writing those."""
    taken = _written(graph)
    for node in graph.node:
        for position, name in enumerate(node.output):
            if name in inputs:
                replaced = f"{name}/before the cut"
                while replaced in taken:
                    replaced += "'"
                node.output[position] = replaced


def _kinds(model: onnx.ModelProto) -> dict[str, onnx.ValueInfoProto]:
    """What is known of the types of the values, by name."""
    try:
        inferred = onnx.shape_inference.infer_shapes(model, data_prop=True).graph
    except (RuntimeError, ValueError, onnx.shape_inference.InferenceError):
        inferred = model.graph  # what it states itself
    found = {}
    for value in (*inferred.output, *inferred.value_info, *model.graph.input):
        found[value.name] = onnx.ValueInfoProto()
        found[value.name].CopyFrom(value)
    return found


def _unknown(name: str) -> onnx.ValueInfoProto:
    """A float32 tensor of which the model does not say more."""
    value = onnx.ValueInfoProto(name=name)
    value.type.tensor_type.elem_type = onnx.TensorProto.FLOAT
    return value


def _replace(field: Any, values: Sequence[Any]) -> None:
    """The elements of a repeated field, which may be among ``values``."""
    copies = []
    for value in values:
        copies.append(type(value)())
        copies[-1].CopyFrom(value)
    del field[:]
    field.extend(copies)
