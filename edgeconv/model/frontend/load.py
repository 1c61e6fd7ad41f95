"""The frontend's entry: a model file -> ir.Graph."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import onnx
from onnx import TensorProto, helper

from edgeconv.base.errors import EdgeconvError, UsageError
from edgeconv.ir.check import check
from edgeconv.ir.edit import Editor
from edgeconv.ir.element_types import is_element_type
from edgeconv.ir.graph import Graph, Texts
from edgeconv.ir.layout import Shape
from edgeconv.model.frontend import (
    cut,
    input_values,
    layer_names,
    model_file,
    preprocess_metadata,
    recurrent_results,
    rejections,
    structured,
    tflite,
)
from edgeconv.model.frontend.audit import audit
from edgeconv.model.frontend.cut import WHOLE, Cut
from edgeconv.model.frontend.definitions import DEFINED_IN
from edgeconv.model.frontend.hints import Walked, where_to_cut
from edgeconv.model.frontend.initial_states import with_initial_states
from edgeconv.model.frontend.input_shapes import Fixed, fix_shapes
from edgeconv.model.frontend.modernising import modernised
from edgeconv.model.frontend.names import opset_of, opset_versions
from edgeconv.model.frontend.schedule import value_names
from edgeconv.model.frontend.states import with_states, with_variables
from edgeconv.model.frontend.visit import Scope, Visit
from edgeconv.model.frontend.walk import Walk
from edgeconv.model.frontend.weights import Weights, non_finite
from edgeconv.model.frontend.written_outputs import with_written_outputs

_OLDEST_OPSET = 7  # the first with today's broadcasting
_NO_SHAPES: Mapping[str, Shape] = MappingProxyType({})
_NO_SIZES: Mapping[str, int] = MappingProxyType({})


def load(
    path: str | Path,
    *,
    input_shapes: Mapping[str, Shape] = _NO_SHAPES,
    cut_at: Cut = WHOLE,
    max_sizes: Mapping[str, int] = _NO_SIZES,
    states: Sequence[tuple[str, str]] = (),
    initial_states: Path | None = None,
    loops: bool = True,
) -> Graph:
    """The network in ``path`` in canonical operators, with static shapes.

    ``input_shapes``: a shape per input name, where the model leaves dimensions free; a free first
    dimension (the batch) is 1 without it.  Whatever depends on constants and shapes only is
    evaluated.  Tensors keep their ONNX names, node names are unique, ``Node.origin`` names the
    model's own nodes.  Weights are read-only views of the mapped file wherever their form allows:
    the file must not change while the graph is in use.  ``cut_at``: where the model begins
    and ends.  ``max_sizes``: the most that is kept of what a node finds at run time, by the name of
    its result.  ``states``: outputs, each with the input that it is in the next run;
    ``initial_states``: an .npz file of what these are before the first one.  ``loops``: Loop and
    Scan are nodes of their own where they can be; else their bodies are written out.

    Raises EdgeconvError: status 2 for a path, a shape or a part that does not fit, 1 for a file
    that is no valid model and for a model that cannot be compiled, with every reason in
    ``details``.
    """
    path = Path(path)
    file = model_file.read(path, dynamic_quantisation=cut_at.dynamic_quantisation)
    file, said = modernised(file, _OLDEST_OPSET)
    opsets = _checked_opsets(file)
    weights = Weights(file)
    audit(file.model, path)
    said += file.notes if file.translated else (*file.notes, *rejections.notes(file.model))
    weights.map_all(file.model)
    _check_once_stated(cut_at, input_shapes)
    digest = model_file.digest(weights.files())
    inside = _types_inside(file, weights, opsets, input_shapes, cut_at.inputs)
    cut.apply(file.model, cut_at, inside, file.state_names)
    graph = file.model.graph
    named = [value.name for value in graph.output]
    if not named:
        raise _invalid(path, "no outputs", "a model must have an output")
    walk, inputs, fixed = _begun(file, weights, input_shapes, max_sizes)
    walk.loops = loops
    strings = [name for name in inputs if name in walk.texts.kept]
    missing = [name for name in named if not name or name not in value_names(graph)]
    if missing:
        raise _invalid(path, f"output {missing[0]!r}", "no node writes it")
    effects = (
        () if cut_at.ends else file.effects
    )  # a part of a model is asked for its outputs alone
    with _told(fixed.claimed):
        walk.run(graph.node, Scope(opsets), [*named, *effects])
    walk.data_dependent.check_limits()
    walk.late_pads.refuse(named)
    texts = [] if walk.problems else walk.texts.finish(named, _outside(opsets))
    data_dependent = walk.finish_data_dependent(named, Scope(opsets))
    outputs = _tensors(path, walk, named, opsets)
    outputs += dict.fromkeys(each.count for each in data_dependent)
    for name in outputs:
        constant = walk.constant(name)
        if constant is not None and not is_element_type(constant.dtype.name):
            walk.problems.output(constant.dtype.name, name)
        if name in walk.rounded:
            walk.problems.sums(name)
    with _told(fixed.claimed):
        walk.problems.check(path, lambda: _where_to_cut(walk, inputs, named))
    notes = [
        *said,
        *input_values.notes(dict(cut_at.values)),
        *fixed.notes,
        *walk.dequantised.notes,
        *walk.data_dependent.notes(),
        *walk.stated_otherwise.notes(),
    ]
    finished = _finished(path, walk, inputs, outputs, notes, digest)
    finished = preprocess_metadata.restored(finished, file.model, weights)
    finished = recurrent_results.joined(finished, file.model)
    if file.translated:
        finished = tflite.halves_away(finished)
    texts = [*(Texts(name, (), walk.texts.examples()) for name in strings), *texts]
    finished = replace(
        finished,
        data_dependent=tuple(data_dependent),
        signature=file.signature,
        texts=tuple(texts),
        layer_names=layer_names.noted(file.model),
    )
    kept = with_states(with_variables(finished, file.states, cut_at), states)
    return with_initial_states(kept, initial_states) if initial_states else kept


def _begun(
    file: model_file.ModelFile,
    weights: Weights,
    input_shapes: Mapping[str, Shape],
    max_sizes: Mapping[str, int] = _NO_SIZES,
) -> tuple[Walk, list[str], Fixed]:
    """The walk over a model before its first node; the names of its inputs, and their shapes."""
    graph = file.model.graph
    constants = {tensor.name for tensor in graph.initializer}
    constants |= {sparse.values.name for sparse in graph.sparse_initializer}
    inputs = [value for value in graph.input if value.name not in constants]
    if not all(value.name for value in inputs):
        raise _invalid(file.path, "an input without a name", "operators take it for an absent one")
    held = structured.given(inputs, input_shapes, value_names(graph), file.path)
    inputs = held.tensors
    fixed = fix_shapes(inputs, held.shapes, file.path, binding=file.translated)
    stated = {
        value.name: value.type
        for value in (*graph.value_info, *graph.output)
        if value.type.tensor_type.elem_type != TensorProto.STRING
    }
    if fixed.claimed:  # and so are the shapes of what is computed from it
        stated = {}
    walk = Walk(weights, file.model.functions, value_names(graph), stated)
    walk.data_dependent.max_sizes = dict(max_sizes)
    for tensor in graph.initializer:
        walk.define(tensor.name, weights.array(tensor))
    for sparse in graph.sparse_initializer:
        walk.define(sparse.values.name, weights.dense(sparse))
    walk.sequences.elements |= held.sequences
    walk.sequences.absent |= held.absent
    for value in inputs:
        kind = onnx.TypeProto()
        kind.CopyFrom(value.type)
        del kind.tensor_type.shape.dim[:]
        strings, shape = kind.tensor_type.elem_type == TensorProto.STRING, fixed.shapes[value.name]
        if strings:
            shape = (*shape, walk.texts.room(value.name))
            kind.tensor_type.elem_type = TensorProto.UINT8
        kind.tensor_type.shape.dim.extend(
            onnx.TensorShapeProto.Dimension(dim_value=dim) for dim in shape
        )
        walk.declare(value.name, kind)
        if strings:
            walk.texts.take_input(value.name, _outside(opset_versions(file.model.opset_import)))
    return walk, [value.name for value in inputs], fixed


def _outside(opsets: Mapping[str, int]) -> Visit:
    """The visit of what is no node of the model."""
    node = onnx.NodeProto(name="strings", op_type="Identity")
    opset = max(opsets.get("", 0), DEFINED_IN)
    return Visit(node, node.name, Scope({**opsets, "": opset}), (), None)


@contextmanager
def _told(claimed: str) -> Iterator[None]:
    """What does not follow from other sizes than the model states, with those."""
    try:
        yield
    except EdgeconvError as error:
        if not claimed:
            raise
        raise error.with_hint("; ".join(filter(None, (error.hint, claimed)))) from None


def _check_once_stated(cut_at: Cut, input_shapes: Mapping[str, Shape]) -> None:
    """EdgeconvError where an input has a value, and is stated to be something else too."""
    for name, text in cut_at.values:
        for option, others in (("--input-shape", input_shapes), ("--input", cut_at.inputs)):
            if name in others:
                raise UsageError(
                    input_values.OPTION,
                    where=f"input {name!r}",
                    got=f"{text}, and {option}",
                    rule="an input of known value is none of the program",
                )


def _where_to_cut(walk: Walk, inputs: Sequence[str], outputs: Sequence[str]) -> str:
    """Which part of the model can be compiled where another cannot; "" where none is known."""
    refused = walk.problems.refused_nodes
    return where_to_cut(
        [
            Walked(step.node, step.name in refused)
            for step in walk.own
            if not all(walk.constant(name) is not None for name in step.node.output if name)
        ],
        inputs,
        outputs,
        walk.problems.refused_values,
        lambda name: name in walk.tensors and walk.constant(name) is None,
    )


def _types_inside(
    file: model_file.ModelFile,
    weights: Weights,
    opsets: dict[str, int],
    input_shapes: Mapping[str, Shape],
    wanted: Collection[str],
) -> dict[str, onnx.TypeProto]:
    """The types of those tensors ``wanted`` of the whole model that can be told: many depend on
    values that onnx's own inference does not follow.  None that the user gives a shape."""
    own = {value.name for value in file.model.graph.input}
    asked = [name for name in wanted if name not in own and name not in input_shapes]
    if not asked:
        return {}
    try:
        given = {
            name: shape for name, shape in input_shapes.items() if name in own or name not in wanted
        }
        walk, _, _ = _begun(file, weights, given)
        walk.run(file.model.graph.node, Scope(opsets), asked)
    except EdgeconvError:  # of what the part need not have
        return {}
    kinds = {name: walk.type_of(name) for name in asked}
    return {name: kind for name, kind in kinds.items() if kind is not None}


