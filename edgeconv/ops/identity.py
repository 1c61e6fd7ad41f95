"""Operators that copy their input at inference."""

from __future__ import annotations

from collections.abc import Sequence

from edgeconv.ir.graph import Node
from edgeconv.ops.base import ImportContext, Operator, Source
from edgeconv.ops.importing import constant_input, make_node
from edgeconv.ops.kernels.reshape import layouts, lower


def _import_copy(source: Source, ctx: ImportContext) -> Sequence[Node]:
    """Also Cast and CastLike: the frontend admits float32 values only, before and after."""
    del ctx
    return [make_node(source, "Identity", source.inputs[:1])]


def _import_dropout(source: Source, ctx: ImportContext) -> Sequence[Node]:
    ratio = constant_input(source, ctx, 1, "ratio")
    training = constant_input(source, ctx, 2, "training_mode")
    drops = training is not None and training.any() and (ratio is None or ratio.any())
    if drops or any(source.outputs[1:]):
        rule = "only inference is compiled"
        raise ctx.reject(source, "training mode or a mask", rule, "export the model in eval mode")
    return [make_node(source, "Identity", source.inputs[:1])]


OPERATOR = Operator(
    name="Identity",
    lower=lower,
    layouts=layouts,
    onnx={
        "Identity": _import_copy,
        "Cast": _import_copy,
        "CastLike": _import_copy,
        "Dropout": _import_dropout,
    },
)
