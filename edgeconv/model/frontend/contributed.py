"""ONNX Runtime's own spelling of operators that ONNX has too: nodes in the standard one.

``onnxruntime.quantization`` writes QuantizeLinear and DequantizeLinear of 4 and 16 bits in the
domain ``com.microsoft`` for models of an opset whose own do not take such types.  They have the
inputs, the attribute and the meaning of those that ONNX has since opset 21
(https://github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md).  Nodes of our own
(`clipped_cells`) become those that they are variants of.
"""

from __future__ import annotations

from collections.abc import Mapping

import onnx

from edgeconv.model.frontend import clipped_cells
from edgeconv.model.frontend.short_lstm import is_short_lstm

_DOMAIN = "com.microsoft"
_SINCE = {"QuantizeLinear": 21, "DequantizeLinear": 21}  # the opset of ONNX that has all the types


def standard(
    node: onnx.NodeProto, opsets: Mapping[str, int]
) -> tuple[onnx.NodeProto, Mapping[str, int]]:
    """``node`` as ONNX spells it, and the opsets it is then to be read by; both as they are where
    it is no such node."""
    if node.domain == clipped_cells.DOMAIN and not is_short_lstm(node):
        return clipped_cells.standard(node), opsets
    since = _SINCE.get(node.op_type, 0) if node.domain == _DOMAIN else 0
    if not since:
        return node, opsets
    plain = onnx.NodeProto()
    plain.CopyFrom(node)
    plain.domain = ""
    return plain, {**opsets, "": max(opsets.get("", 0), since)}
