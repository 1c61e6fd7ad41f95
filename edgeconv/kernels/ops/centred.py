"""Crops and padding about the middle, and regular positions: what follows from the shape
of the result."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from edgeconv.ir.graph import Node
from edgeconv.kernels.lowering.options import Stored
from edgeconv.kernels.ops.base import ImportContext, Importer, Operator, Source
from edgeconv.kernels.ops.formula import Formula, Term
from edgeconv.kernels.ops.importing import check_stated, flag
from edgeconv.kernels.ops.pad import padded


def _import_center_crop_pad(source: Source, ctx: ImportContext) -> Sequence[Node]:
    """What is left out or added is shared by both ends; of an odd number the end gets more."""
    formula, out = Formula(source, ctx), ctx.tensor(source.outputs[0]).shape
    check_stated(source, ctx)
    x = Term(formula, source.inputs[0])
    starts = tuple(max(0, size - n) // 2 for size, n in zip(x.shape, out, strict=True))
    kept = tuple(map(min, x.shape, out))
    if kept != x.shape:
        x = formula.add("Slice", (x,), kept, starts=starts, steps=(1,) * len(kept))
    more = [n - size for size, n in zip(kept, out, strict=True)]
    pads = (*(n // 2 for n in more), *(n - n // 2 for n in more))
    return formula.finish(padded(x, pads, "constant", 0.0) if any(pads) else x)


def _import_affine(source: Source, ctx: ImportContext) -> Sequence[Node]:
    """theta times the homogeneous position of every element, in [-1, 1]."""
    formula, out = Formula(source, ctx), ctx.tensor(source.outputs[0]).shape
    theta, sizes = Term(formula, source.inputs[0]), out[1:-1]
    if len(out) < 3 or theta.shape != (out[0], len(sizes), len(sizes) + 1):
        got = f"theta {list(theta.shape)}, a grid of {list(out)}"
        raise ctx.reject(source, got, "theta is [N, 2, 3] for images, [N, 3, 4] for volumes")
    corners = flag(source, ctx, "align_corners")
    each = []
    for size in sizes:
        between = np.linspace(-1, 1, size) if size > 1 else np.zeros(1)
        each.append(between if corners else (2 * np.arange(size) + 1) / size - 1)
    positions = [*reversed(np.meshgrid(*each, indexing="ij")), np.ones(sizes)]
    places = np.stack(positions, axis=-1).reshape(1, -1, len(positions)).astype(np.float32)
    turned = theta.transpose(0, 2, 1)
    shape = (out[0], math.prod(sizes), len(sizes))
    base = formula.constant(np.repeat(places, out[0], 0), "places")
    return formula.finish(formula.add("MatMul", (base, turned), shape))


_TABLE: dict[str, Importer] = {
    "CenterCropPad": _import_center_crop_pad,
    "AffineGrid": _import_affine,
}
OPERATOR = Operator(name="Centred", onnx=_TABLE, typed=_TABLE, stored=Stored.BOTH)