def _tensors(path: Path, walk: Walk, names: Sequence[str], opsets: Mapping[str, int]) -> list[str]:
    """The outputs of the program: of a sequence the tensors that it holds."""
    found: list[str] = []
    for name in names:
        if name in walk.sequences.absent:
            raise _invalid(path, f"output {name!r}, which holds nothing", "outputs are tensors")
        if name in walk.sequences.lengths:
            got = f"output {name!r}, a sequence that is split at run time"
            raise _invalid(path, got, "every tensor of it has a static shape")
        held = walk.sequences.elements.get(name)
        if held is None or walk.problems:
            found.append(name)
            continue
        copies = [walk.fresh(structured.element(name, i)) for i in range(len(held))]
        pairs = zip(held, copies, strict=True)
        nodes = [helper.make_node("Identity", [each], [copy], copy) for each, copy in pairs]
        walk.run(nodes, Scope(opsets, origin=name), copies)
        found += copies
    if not found:
        raise _invalid(path, "outputs that hold nothing", "a program has a result")
    return found


def _invalid(path: Path, got: str, rule: str) -> EdgeconvError:
    return EdgeconvError("the model is invalid", where=str(path), got=got, rule=rule)


def _checked_opsets(file: model_file.ModelFile) -> dict[str, int]:
    """Domain -> version; EdgeconvError for a version that cannot be understood."""
    model = file.model
    imports = opset_versions(model.opset_import)
    opset = imports.setdefault("", opset_of(model))
    newest = onnx.defs.onnx_opset_version()
    if not _OLDEST_OPSET <= opset <= newest:
        hint = (
            "convert it with onnx.version_converter"
            if opset < _OLDEST_OPSET
            else "upgrade the onnx package or export for an older opset"
        )
        rule = f"opsets {_OLDEST_OPSET} to {newest} are understood"
        raise EdgeconvError(
            "the model cannot be read",
            where=str(file.path),
            got=f"opset {opset}",
            rule=rule,
            hint=hint,
        )
    beyond = [version for version in imports.values() if not 0 <= version < 1 << 31]
    if beyond:
        raise _invalid(file.path, f"opset {beyond[0]}", "versions are numbers of 31 bits")
    if model.ir_version > onnx.IR_VERSION:
        raise EdgeconvError(
            "the model cannot be read",
            where=str(file.path),
            got=f"IR version {model.ir_version}",
            rule=f"up to {onnx.IR_VERSION} is understood",
            hint="upgrade the onnx package",
        )
    return imports


def _finished(
    path: Path,
    walk: Walk,
    inputs: Sequence[str],
    outputs: Sequence[str],
    notes: Sequence[str],
    digest: Future[str],
) -> Graph:
    """The graph of ``walk``, without what its outputs do not need."""
    graph = Graph(path.stem, tuple(walk.nodes), walk.tensors, tuple(inputs), ())
    graph = Editor(with_written_outputs(walk, graph, outputs)).finish()
    bad = [
        f"constant {tensor.name!r} holds NaN or infinite values"
        for tensor in graph.tensors.values()
        if tensor.data is not None and non_finite(tensor.data)
    ]
    graph = replace(graph, sha256=digest.result(), notes=(*notes, *bad))
    return check(graph, "frontend")
