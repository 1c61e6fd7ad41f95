"""Broadcast to the output's shape."""

from __future__ import annotations

from collections.abc import Sequence

from edgeconv.ir.graph import Node
from edgeconv.lowering.options import Stored
from edgeconv.ops.base import ImportContext, Operator, Source
from edgeconv.ops.importing import make_node
from edgeconv.ops.kernels.expand import layouts, lower


def _import_expand(source: Source, ctx: ImportContext) -> Sequence[Node]:
    data = source.inputs[:1]
    same = ctx.tensor(data[0]).shape == ctx.tensor(source.outputs[0]).shape
    return [make_node(source, "Identity" if same else "Expand", data)]


OPERATOR = Operator(
    name="Expand",
    onnx={"Expand": _import_expand},
    lower=lower,
    layouts=layouts,
    stored=Stored.BOTH,
)
