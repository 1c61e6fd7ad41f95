"""ZipMap, which makes a map of every row of a tensor, as that tensor: a column is a key's value.

Converters of classifiers end networks with it unless they are told not to."""

from __future__ import annotations

from collections.abc import Iterator

import onnx
from onnx import helper

_KEYS = ("classlabels_int64s", "classlabels_strings")
_IDENTITY = 13  # an opset that has it, for models of ai.onnx.ml alone
_SHOWN = 10  # keys that a note lists


def as_tensors(model: onnx.ModelProto) -> tuple[str, ...]:
    """Rewrite ``model``'s ZipMaps in place; what to say of them."""
    made = {node.output[0]: node for node in model.graph.node if _is_zip(node)}
    for value in (*model.graph.output, *model.graph.value_info):
        kind = value.type.sequence_type.elem_type.map_type.value_type
        if value.name in made and kind.HasField("tensor_type"):
            elements = kind.tensor_type.elem_type
            value.type.Clear()
            value.type.tensor_type.elem_type = elements
    if made and not any(each.domain in ("", "ai.onnx") for each in model.opset_import):
        model.opset_import.add(version=_IDENTITY)
    return tuple(_written(node) for node in made.values())


def _is_zip(node: onnx.NodeProto) -> bool:
    plain = node.op_type == "ZipMap" and node.domain == "ai.onnx.ml"
    return plain and len(node.input) == 1 and len(node.output) == 1


def _written(node: onnx.NodeProto) -> str:
    keys = list(_keys(node))
    node.op_type, node.domain = "Identity", ""
    del node.attribute[:]
    listed = ", ".join(keys[:_SHOWN]) + (", ..." if len(keys) > _SHOWN else "")
    return f"map {node.output[0]!r} is a tensor; its columns are those of the keys {listed}"


def _keys(node: onnx.NodeProto) -> Iterator[str]:
    for attribute in node.attribute:
        if attribute.name in _KEYS:
            for key in helper.get_attribute_value(attribute):
                yield key.decode() if isinstance(key, bytes) else str(key)
