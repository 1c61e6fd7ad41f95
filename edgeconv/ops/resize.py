"""Interpolation: Resize and its predecessor Upsample."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from edgeconv import limits
from edgeconv.element_types import FLOAT32
from edgeconv.errors import EdgeconvError
from edgeconv.ir.choice import Blob, Layer, Param
from edgeconv.ir.graph import Graph, Node
from edgeconv.ir.grids import moves
from edgeconv.ir.layout import CHANNELS_LAST, Layout, Order, Shape
from edgeconv.lowering.calls import FLOAT_BYTES, kernel_layer, residual_in_place
from edgeconv.lowering.images import same_everywhere, volume
from edgeconv.lowering.integers import wants_integers, with_integers
from edgeconv.lowering.options import LayoutOption
from edgeconv.lowering.work import Call
from edgeconv.ops import int8_resize
from edgeconv.ops.base import ImportContext, Operator, Source
from edgeconv.ops.formula import Formula, Term
from edgeconv.ops.importing import (
    attribute_or_input,
    axes_of,
    constant_input,
    ints,
    make_node,
    optional_input,
)
from edgeconv.ops.interpolation import tables
from edgeconv.ops.resize_along import CROPS, along_axes, constant_scales
from edgeconv.ops.run_time_bounds import any_computed
from edgeconv.targets import Target

_MOST = 3
_NEAREST = ("ec_lanes.h", "ec_resize_sizes.h", "ec_resize_nearest.h")
_TAP_SLOTS = 2  # of an output vector, by counting in the kernel
_COORDINATES = (
    CROPS,
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


def _stated_scales(
    source: Source, ctx: ImportContext, axes: Shape, shape: Shape, out: Shape
) -> list[float]:
    """Those to sizes of run time, by the shape that the model states of the result: under a policy
    that keeps the aspect ratio one axis decides the scale of all."""
    if source.attrs.get("keep_aspect_ratio_policy", "stretch") == "stretch":
        return [have / size for have, size in zip(out, shape, strict=True)]

    def leads(ratio: Fraction) -> bool:
        return all(math.floor(ratio * shape[a] + Fraction(1, 2)) == out[a] for a in axes)

    ratios = {ratio for a in axes if leads(ratio := Fraction(out[a], shape[a]))}
    if len(ratios) != 1:
        got = f"sizes of run time that keep the aspect ratio, {list(shape)} to {list(out)}"
        raise ctx.reject(source, got, "the shapes say which axis decides the scale")
    return [float(min(ratios)) if axis in axes else 1.0 for axis in range(len(shape))]


def _axes(source: Source, ctx: ImportContext) -> Shape:
    rank = len(ctx.tensor(source.inputs[0]).shape)
    return axes_of(source, ctx, source.attrs.get("axes") or range(rank), rank)


def _scales(source: Source, ctx: ImportContext) -> tuple[float, ...] | None:
    """One scale per dimension, from scales or sizes and the axes they belong to; None where the
    scales are computed at run time."""
    shape, out = (ctx.tensor(n).shape for n in (source.inputs[0], source.outputs[0]))
    where = f"node {source.name!r} ({source.op_type})"
    limits.held("window-elements", max((*shape, *out), default=0), where, "too large to compile")
    axes = _axes(source, ctx)
    if source.version >= 11:
        sizes = optional_input(source, 3)
        known = ctx.constant(sizes) if sizes else None
        if sizes and known is None:
            return tuple(_stated_scales(source, ctx, axes, shape, out))
        if known is not None and known.size:
            return tuple(_from_sizes(source, ints(known), axes, shape, out))
        if any_computed(source, ctx, 2):
            return None
        given = constant_input(source, ctx, 2, "scales")
    elif "scales" not in source.attrs and any_computed(source, ctx, 1):
        return None
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
    """By tables that are worked out here, where the scales are known; regions of the input, wider
    filters for smaller images and scales that lead to no whole size need no speed so far."""
    scales, formula = _scales(source, ctx), Formula(source, ctx)
    shape, out = (ctx.tensor(n).shape for n in (source.inputs[0], source.outputs[0]))
    stated = scales or tuple(have / size for have, size in zip(out, shape, strict=True))
    modes = _modes(source, ctx, stated)
    coordinates = modes["coordinate_transformation_mode"]
    smaller = any(scale < 1 for scale in stated) and modes["mode"] != "nearest"
    antialias = bool(source.attrs.get("antialias", 0)) and smaller
    if scales and coordinates != CROPS and not antialias and not _fractional(scales, shape, modes):
        return [make_node(source, "Resize", source.inputs[:1], **modes, scales=scales)]
    x, axes = Term(formula, source.inputs[0]), _axes(source, ctx)
    position = 2 if source.version >= 11 else 1
    by = constant_scales(x, scales, axes) if scales else Term(formula, source.inputs[position])
    roi = Term(formula, source.inputs[1]) if coordinates == CROPS else None
    beyond = float(source.attrs.get("extrapolation_value", 0.0))
    attrs = {**modes, "antialias": antialias, "extrapolation_value": beyond}
    return formula.finish(along_axes(x, by, roi, axes, out, attrs))


def _import_typed(source: Source, ctx: ImportContext) -> Sequence[Node]:
    """Sizes are integers, where they are computed; what is resized is float32."""
    dtype = ctx.tensor(source.inputs[0]).dtype
    if dtype != FLOAT32:
        raise ctx.reject(source, dtype, "real numbers are interpolated", "cast to float")
    return _import_resize(source, ctx)


def _fractional(scales: Sequence[float], shape: Shape, modes: Mapping[str, Any]) -> bool:
    """Corners are aligned with those of an image of no whole size, as ONNX has it."""
    return modes["coordinate_transformation_mode"] == "align_corners" and any(
        not math.isclose(scale * size, round(scale * size), rel_tol=1e-6)
        for scale, size in zip(scales, shape, strict=True)
    )


def layouts(node: Node, graph: Graph, target: Target) -> Sequence[LayoutOption]:
    """Channels side by side are best; channel blocks only where channels are not interpolated, and
    no layout that puts what is interpolated too far apart, while there is another."""
    shapes = graph[node.inputs[0]].shape, graph[node.output].shape
    size = float(graph[node.output].size)

    def penalty(layout: Layout) -> float:
        return 4.0 * size if layout.order is Order.ROW_MAJOR and target.lanes > 1 else 0.0

    options = same_everywhere(node, graph, target, penalty)
    # As many channels as before may still be interpolated: 2 by 1.3 are 2 others.
    scale = float(node.attrs["scales"][1]) if len(shapes[0]) > 2 else 1.0
    spatial = len(shapes[0]) < 3 or (shapes[0][1] == shapes[1][1] and scale == 1)
    options = [o for o in options if spatial or o.writes[0].order is not Order.BLOCKED]
    near = [o for o in options if len(_interpolated(node, graph, o.writes[0])) <= _MOST]
    whole = int8_resize.form_of(node, graph) is not None
    able = [o for o in options if whole and o.writes[0] == CHANNELS_LAST]
    return with_integers(near or options, able)


def _in_memory_order(
    node: Node, graph: Graph, layout: Layout
) -> tuple[list[int], list[int], list[float]]:
    """Input size, output size and scale of every dimension in memory."""
    x, out = graph[node.inputs[0]].shape, graph[node.output].shape
    scales = [float(scale) for scale in node.attrs["scales"]]
    if layout.order is Order.CHANNELS_LAST:
        scales = [scales[0], *scales[2:], scales[1]]
    elif layout.order is Order.BLOCKED:
        scales = [*scales, 1.0]
    return list(layout.physical_shape(x)), list(layout.physical_shape(out)), scales


def _interpolated(node: Node, graph: Graph, layout: Layout) -> range:
    """The dimensions in memory from the first to the last that is interpolated; the innermost where
    none is."""
    dimensions = zip(*_in_memory_order(node, graph, layout), strict=True)
    resized = [d for d, (n, m, scale) in enumerate(dimensions) if n != m or scale != 1]
    rank = len(layout.physical_shape(graph[node.output].shape))
    return range(resized[0], resized[-1] + 1) if resized else range(rank - 1, rank)


def lower(node: Node, graph: Graph, target: Target) -> Layer:
    """Tables per dimension; dimensions inside the interpolated ones are lanes, outer ones loops."""
    if wants_integers(node):
        return int8_resize.lower(node, graph, target, _pixel_sizes(node, graph))
    call = Call(node, graph, target)
    sizes, outs, scales = _in_memory_order(node, graph, graph[node.output].layout)
    span = _interpolated(node, graph, graph[node.output].layout)
    first, last = span.start, span.stop
    if last - first > _MOST:
        raise EdgeconvError(
            "unsupported Resize",
            where=node.name,
            got=f"scales {list(node.attrs['scales'])}",
            rule=f"at most {_MOST} neighbouring dimensions are interpolated",
            hint="split the node in two",
        )
    made = [tables(sizes[d], outs[d], scales[d], node.attrs) for d in range(first, last)]
    index = np.concatenate([np.zeros(_MOST - len(made), np.int32), *(i.ravel() for i, _ in made)])
    weight = np.concatenate([np.ones(_MOST - len(made), np.float32), *(w.ravel() for _, w in made)])
    lanes = math.prod(outs[last:])
    taps = volume(tuple(i.shape[0] for i, _ in made), 1)
    params: dict[str, Param] = {
        "in_size": volume(tuple(sizes[first:last]), 1),
        "out_size": volume(tuple(outs[first:last]), 1),
        "taps": taps,
        "outer": math.prod(outs[:first]),
        "inner": lanes,
    }
    indices = Blob("index", index.size, lambda: index, dtype="int32")
    if _only_copies(node, graph):
        return _copied(call, indices, params)
    # The nearest element is copied.
    each: float = 0 if node.attrs["mode"] == "nearest" else _TAP_SLOTS * math.prod(taps)
    each += (math.prod(taps) - 1) * call.stored(graph[node.inputs[0]]).vector
    return kernel_layer(
        call,
        f"resize_{node.attrs['mode']}",
        "ops/resize.c.j2",
        operands={
            "in": node.inputs[0],
            "index": indices,
            "weight": Blob("weight", weight.size, lambda: weight),
        },
        params=params,
        headers=("ec_resize_sizes.h", "ec_resize.h"),
        work=call.streams(each * call.out_vectors),
        aliases=residual_in_place(node, graph),
        workspace_bytes=sizes[last - 1] * FLOAT_BYTES if lanes == 1 else 0,
    )


def _only_copies(node: Node, graph: Graph) -> bool:
    """Elements of the input become the output's as they are in memory."""
    same = graph[node.inputs[0]].storage == graph[node.output].storage
    return moves(node) and same


def _copied(call: Call, index: Blob, params: Mapping[str, Param]) -> Layer:
    return kernel_layer(
        call,
        "resize_copies",
        "ops/resize_nearest.c.j2",
        operands={"in": call.node.inputs[0], "index": index},
        params=params,
        headers=_NEAREST,
        work=call.copies(),
        epilogue=False,
    )


def _pixel_sizes(node: Node, graph: Graph) -> dict[str, Param]:
    """The members of ec_resize of all spatial dimensions."""
    x, out = graph[node.inputs[0]].shape[2:], graph[node.output].shape[2:]
    made = zip(x, out, node.attrs["scales"][2:], strict=True)
    taps = tuple(tables(n, m, float(scale), node.attrs)[0].shape[0] for n, m, scale in made)
    return {"in_size": volume(x, 1), "out_size": volume(out, 1), "taps": volume(taps, 1)}


OPERATOR = Operator(
    name="Resize",
    onnx={"Resize": _import_resize, "Upsample": _import_resize},
    typed={"Resize": _import_typed, "Upsample": _import_typed},
    lower=lower,
    layouts=layouts,
    fuses=True,
)
