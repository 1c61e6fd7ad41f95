"""Concatenation along one axis."""

from __future__ import annotations

from collections.abc import Sequence

from edgeconv.ir.graph import Node
from edgeconv.lowering.options import Stored
from edgeconv.ops.base import ImportContext, Operator, Source
from edgeconv.ops.importing import axis_of, make_node
from edgeconv.ops.kernels.concat import layouts, lower


def _import_concat(source: Source, ctx: ImportContext) -> Sequence[Node]:
    axis = axis_of(source, ctx, source.attrs["axis"], len(ctx.tensor(source.outputs[0]).shape))
    filled = [name for name in source.inputs if ctx.tensor(name).shape[axis]]
    if len(filled) == 1:
        return [make_node(source, "Identity", filled)]
    return [make_node(source, "Concat", filled, axis=axis)]


OPERATOR = Operator(
    name="Concat",
    onnx={"Concat": _import_concat},
    lower=lower,
    layouts=layouts,
    stored=Stored.BOTH,
)
