"""Selection of slices along one axis by constant indices."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from edgeconv.ir.graph import Node
from edgeconv.lowering.options import Stored
from edgeconv.ops.base import ImportContext, Operator, Source
from edgeconv.ops.importing import axis_of, constant_input, make_node
from edgeconv.ops.kernels.gather import layouts, lower


def _import_gather(source: Source, ctx: ImportContext) -> Sequence[Node]:
    data, given = source.inputs
    shape = ctx.tensor(data).shape
    axis = axis_of(source, ctx, source.attrs["axis"], len(shape))
    indices = constant_input(source, ctx, 1, "indices")
    assert indices is not None
    if indices.size and not -shape[axis] <= indices.min() <= indices.max() < shape[axis]:
        got = f"indices from {indices.min()} to {indices.max()}"
        raise ctx.reject(source, got, f"axis {axis} has {shape[axis]} elements")
    counted = np.where(indices < 0, indices + shape[axis], indices).astype(np.int64)
    chosen = ctx.add_constant(f"{given}/{source.name}", counted)
    return [make_node(source, "Gather", (data, chosen), axis=axis)]


OPERATOR = Operator(
    name="Gather",
    onnx={"Gather": _import_gather},
    lower=lower,
    layouts=layouts,
    stored=Stored.BOTH,
)
