"""Repetition along each axis."""

from __future__ import annotations

from collections.abc import Sequence

from edgeconv.ir.graph import Node
from edgeconv.lowering.options import Stored
from edgeconv.ops.base import ImportContext, Operator, Source
from edgeconv.ops.importing import constant_input, ints, make_node
from edgeconv.ops.kernels.tile import layouts, lower


def _import_tile(source: Source, ctx: ImportContext) -> Sequence[Node]:
    repeats = constant_input(source, ctx, 1, "repeats")
    assert repeats is not None
    if all(count == 1 for count in ints(repeats)):
        return [make_node(source, "Identity", source.inputs[:1])]
    return [make_node(source, "Tile", source.inputs[:1], repeats=ints(repeats))]


OPERATOR = Operator(
    name="Tile",
    onnx={"Tile": _import_tile},
    lower=lower,
    layouts=layouts,
    stored=Stored.BOTH,
)
