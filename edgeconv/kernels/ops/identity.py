"""Operators that copy their input at inference."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from edgeconv.ir.array_types import array_type
from edgeconv.ir.element_types import FLOAT32, SCALES, SMALL_FLOATS
from edgeconv.ir.encoding import integers
from edgeconv.ir.graph import Node
from edgeconv.ir.quantisation import INTEGERS, SUMS
from edgeconv.kernels.lowering.options import Stored
from edgeconv.kernels.ops.base import ImportContext, Operator, Source
from edgeconv.kernels.ops.elementwise import COPY, DOWN, NEAREST, OVERFLOWING
from edgeconv.kernels.ops.importing import flag, make_node
from edgeconv.kernels.ops.reshape import layouts, lower


def _import_copy(source: Source, ctx: ImportContext) -> Sequence[Node]:
    """Also Cast and CastLike, of any type to any other."""
    have, want = (ctx.tensor(name).dtype for name in (source.inputs[0], source.outputs[0]))
    if have != want:
        if ctx.holds_integers(source.inputs[0]) and want == SUMS:
            return [make_node(source, "Quantise", source.inputs[:1], encoding=integers(want))]
        if want == FLOAT32 and have in INTEGERS:
            return [make_node(source, "Dequantise", source.inputs[:1], encoding=integers(have))]
        function = _rounding(source, ctx) if want in SMALL_FLOATS else COPY
        return [make_node(source, "Elementwise", source.inputs[:1], function=function, to=want)]
    return [make_node(source, "Identity", source.inputs[:1])]


def _rounding(source: Source, ctx: ImportContext) -> str:
    """How a Cast rounds to a small float, and what it does with numbers that this does not have."""
    saturates = flag(source, ctx, "saturate", 1)
    rounding = source.attrs.get("round_mode", "up")
    scales = ctx.tensor(source.outputs[0]).dtype == SCALES
    if not scales or rounding == "up":
        return COPY if saturates else OVERFLOWING
    if rounding not in ("down", "nearest") or not saturates:
        got = f"round_mode {rounding!r}, saturate {int(saturates)}"
        raise ctx.reject(source, got, "round_mode is up, or down or nearest that saturate")
    return DOWN if rounding == "down" else NEAREST


def _import_dropout(source: Source, ctx: ImportContext) -> Sequence[Node]:
    """At inference a copy, and a mask that is true throughout; the frontend defines other modes."""
    y, mask = (*source.outputs, "")[:2]
    nodes = [Node(source.name, "Identity", source.inputs[:1], (y,))] if y else []
    if mask:
        kept = np.ones(ctx.tensor(mask).shape, array_type(ctx.tensor(mask).dtype))
        constant = ctx.add_constant(f"{mask}/kept", kept)
        nodes.append(Node(f"{source.name}/mask", "Identity", (constant,), (mask,)))
    return nodes


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
