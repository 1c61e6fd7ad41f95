"""Operators that copy their input at inference."""

from __future__ import annotations

from collections.abc import Sequence

from edgeconv.element_types import FLOAT32
from edgeconv.encoding import integers
from edgeconv.ir.graph import Node
from edgeconv.ir.quantisation import INTEGERS, SUMS
from edgeconv.lowering.options import Stored
from edgeconv.ops.base import ImportContext, Operator, Source
from edgeconv.ops.importing import constant_input, make_node
from edgeconv.ops.reshape import layouts, lower


def _import_copy(source: Source, ctx: ImportContext) -> Sequence[Node]:
    """Also Cast and CastLike, of any type to any other."""
    have, want = (ctx.tensor(name).dtype for name in (source.inputs[0], source.outputs[0]))
    if have != want:
        if ctx.holds_integers(source.inputs[0]) and want == SUMS:
            return [make_node(source, "Quantise", source.inputs[:1], encoding=integers(want))]
        if want == FLOAT32 and have in INTEGERS:
            return [make_node(source, "Dequantise", source.inputs[:1], encoding=integers(have))]
        return [make_node(source, "Elementwise", source.inputs[:1], function="copy", to=want)]
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
    stored=Stored.BOTH,
)
