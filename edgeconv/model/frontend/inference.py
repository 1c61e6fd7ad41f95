"""Types of a node's outputs by onnx's shape inference, and nodes in a spelling that it understands
where it falls short of ONNX Runtime."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import onnx
from onnx import helper, numpy_helper, shape_inference

from edgeconv.ir.layout import Shape
from edgeconv.model.frontend import signature
from edgeconv.model.frontend.values import static_shape
from edgeconv.model.frontend.visit import INVALID, Visit
from edgeconv.model.frontend.weights import Values

_SHOWN = 1024  # constants up to this size are shown to shape inference
_IMAGE = 4  # dimensions
_BEYOND = 1 << 63  # what shape inference cannot count

Spelling = tuple[onnx.defs.OpSchema, onnx.NodeProto]


def infer(
    visit: Visit,
    schema: onnx.defs.OpSchema,
    kinds: dict[str, onnx.TypeProto],
    known: Mapping[str, Values | None],
) -> dict[str, onnx.TypeProto]:
    """Types of the outputs, by name, from those of the inputs and the values that are ``known`` of
    these; EdgeconvError where the node contradicts its operator."""
    data = {
        name: numpy_helper.from_array(value, name)
        for name, value in known.items()
        if value is not None and value.size <= _SHOWN
    }
    wrong = signature.mistyped(schema, visit.node, kinds)
    if wrong := wrong or signature.misvalued(visit.node, known):
        raise visit.invalid(wrong, "inputs are of the types that the operator takes")
    shape = next((static_shape(kind) for kind in kinds.values()), None)
    try:
        schema, node = inferable(schema, visit.node, shape)
        return shape_inference.infer_node_outputs(
            schema,
            node,
            kinds,
            data,
            opset_imports=[helper.make_opsetid(d, v) for d, v in visit.scope.opsets.items()],
        )
    except INVALID as error:
        raise visit.invalid(str(error)) from None


def inferable(schema: onnx.defs.OpSchema, node: onnx.NodeProto, shape: Shape | None) -> Spelling:
    """``node`` of ``schema``, or a node whose outputs have the shapes that those of ``node`` have.

    ``shape``: of the first input, None if unknown.  Raises ValueError for sizes that contradict the
    operator where its inference would calculate with them, in 64 bits and without a look at what
    is left over.
    """
    known = _WAYS_OF_LEARNED if schema.domain == "ai.onnx.ml" else {} if schema.domain else _WAYS
    way = None if shape is None else known.get(schema.name)
    if way is not None and shape is not None:
        schema, node = way(schema, node, shape)
    return schema, _spelled_out(schema, node)


def _spelled_out(schema: onnx.defs.OpSchema, node: onnx.NodeProto) -> onnx.NodeProto:
    """``node`` with the defaults of its operator: inference takes others for some of them, as two
    sides for STFT, whose default is one."""
    given = {attribute.name for attribute in node.attribute}
    defaults = [
        attribute.default_value
        for name, attribute in schema.attributes.items()
        if name not in given and attribute.default_value.type
    ]
    if not defaults:
        return node
    spelled = onnx.NodeProto()
    spelled.CopyFrom(node)
    spelled.attribute.extend(defaults)
    return spelled


def _slice(schema: onnx.defs.OpSchema, node: onnx.NodeProto, shape: Shape) -> Spelling:
    """Slice-1 with ascending axes and bounds within the input.

    Its inference gives up on all else, which exporters wrote nevertheless.
    """
    if schema.since_version > 1:
        return schema, node
    given = {a.name: list(a.ints) for a in node.attribute}
    starts, ends = given.get("starts", []), given.get("ends", [])
    axes = np.array(given.get("axes", range(len(starts))), np.int64)
    axes = np.where(axes < 0, axes + len(shape), axes)
    sound = len(starts) == len(ends) == axes.size == len(set(axes.tolist()))
    if not sound or not all(0 <= axis < len(shape) for axis in axes):
        return schema, node  # for shape inference to reject
    order = np.argsort(axes).tolist()
    bounds = [slice(starts[i], ends[i]).indices(shape[axes[i]]) for i in order]
    plain = helper.make_node(
        "Slice",
        node.input,
        node.output,
        node.name,
        axes=axes[order].tolist(),
        starts=[begin for begin, _, _ in bounds],
        ends=[max(begin, end) for begin, end, _ in bounds],
    )
    return schema, plain


def _pool(schema: onnx.defs.OpSchema, node: onnx.NodeProto, _: Shape) -> Spelling:
    """A pool with ``ceil_mode`` by the newest version's inference.

    That of older versions counts windows that start in the padding at the end.  No framework has
    them, and the newest version's text says so.
    """
    if any(a.name == "ceil_mode" and a.i for a in node.attribute):
        schema = onnx.defs.get_schema(schema.name)
    return schema, node


def _same(schema: onnx.defs.OpSchema, node: onnx.NodeProto, _: Shape) -> Spelling:
    """An output like the first input, where onnx infers through the operator's definition only."""
    identity = helper.make_node("Identity", node.input[:1], node.output[:1], node.name)
    return onnx.defs.get_schema(identity.op_type), identity


def _compared(schema: onnx.defs.OpSchema, node: onnx.NodeProto, _: Shape) -> Spelling:
    """By version 16: version 12, which only has a definition, infers no shape."""
    return onnx.defs.get_schema(schema.name, 16), node


def _depth_to_space(schema: onnx.defs.OpSchema, node: onnx.NodeProto, shape: Shape) -> Spelling:
    """Whole blocks of channels."""
    block = _block_size(node)
    if len(shape) == _IMAGE and shape[1] % block**2:
        raise ValueError(
            f"{shape[1]} channels where a multiple of {block**2}, blocksize^2, is needed"
        )
    return schema, node


def _space_to_depth(schema: onnx.defs.OpSchema, node: onnx.NodeProto, shape: Shape) -> Spelling:
    """Whole blocks of pixels, and channels that can be counted."""
    block = _block_size(node)
    if len(shape) != _IMAGE:
        return schema, node
    if shape[2] % block or shape[3] % block:
        raise ValueError(
            f"{shape[2]}x{shape[3]} pixels where multiples of blocksize {block} are needed"
        )
    if shape[1] * block**2 >= _BEYOND:
        raise ValueError(f"{shape[1]} channels in blocks of {block}x{block}: beyond 63 bits")
    return schema, node


def _block_size(node: onnx.NodeProto) -> int:
    """Raises ValueError for what is no size."""
    block = next((a.i for a in node.attribute if a.name == "blocksize"), 0)
    if block < 1:
        raise ValueError(f"blocksize {block} where a positive number is needed")
    return int(block)


def _trees(schema: onnx.defs.OpSchema, node: onnx.NodeProto, _: Shape) -> Spelling:
    """By version 3, the first that infers a shape."""
    return onnx.defs.get_schema(schema.name, 3, schema.domain), node


_WAYS_OF_LEARNED: dict[str, Callable[[onnx.defs.OpSchema, onnx.NodeProto, Shape], Spelling]] = {
    "TreeEnsembleRegressor": _trees,
}
_WAYS: dict[str, Callable[[onnx.defs.OpSchema, onnx.NodeProto, Shape], Spelling]] = {
    "AveragePool": _pool,
    "DepthToSpace": _depth_to_space,
    "GreaterOrEqual": _compared,
    "GroupNormalization": _same,
    "LessOrEqual": _compared,
    "MaxPool": _pool,
    "MeanVarianceNormalization": _same,
    "Slice": _slice,
    "SpaceToDepth": _space_to_depth,
}
