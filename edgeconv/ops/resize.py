"""Interpolation: Resize and its predecessor Upsample."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from edgeconv import limits
from edgeconv.ir.graph import Node
from edgeconv.ir.layout import Shape
from edgeconv.lowering.options import Stored
from edgeconv.ops.base import ImportContext, Operator, Source
from edgeconv.ops.importing import (
    attribute_or_input,
    axes_of,
    constant_input,
    ints,
    make_node,
)
from edgeconv.ops.kernels.resize import layouts, lower

_COORDINATES = (
    *("asymmetric", "half_pixel", "pytorch_half_pixel", "half_pixel_symmetric"),
    *("align_corners", "tf_half_pixel_for_nn"),
)


def _exact(scale: float, size: int, out: int) -> float:
    """The number that ``scale`` is the float32 rounding of: out / size, else the simplest fraction.

    The float32 nearest to 1/3 divides 1 into a little less than 3, the one nearest to 0.7 divides
    3.5 into a little more than 5: an element would come from its neighbour.
    """
    rounded = np.float32(scale)
    near = (Fraction(scale).limit_denominator(10**digits) for digits in range(1, 8))
    candidates = (out / size, *(float(fraction) for fraction in near))
    return next((number for number in candidates if np.float32(number) == rounded), scale)


def _from_sizes(source: Source, sizes: Shape, axes: Shape, shape: Shape, out: Shape) -> list[float]:
    """Scales that lead to ``sizes``, under the aspect ratio policy of opset 18."""
    policy = source.attrs.get("keep_aspect_ratio_policy", "stretch")
    ratios = [size / shape[axis] for size, axis in zip(sizes, axes, strict=True)]
    if policy == "stretch":
        return [have / size for have, size in zip(out, shape, strict=True)]
    common = min(ratios) if policy == "not_larger" else max(ratios)
    return [common if axis in axes else 1.0 for axis in range(len(shape))]


def _scales(source: Source, ctx: ImportContext) -> tuple[float, ...]:
    """One scale per dimension, from scales or sizes and the axes they belong to."""
    shape, out = (ctx.tensor(n).shape for n in (source.inputs[0], source.outputs[0]))
    where = f"node {source.name!r} ({source.op_type})"
    limits.held("window-elements", max((*shape, *out), default=0), where, "too large to compile")
    axes = axes_of(source, ctx, source.attrs.get("axes") or range(len(shape)), len(shape))
    if source.version >= 11:
        given = constant_input(source, ctx, 2, "scales")
        sizes = constant_input(source, ctx, 3, "sizes")
        if sizes is not None and sizes.size:
            return tuple(_from_sizes(source, ints(sizes), axes, shape, out))
    else:
        given = attribute_or_input(source, ctx, "scales", 1)
    if given is None or given.size != len(axes):
        got = "none" if given is None else str(given.tolist())
        raise ctx.reject(source, f"scales {got}", f"one per axis is needed ({len(axes)})")
    full = [1.0] * len(shape)
    for axis, scale in zip(axes, given.tolist(), strict=True):
        full[axis] = _exact(scale, shape[axis], out[axis])
    return tuple(full)


def _legacy_nearest(source: Source, ctx: ImportContext, scales: Sequence[float]) -> str:
    """Rounding of Upsample and Resize-10: up when shrinking, down when growing (ONNX Runtime)."""
    shrinks, grows = (any(test(s, 1.0) for s in scales) for test in (float.__lt__, float.__gt__))
    if shrinks and grows:
        raise ctx.reject(
            source, f"scales {list(scales)}", "opset 10 cannot both shrink and grow in one node"
        )
    return "ceil" if shrinks else "floor"


def _modes(source: Source, ctx: ImportContext, scales: Sequence[float]) -> dict[str, Any]:
    attrs, mode = source.attrs, source.attrs["mode"]
    mode = "linear" if mode == "bilinear" else mode
    if mode not in ("nearest", "linear", "cubic"):
        raise ctx.reject(source, f"mode {mode!r}", "mode is nearest, linear or cubic")
    if attrs.get("antialias", 0):
        raise ctx.reject(source, "antialias 1", "antialiased interpolation is not compiled")
    legacy = source.version < 11
    coordinates = attrs.get("coordinate_transformation_mode", "asymmetric")
    if coordinates not in _COORDINATES:
        known = ", ".join(_COORDINATES)
        raise ctx.reject(source, f"coordinate_transformation_mode {coordinates}", f"known: {known}")
    nearest = _legacy_nearest(source, ctx, scales) if legacy else attrs["nearest_mode"]
    return {
        "mode": mode,
        "coordinate_transformation_mode": coordinates,
        "nearest_mode": nearest if mode == "nearest" else "floor",
        "cubic_coeff_a": float(attrs.get("cubic_coeff_a", -0.75)),
        "exclude_outside": bool(attrs.get("exclude_outside", 0)) and mode == "cubic",
    }


def _import_resize(source: Source, ctx: ImportContext) -> Sequence[Node]:
    scales = _scales(source, ctx)
    modes = _modes(source, ctx, scales)
    shape = ctx.tensor(source.inputs[0]).shape
    if modes["coordinate_transformation_mode"] == "align_corners" and any(
        not math.isclose(scale * size, round(scale * size), rel_tol=1e-6)
        for scale, size in zip(scales, shape, strict=True)
    ):
        got = f"scales {list(scales)} of input {list(shape)}"
        rule = "align_corners is ambiguous where scale times size is no whole number"
        raise ctx.reject(source, got, rule, "give sizes instead of scales")
    return [make_node(source, "Resize", source.inputs[:1], **modes, scales=scales)]


OPERATOR = Operator(
    name="Resize",
    onnx={"Resize": _import_resize, "Upsample": _import_resize},
    lower=lower,
    layouts=layouts,
    fuses=True,
    stored=Stored.BOTH,
)
