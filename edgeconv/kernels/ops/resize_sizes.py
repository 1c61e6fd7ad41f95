"""Sizes and scales of Resize and its predecessor Upsample.

A scale makes of n elements the float32 product of both, rounded down, as ONNX Runtime and PyTorch
compute it: 20 rows by 0.7 are 14.  onnx's shape inference and its evaluator take the number that
float32 has for 0.7, a little less, for what is meant, and come to 13.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from edgeconv.base import limits
from edgeconv.ir.layout import Shape
from edgeconv.kernels.ops.base import ImportContext, Source
from edgeconv.kernels.ops.importing import (
    Values,
    attribute_or_input,
    axes_of,
    constant_input,
    ints,
    optional_input,
)
from edgeconv.kernels.ops.run_time_bounds import any_computed

_MOST = 2.0**53


def resized_axes(source: Source, ctx: ImportContext) -> Shape:
    rank = len(ctx.tensor(source.inputs[0]).shape)
    return axes_of(source, ctx, source.attrs.get("axes") or range(rank), rank)


def resized_shape(source: Source, ctx: ImportContext) -> Shape | None:
    """The shape of the output; None where scales or sizes are computed at run time."""
    shape, axes = list(ctx.tensor(source.inputs[0]).shape), resized_axes(source, ctx)
    sizes = _known_sizes(source, ctx, axes)
    if sizes is not None:
        made = _kept_ratio(source, sizes, axes, tuple(shape))
    elif (scales := _known_scales(source, ctx, axes)) is None:
        return None
    else:
        made = tuple(_scaled(shape[a], by) for a, by in zip(axes, scales.tolist(), strict=True))
    for axis, size in zip(axes, made, strict=True):
        shape[axis] = size
    return tuple(shape)


def _scaled(size: int, scale: float) -> int:
    exact = float(np.float32(size)) * float(np.float32(scale))  # 48 bits, which float64 has
    return int(np.float32(exact)) if exact < _MOST else int(exact)


def _kept_ratio(source: Source, sizes: Shape, axes: Shape, shape: Shape) -> Shape:
    """``sizes`` of ``axes``, or what the aspect ratio policy of opset 18 leaves of them."""
    policy = source.attrs.get("keep_aspect_ratio_policy", "stretch")
    if policy == "stretch" or not all(shape[axis] for axis in axes):
        return sizes
    ratios = [Fraction(size, shape[axis]) for size, axis in zip(sizes, axes, strict=True)]
    common = min(ratios) if policy == "not_larger" else max(ratios)
    return tuple(math.floor(common * shape[axis] + Fraction(1, 2)) for axis in axes)


def _known_sizes(source: Source, ctx: ImportContext, axes: Shape) -> Shape | None:
    """The sizes of ``axes``; None where scales are given, or sizes computed at run time."""
    name = optional_input(source, 3) if source.version >= 11 else ""
    known = ctx.constant(name) if name else None
    if known is None or not known.size:
        return None
    if known.size != len(axes) or min(ints(known)) < 1:
        rule = f"a positive one per axis is needed ({len(axes)})"
        raise ctx.reject(source, f"sizes {list(ints(known))}", rule)
    return ints(known)


def _known_scales(source: Source, ctx: ImportContext, axes: Shape) -> Values | None:
    """The scales of ``axes``; None where they, or sizes, are computed at run time."""
    if source.version >= 11:
        if any_computed(source, ctx, 2, 3):
            return None
        given = constant_input(source, ctx, 2, "scales")
    elif "scales" not in source.attrs and any_computed(source, ctx, 1):
        return None
    else:
        given = attribute_or_input(source, ctx, "scales", 1)
    if given is None or given.size != len(axes):
        got = "none" if given is None else str(given.tolist())
        raise ctx.reject(source, f"scales {got}", f"one per axis is needed ({len(axes)})")
    if not all(0 < scale < math.inf for scale in given.tolist()):
        raise ctx.reject(source, f"scales {given.tolist()}", "scales are positive, and finite")
    return given


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


def states_scales(source: Source, ctx: ImportContext) -> bool:
    """Whether scales are given, constant or not, and no sizes."""
    sizes = optional_input(source, 3) if source.version >= 11 else ""
    known = ctx.constant(sizes) if sizes else None
    return not sizes or (known is not None and not known.size)


def _stated_scales(
    source: Source, ctx: ImportContext, axes: Shape, shape: Shape, out: Shape
) -> list[float]:
    """The scales to sizes of run time, by the shape that the model states of the result: under a
    policy that keeps the aspect ratio one axis decides the scale of all."""
    if source.attrs.get("keep_aspect_ratio_policy", "stretch") == "stretch":
        return [have / size for have, size in zip(out, shape, strict=True)]

    def leads(ratio: Fraction) -> bool:
        return all(math.floor(ratio * shape[a] + Fraction(1, 2)) == out[a] for a in axes)

    ratios = {ratio for a in axes if leads(ratio := Fraction(out[a], shape[a]))}
    if len(ratios) != 1:
        got = f"sizes of run time that keep the aspect ratio, {list(shape)} to {list(out)}"
        raise ctx.reject(source, got, "the shapes say which axis decides the scale")
    return [float(min(ratios)) if axis in axes else 1.0 for axis in range(len(shape))]


def scales_of(source: Source, ctx: ImportContext, *, exactly: bool) -> tuple[float, ...] | None:
    """One scale per dimension, from scales or sizes and the axes they belong to; None where the
    scales are computed at run time.  ``exactly``: the numbers that those of float32 stand for."""
    shape, out = (ctx.tensor(n).shape for n in (source.inputs[0], source.outputs[0]))
    where = f"node {source.name!r} ({source.op_type})"
    limits.held("window-elements", max((*shape, *out), default=0), where, "too large to compile")
    axes = resized_axes(source, ctx)
    if (sizes := _known_sizes(source, ctx, axes)) is not None:
        return tuple(_from_sizes(source, sizes, axes, shape, out))
    if source.version >= 11 and any_computed(source, ctx, 3):
        return tuple(_stated_scales(source, ctx, axes, shape, out))
    if (given := _known_scales(source, ctx, axes)) is None:
        return None
    full = [1.0] * len(shape)
    for axis, scale in zip(axes, given.tolist(), strict=True):
        full[axis] = _exact(scale, shape[axis], out[axis]) if exactly else float(np.float32(scale))
    return tuple(full)
