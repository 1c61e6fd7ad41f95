"""Models of opsets before the oldest one that is understood, by ONNX's own version converter."""

from __future__ import annotations

from dataclasses import replace

import onnx
from onnx import shape_inference, version_converter

from edgeconv.base.errors import EdgeconvError
from edgeconv.base.names import untaken
from edgeconv.model.frontend.model_file import ModelFile
from edgeconv.model.frontend.names import opset_of
from edgeconv.model.frontend.visit import INVALID


def modernised(file: ModelFile, oldest: int) -> tuple[ModelFile, tuple[str, ...]]:
    """``file`` as it is, or as a model of opset ``oldest`` where its own is older; what to say of
    that.  Raises EdgeconvError where that cannot be done."""
    opset = opset_of(file.model)
    if file.translated or not 1 <= opset < oldest:
        return file, ()
    try:
        whole = onnx.load(file.path)
        onnx.checker.check_model(whole)
        model = version_converter.convert_version(whole, oldest)
        _spread_slopes(model)
    except (*INVALID, OSError) as error:
        raise EdgeconvError(
            "the model cannot be read",
            where=str(file.path),
            got=f"opset {opset}: {' '.join(str(error).split())[:200]}",
            rule=f"what is older than opset {oldest} is converted by onnx.version_converter",
            hint="export it for a newer opset",
        ) from None
    note = f"opset {opset} is converted to {oldest} by onnx.version_converter"
    return replace(file, model=model), (note,)


def raised(model: onnx.ModelProto, opset: int) -> onnx.ModelProto:
    """``model`` in ``opset`` where its own is older and can be converted; else as it is.  Operators
    of other domains stay what they are."""
    if not 1 <= opset_of(model) < opset:
        return model
    try:
        return version_converter.convert_version(model, opset)
    except INVALID:
        return model


def _spread_slopes(model: onnx.ModelProto) -> None:
    """Slopes of PRelu, which before opset 7 are one per channel: the converter leaves them as they
    are, and they would be those of the last dimension."""
    graph = shape_inference.infer_shapes(model).graph
    known = [*graph.input, *graph.value_info, *graph.output]
    ranks = {value.name: len(value.type.tensor_type.shape.dim) for value in known}
    constants = {tensor.name: tensor for tensor in model.graph.initializer}
    for node in model.graph.node:
        if node.op_type != "PRelu" or len(node.input) != 2:
            continue
        slope = constants.get(node.input[1])
        rank = ranks.get(node.input[0], 0)
        if slope is None or len(slope.dims) != 1 or slope.dims[0] == 1 or rank < 3:
            continue
        column = onnx.TensorProto()
        column.CopyFrom(slope)
        column.name = untaken(f"{slope.name}/by_channel", constants, ranks)
        column.dims.extend([1] * (rank - 2))
        constants[column.name] = column
        model.graph.initializer.append(column)
        node.input[1] = column.name
