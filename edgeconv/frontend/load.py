"""The frontend's entry: a model file -> ir.Graph."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import onnx

from edgeconv.errors import EdgeconvError
from edgeconv.frontend import model_file
from edgeconv.frontend.input_shapes import fix_shapes
from edgeconv.frontend.walk import Scope, Walk
from edgeconv.frontend.weights import Weights, non_finite
from edgeconv.ir.check import check
from edgeconv.ir.edit import Editor
from edgeconv.ir.graph import Graph, Node, Tensor
from edgeconv.ir.layout import Shape

_OLDEST_OPSET = 7  # the first with today's broadcasting
_NO_SHAPES: Mapping[str, Shape] = MappingProxyType({})


def load(path: str | Path, *, input_shapes: Mapping[str, Shape] = _NO_SHAPES) -> Graph:
    """The network in ``path`` in canonical operators, with static shapes.

    ``input_shapes``: a shape per input name, where the model leaves dimensions free; a free first
    dimension (the batch) is 1 without it.  Whatever depends on constants and shapes only is
    evaluated.  Tensors keep their ONNX names, node names are unique, ``Node.origin`` names the
    model's own nodes.  Weights are read-only views of the mapped file wherever their form allows:
    the file must not change while the graph is in use.

    Raises EdgeconvError: status 2 for a path or a shape that does not fit, 1 for a file that is no
    valid model and for a model that cannot be compiled, with every reason in ``details``.
    """
    path = Path(path)
    file = model_file.read(path)
    weights = Weights(file)
    opsets = _checked_opsets(file)
    weights.map_all(file.model)
    digest = model_file.digest(weights.files())
    graph = file.model.graph
    walk = Walk(weights, file.model.functions, _value_names(graph))
    for tensor in graph.initializer:
        walk.define(tensor.name, weights.array(tensor))
    for sparse in graph.sparse_initializer:
        walk.define(sparse.values.name, weights.dense(sparse))
    inputs = [value for value in graph.input if value.name not in walk.tensors]
    outputs = [value.name for value in graph.output]
    _check_ends(path, inputs, outputs, _value_names(graph))
    shapes, notes = fix_shapes(inputs, input_shapes, path)
    for value in inputs:
        kind = onnx.TypeProto()
        kind.CopyFrom(value.type)
        del kind.tensor_type.shape.dim[:]
        kind.tensor_type.shape.dim.extend(
            onnx.TensorShapeProto.Dimension(dim_value=dim) for dim in shapes[value.name]
        )
        walk.declare(value.name, kind)
    walk.run(graph.node, Scope(opsets), outputs)
    walk.problems.check(path)
    for name in outputs:
        if not walk.tensors[name].size:
            got = f"output {name!r} of shape {list(walk.tensors[name].shape)}"
            raise _invalid(path, got, "an output must have elements")
    notes = [*notes, *walk.grids.notes]
    return _finished(path, walk, [value.name for value in inputs], outputs, notes, digest)


def _check_ends(
    path: Path,
    inputs: Sequence[onnx.ValueInfoProto],
    outputs: Sequence[str],
    known: Collection[str],
) -> None:
    """Inputs must be tensors, and outputs there and written."""
    others = [value.name for value in inputs if not value.type.HasField("tensor_type")]
    if others:
        raise _invalid(path, f"input {others[0]!r}, which is no tensor", "inputs must be tensors")
    if not outputs:
        raise _invalid(path, "no outputs", "a model must have an output")
    missing = [name for name in outputs if name not in known]
    if missing:
        raise _invalid(path, f"output {missing[0]!r}", "no node writes it")


def _invalid(path: Path, got: str, rule: str) -> EdgeconvError:
    return EdgeconvError("the model is invalid", where=str(path), got=got, rule=rule)


def _value_names(graph: onnx.GraphProto) -> set[str]:
    """Every name that the model gives a value, so that no other is made up."""
    names = {name for node in graph.node for name in node.output}
    names.update(tensor.name for tensor in graph.initializer)
    names.update(sparse.values.name for sparse in graph.sparse_initializer)
    return names.union(value.name for value in graph.input)


def _checked_opsets(file: model_file.ModelFile) -> dict[str, int]:
    """Domain -> version; EdgeconvError for a version that cannot be understood."""
    model = file.model
    imports = {("" if o.domain == "ai.onnx" else o.domain): o.version for o in model.opset_import}
    opset = imports.setdefault("", 1)
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
    graph = Editor(_with_written_outputs(walk, graph, outputs)).finish()
    bad = [
        f"constant {tensor.name!r} holds NaN or infinite values"
        for tensor in graph.tensors.values()
        if tensor.data is not None and non_finite(tensor.data)
    ]
    graph = replace(graph, sha256=digest.result(), notes=(*notes, *bad))
    return check(graph, "frontend")


def _with_written_outputs(walk: Walk, graph: Graph, outputs: Sequence[str]) -> Graph:
    """``graph`` with ``outputs``, each of them written by a node of its own.

    An output that is a constant, an input or listed before is copied by an Identity.  A constant
    leaves its name to the copy; the others keep it, and the copy has a new one.
    """
    nodes, tensors, written = list(graph.nodes), walk.tensors, []
    for output in outputs:
        name, like = output, tensors[output]
        if like.data is not None:
            source = walk.add_constant(f"{output}/value", like.data)
            nodes = [replace(n, inputs=_renamed(n.inputs, output, source)) for n in nodes]
            tensors[output] = Tensor(output, like.shape, like.dtype)
        elif output in graph.inputs or output in written:
            name, source = walk.add_tensor(f"{output}/copy", like.shape, like), output
        if name != output or like.data is not None:
            copy = f"{name}/Identity"
            nodes.append(Node(copy, "Identity", (source,), (name,), origin=(output,)))
        written.append(name)
    return replace(graph, nodes=tuple(nodes), tensors=tensors, outputs=tuple(written))


def _renamed(names: Sequence[str], old: str, new: str) -> tuple[str, ...]:
    return tuple(new if name == old else name for name in names)
