"""Permutation of the dimensions."""

from __future__ import annotations

from collections.abc import Sequence

from edgeconv.ir.graph import Node
from edgeconv.lowering.options import Stored
from edgeconv.ops.base import ImportContext, Operator, Source
from edgeconv.ops.importing import axes_of, ints, make_node
from edgeconv.ops.kernels.transpose import layouts, lower


def _import_transpose(source: Source, ctx: ImportContext) -> Sequence[Node]:
    rank = len(ctx.tensor(source.inputs[0]).shape)
    perm = axes_of(source, ctx, ints(source.attrs.get("perm", range(rank)[::-1])), rank)
    if len(perm) != rank:
        raise ctx.reject(source, f"perm {list(perm)}", f"an entry for each of {rank} dimensions")
    return [make_node(source, "Transpose", perm=perm)]


OPERATOR = Operator(
    name="Transpose",
    onnx={"Transpose": _import_transpose},
    lower=lower,
    layouts=layouts,
    stored=Stored.BOTH,
)
