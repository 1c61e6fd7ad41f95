"""Range, whose bounds ONNX wants to be scalars, of vectors of one number, which exporters write and
engines take (AffineGrid's own definition among them)."""

from __future__ import annotations

from dataclasses import replace

import onnx

from edgeconv.model.frontend.visit import Visit
from edgeconv.model.frontend.walking import Walking


def with_scalars(visit: Visit, walk: Walking) -> Visit:
    """``visit``, of a Range with its known bounds as scalars; others as they are."""
    if visit.node.op_type != "Range" or visit.node.domain not in ("", "ai.onnx"):
        return visit
    values = [walk.constant(name) for name in visit.node.input]
    if not any(value is not None and value.shape == (1,) for value in values):
        return visit
    node = onnx.NodeProto()
    node.CopyFrom(visit.node)
    for at, value in enumerate(values):
        if value is not None and value.shape == (1,):
            node.input[at] = walk.add_constant(f"{node.input[at]}/scalar", value.reshape(()))
    return replace(visit, node=node)
