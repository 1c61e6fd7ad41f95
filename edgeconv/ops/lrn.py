"""Local response normalisation across channels."""

from __future__ import annotations

from collections.abc import Sequence

from edgeconv.ir.graph import Node
from edgeconv.lowering.options import Stored
from edgeconv.ops.base import ImportContext, Operator, Source
from edgeconv.ops.importing import make_node
from edgeconv.ops.kernels.lrn import layouts, lower


def _import_lrn(source: Source, ctx: ImportContext) -> Sequence[Node]:
    size = int(source.attrs["size"])
    if size < 1:
        raise ctx.reject(source, f"size {size}", "size must be positive")
    factors = {name: float(source.attrs[name]) for name in ("alpha", "beta", "bias")}
    return [make_node(source, "LRN", size=size, **factors)]


OPERATOR = Operator(
    name="LRN",
    onnx={"LRN": _import_lrn},
    lower=lower,
    layouts=layouts,
    fuses=True,
    stored=Stored.BOTH,
)
