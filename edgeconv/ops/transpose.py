"""Permutation of the dimensions."""

from __future__ import annotations

from collections.abc import Sequence

from edgeconv.ir.graph import Node
from edgeconv.ops.base import ImportContext, Operator, Source, Stored
from edgeconv.ops.importing import axis_of, ints, make_node
from edgeconv.ops.kernels.transpose import layouts, lower


def _import_transpose(source: Source, ctx: ImportContext) -> Sequence[Node]:
    rank = len(ctx.tensor(source.inputs[0]).shape)
    perm = ints(source.attrs.get("perm", range(rank)[::-1]))
    return [make_node(source, "Transpose", perm=tuple(axis_of(axis, rank) for axis in perm))]


OPERATOR = Operator(
    name="Transpose",
    onnx={"Transpose": _import_transpose},
    lower=lower,
    layouts=layouts,
    stored=Stored.BOTH,
)
