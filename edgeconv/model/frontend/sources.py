"""ONNX nodes as importers see them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import onnx
from onnx import helper, numpy_helper

from edgeconv.kernels.ops.base import Source
from edgeconv.kernels.ops.recurrent_import import CELL_CLIP
from edgeconv.model.frontend.names import domain_of


def schema_of(node: onnx.NodeProto, opsets: Mapping[str, int]) -> onnx.defs.OpSchema | None:
    """The definition of the node's operator; None outside of the operator sets that onnx knows."""
    domain = domain_of(node.domain)
    try:
        return onnx.defs.get_schema(node.op_type, opsets.get(domain, 0), domain)
    except onnx.defs.SchemaError:
        return None


def source_of(
    node: onnx.NodeProto, name: str, schema: onnx.defs.OpSchema, wanted: Collection[str]
) -> Source:
    """``node``, which is called ``name``: defaults filled in, outputs that are not wanted blank."""
    attrs = {
        name: _attribute(attribute.default_value)
        for name, attribute in schema.attributes.items()
        if attribute.default_value.type
    }
    attrs |= {attribute.name: _attribute(attribute) for attribute in node.attribute}
    attrs |= {p.key: float(p.value) for p in node.metadata_props if p.key == CELL_CLIP}
    outputs = tuple(name if name in wanted else "" for name in node.output)
    return Source(node.op_type, schema.since_version, name, tuple(node.input), outputs, attrs)


def _attribute(attribute: onnx.AttributeProto) -> Any:
    value = helper.get_attribute_value(attribute)
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    if isinstance(value, onnx.TensorProto):
        return numpy_helper.to_array(value)
    if attribute.type == onnx.AttributeProto.STRINGS:
        return [text.decode(errors="replace") for text in value]
    return list(value) if isinstance(value, Sequence) and not isinstance(value, str) else value
