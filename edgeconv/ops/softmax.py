"""Softmax and its logarithm over one axis."""

from __future__ import annotations

import math
from collections.abc import Sequence

from edgeconv.ir.graph import Node
from edgeconv.ops.base import ImportContext, Importer, Operator, Source
from edgeconv.ops.importing import Chain, axis_of, make_node
from edgeconv.ops.kernels.softmax import layouts, lower


def _importer(log: bool) -> Importer:
    def importer(source: Source, ctx: ImportContext) -> Sequence[Node]:
        shape = ctx.tensor(source.inputs[0]).shape
        axis = axis_of(source, ctx, source.attrs["axis"], len(shape))
        if source.version >= 13:
            return [make_node(source, "Softmax", axis=axis, log=log)]
        # Before opset 13 everything from ``axis`` on is normalised together.
        together = [i for i in range(axis, len(shape)) if shape[i] > 1]
        if len(together) == 1 or (not together and axis < len(shape)):
            return [make_node(source, "Softmax", axis=[*together, axis][0], log=log)]
        chain = Chain(source, ctx)
        flat = (math.prod(shape[:axis]), math.prod(shape[axis:]))
        x = chain.add("flat", "Reshape", source.inputs, flat)
        y = chain.add("softmax", "Softmax", (x,), flat, axis=1, log=log)
        return chain.finish("Reshape", (y,))

    return importer


OPERATOR = Operator(
    name="Softmax",
    onnx={"Softmax": _importer(log=False), "LogSoftmax": _importer(log=True)},
    lower=lower,
    layouts=layouts,
)
