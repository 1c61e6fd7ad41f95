"""A model as a reference engine reads it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper, numpy_helper

from edgeconv.ir.strings import decoded
from edgeconv.model.frontend.cut import Cut
from edgeconv.model.frontend.defined import define, show_reals
from edgeconv.model.frontend.definitions import DEFINED_IN, qonnx
from edgeconv.model.frontend.definitions.dropout import may_train
from edgeconv.model.frontend.engine_process import EVALUATOR_WIDE, ONNXRUNTIME
from edgeconv.model.frontend.mapped_constants import SELF
from edgeconv.model.frontend.model_file import ModelFile
from edgeconv.model.frontend.modernising import raised
from edgeconv.model.frontend.schedule import subgraphs
from edgeconv.model.frontend.weights import Weights

Values = npt.NDArray[Any]
_FEW = 1024  # elements of a constant that may be a shape
_NARROW = frozenset(
    kind
    for name, kind in TensorProto.DataType.items()
    if name == "FLOAT16" or name.startswith(("BFLOAT16", "FLOAT8", "FLOAT6", "FLOAT4"))
)


def read_by(
    engine: str, file: ModelFile, *, defined: bool
) -> tuple[onnx.ModelProto, dict[str, Values]]:
    """The model of ``file`` for an engine, and constants that are not in it, by name.

    ``defined``: operators on integers are their definitions, as they always are for the evaluator
    of the onnx package.
    """
    model = onnx.ModelProto()
    model.CopyFrom(file.model)
    if any(node.domain in qonnx.DOMAINS for node in model.graph.node):
        model = raised(model, DEFINED_IN)  # no engine knows these operators but as definitions
    weights = Weights(file)
    (define if defined or engine != ONNXRUNTIME else show_reals)(model.graph, weights)
    for node in model.graph.node:
        _restore_attributes(node, file)
    _count_axes_from_front(model)
    if engine == ONNXRUNTIME:
        _name_files(model.graph, file, weights)
        _drop_names(model)
        return model, {}
    if engine == EVALUATOR_WIDE:
        _name_conversions(model)
    outside = {t.name: weights.array(t) for t in model.graph.initializer if _is_outside(t)}
    kept = [tensor for tensor in model.graph.initializer if tensor.name not in outside]
    copies = [TensorProto.FromString(tensor.SerializeToString()) for tensor in kept]
    del model.graph.initializer[:]
    model.graph.initializer.extend(copies)
    return model, outside


def as_read(inputs: Mapping[str, Values], graph: onnx.GraphProto) -> dict[str, Values]:
    """Integers as they are, and all else of the type that ``graph`` states: float32 if none."""
    types = {value.name: value.type.tensor_type.elem_type for value in graph.input}

    def converted(name: str, value: Values) -> Values:
        if types.get(name) == TensorProto.STRING:
            return decoded(value)
        if value.dtype.kind in "iu":
            return np.asarray(value, order="C")
        stated = types.get(name) or TensorProto.FLOAT
        return np.asarray(value, helper.tensor_dtype_to_np_dtype(stated), order="C")

    return {name: converted(name, value) for name, value in inputs.items()}


def draws(graph: onnx.GraphProto) -> bool:
    """Whether a Dropout may be in training mode: ONNX Runtime draws other numbers of its seed than
    ONNX's evaluator does, which programs follow."""
    asked = {node.input[2] for node in graph.node if node.op_type == "Dropout" and may_train(node)}
    tensors = {tensor.name: tensor for tensor in graph.initializer}
    for node in graph.node:
        if node.op_type == "Constant" and node.attribute and node.attribute[0].HasField("t"):
            tensors[node.output[0]] = node.attribute[0].t
    known = asked.intersection(tensors)
    return asked > known or any(numpy_helper.to_array(tensors[name]).any() for name in known)


def fix_inputs(graph: onnx.GraphProto, inputs: Mapping[str, Values], cut_at: Cut) -> None:
    """Give the inputs the shapes of the arrays, and drop what the model derived from others."""
    for value in graph.input:
        if value.name in inputs and value.type.HasField("tensor_type"):
            if value.name in cut_at.inputs:  # of which the model may not state the type
                kind = helper.np_dtype_to_tensor_dtype(inputs[value.name].dtype)
                value.type.tensor_type.elem_type = kind
            shape, sizes = value.type.tensor_type.shape, inputs[value.name].shape
            if value.type.tensor_type.elem_type == TensorProto.STRING:
                sizes = sizes[:-1]  # without that of the bytes
            del shape.dim[:]
            shape.dim.extend(onnx.TensorShapeProto.Dimension(dim_value=d) for d in sizes)
    del graph.value_info[:]
    for value in graph.output:
        if value.type.HasField("tensor_type"):
            value.type.tensor_type.ClearField("shape")


def _name_files(graph: onnx.GraphProto, file: ModelFile, weights: Weights) -> None:
    """Say where the data of constants is that ONNX Runtime reads itself; what may be a shape is put
    into the model, since it infers shapes before it reads files."""
    for tensor in graph.initializer:
        small = math.prod(tensor.dims) <= _FEW
        if (
            _is_outside(tensor)
            and small
            and tensor.data_type in (TensorProto.INT32, TensorProto.INT64)
        ):
            tensor.CopyFrom(numpy_helper.from_array(weights.array(tensor), tensor.name))
        for entry in tensor.external_data:
            if entry.key == "location" and entry.value == SELF:
                entry.value = file.path.name


def _drop_names(model: onnx.ModelProto) -> None:
    """Drops the names of nodes, which mean nothing; ONNX Runtime refuses equal ones."""
    for graph in (model.graph, *model.functions):
        for node in _all_nodes(graph):
            node.ClearField("name")


def _all_nodes(graph: Any) -> Iterator[onnx.NodeProto]:
    for node in graph.node:
        yield node
        for inner in subgraphs(node):
            yield from _all_nodes(inner)


def _name_conversions(model: onnx.ModelProto) -> None:
    """Has CastLike to a type narrower than float32 name the type: the evaluator in float64 has no
    value of that type.

    A conversion to such a type rounds, and nothing else does: a chain of operators on float16 is
    computed without rounding, as compiled programs and ONNX Runtime do it.
    """
    nodes = [node for node in model.graph.node if node.op_type == "CastLike"]
    types = _inferred_types(model) if nodes else {}
    for node in nodes:
        name = node.output[0]
        if name in types and (kind := types[name].elem_type) in _NARROW:
            node.op_type = "Cast"
            del node.input[1:]
            node.attribute.append(helper.make_attribute("to", kind))


def _count_axes_from_front(model: onnx.ModelProto) -> None:
    """Has no Resize name axes from the back, which neither engine reads as ONNX has them:
    ONNX Runtime 1.32 leaves such dimensions as they are where there is an aspect policy, and the
    evaluator 1.23 fails."""
    counted = [
        (node.input[0], attribute)
        for node in model.graph.node
        for attribute in node.attribute
        if node.op_type == "Resize" and attribute.name == "axes" and min(attribute.ints) < 0
    ]
    types = _inferred_types(model) if counted else {}
    for name, attribute in counted:
        if name in types and types[name].HasField("shape"):
            rank = len(types[name].shape.dim)
            attribute.ints[:] = [axis % rank for axis in attribute.ints]


def _inferred_types(model: onnx.ModelProto) -> dict[str, onnx.TypeProto.Tensor]:
    """The types of values, as far as they can be inferred."""
    try:
        graph = onnx.shape_inference.infer_shapes(model).graph
    except (RuntimeError, ValueError, onnx.shape_inference.InferenceError):
        graph = model.graph
    stated = (*graph.input, *graph.value_info, *graph.output)
    return {value.name: value.type.tensor_type for value in stated}


def _restore_attributes(node: onnx.NodeProto, file: ModelFile) -> None:
    """Put the data of constants inside of nodes back: engines look for initializers only."""
    tensors = [attribute.t for attribute in node.attribute if attribute.HasField("t")]
    for graph in subgraphs(node):
        tensors += graph.initializer
        for inner in graph.node:
            _restore_attributes(inner, file)
    for tensor in tensors:
        _restore(tensor, file)


def _restore(tensor: onnx.TensorProto, file: ModelFile) -> None:
    """Put the data of a constant back that is a part of the model file."""
    entries = {entry.key: entry.value for entry in tensor.external_data}
    if entries.get("location") == SELF:
        start = int(entries["offset"])
        tensor.raw_data = file.content[start : start + int(entries["length"])]
        tensor.ClearField("external_data")
        tensor.ClearField("data_location")


def _is_outside(tensor: onnx.TensorProto) -> bool:
    """Whether its data is not in the message."""
    return tensor.data_location == TensorProto.EXTERNAL
