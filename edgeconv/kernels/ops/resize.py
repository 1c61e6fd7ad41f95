"""Interpolation: Resize and its predecessor Upsample."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from edgeconv.base.errors import EdgeconvError
from edgeconv.ir.choice import Blob, Layer, Param
from edgeconv.ir.element_types import FLOAT32
from edgeconv.ir.graph import Graph, Node
from edgeconv.ir.grids import moves
from edgeconv.ir.layout import CHANNELS_LAST, Layout, Order, Shape
from edgeconv.ir.work import Work
from edgeconv.kernels.lowering.calls import FLOAT_BYTES, kernel_layer, residual_in_place
from edgeconv.kernels.lowering.images import same_everywhere, volume
from edgeconv.kernels.lowering.integers import with_integers
from edgeconv.kernels.lowering.options import LayoutOption, Stored
from edgeconv.kernels.lowering.work import Call
from edgeconv.kernels.ops import int8_resize
from edgeconv.kernels.ops.base import ImportContext, Operator, Source
from edgeconv.kernels.ops.elementwise import COPY, elementwise
from edgeconv.kernels.ops.formula import Formula, Term
from edgeconv.kernels.ops.interpolation import NEAREST, tables
from edgeconv.kernels.ops.resize_along import CROPS, along_axes, constant_scales
from edgeconv.kernels.ops.resize_sizes import resized_axes, resized_shape, scales_of, states_scales
from edgeconv.target.targets import Target

_MOST = 3
_INTERPOLATED = frozenset({"int8", "uint8", "int16", "uint16"})  # float32 has them all
_NEAREST = ("ec_lanes.h", "ec_resize_sizes.h", "ec_resize_nearest.h")
_TAP_SLOTS = 2  # of an output vector, by counting in the kernel
_COORDINATES = (
    CROPS,
    *("asymmetric", "half_pixel", "pytorch_half_pixel", "half_pixel_symmetric"),
    *("align_corners", "tf_half_pixel_for_nn"),
)


def _legacy_nearest(source: Source, ctx: ImportContext, scales: Sequence[float]) -> str:
    """Rounding of Upsample and Resize-10: up when shrinking, down when growing (ONNX Runtime)."""
    shrinks, grows = (any(test(s, 1.0) for s in scales) for test in (float.__lt__, float.__gt__))
    if shrinks and grows:
        raise ctx.reject(
            source, f"scales {list(scales)}", "opset 10 cannot both shrink and grow in one node"
        )
    return "ceil" if shrinks else "floor"


def _modes(
    source: Source, ctx: ImportContext, scales: Sequence[float], *, antialias: bool
) -> dict[str, Any]:
    """What a position is made of.  Between two neighbours, without a wider filter, the one that
    lies outside has the value of the one inside: excluding it changes nothing."""
    attrs, mode = source.attrs, source.attrs["mode"]
    mode = "linear" if mode == "bilinear" else mode
    if mode not in ("nearest", "linear", "cubic"):
        raise ctx.reject(source, f"mode {mode!r}", "mode is nearest, linear or cubic")
    legacy = source.version < 11
    coordinates = attrs.get("coordinate_transformation_mode", "asymmetric")
    if coordinates not in _COORDINATES:
        known = ", ".join(_COORDINATES)
        raise ctx.reject(source, f"coordinate_transformation_mode {coordinates}", f"known: {known}")
    nearest = "floor"
    if mode == "nearest":
        nearest = _legacy_nearest(source, ctx, scales) if legacy else attrs["nearest_mode"]
        if nearest not in NEAREST:
            rule = f"known: {', '.join(NEAREST)}"
            raise ctx.reject(source, f"nearest_mode {nearest!r}", rule)
    return {
        "mode": mode,
        "coordinate_transformation_mode": coordinates,
        "nearest_mode": nearest,
        "cubic_coeff_a": float(attrs.get("cubic_coeff_a", -0.75)),
        "exclude_outside": bool(attrs.get("exclude_outside", 0)) and (mode == "cubic" or antialias),
    }


def _import_resize(source: Source, ctx: ImportContext) -> Sequence[Node]:
    formula = Formula(source, ctx)
    return formula.finish(_resized(Term(formula, source.inputs[0])))


def _resized(x: Term) -> Term:
    """``x`` resized as the formula's source says: by tables that are worked out here, where the
    scales are known; regions of the input, and wider filters for smaller images, need no speed so
    far."""
    formula, out = x.formula, x.formula.ctx.tensor(x.formula.source.outputs[0]).shape
    source, scales, attrs = formula.source, *_ways(formula, x.shape, out)
    coordinates = attrs["coordinate_transformation_mode"]
    if scales and coordinates != CROPS and not attrs.get("antialias"):
        return formula.add("Resize", (x,), out, **attrs, scales=scales)
    axes, position = resized_axes(source, formula.ctx), 2 if source.version >= 11 else 1
    by = constant_scales(x, scales, axes) if scales else Term(formula, source.inputs[position])
    roi = Term(formula, source.inputs[1]) if coordinates == CROPS else None
    beyond = float(source.attrs.get("extrapolation_value", 0.0))
    along = {name: value for name, value in attrs.items() if name != "single"}
    along |= {"antialias": bool(attrs.get("antialias")), "extrapolation_value": beyond}
    return along_axes(x, by, roi, axes, out, along)


def _ways(
    formula: Formula, shape: Shape, out: Shape
) -> tuple[tuple[float, ...] | None, dict[str, Any]]:
    """The scales, None where they are computed at run time, and how to interpolate."""
    source, ctx = formula.source, formula.ctx
    if len(out) != len(shape):  # both as the model states them
        rule = "a result has as many dimensions as what is resized"
        raise ctx.reject(source, f"{list(shape)} to {list(out)}", rule)
    if 0 in shape:
        raise ctx.reject(source, f"{list(shape)} to {list(out)}", "of no element there is no other")
    nearest = source.attrs["mode"] == "nearest"
    single = nearest and states_scales(source, ctx)
    scales = _copying(source, shape, out, scales_of(source, ctx, exactly=not single))
    stated = scales or tuple(have / size for have, size in zip(out, shape, strict=True))
    smaller = any(scale < 1 for scale in stated) and not nearest
    antialias = bool(source.attrs.get("antialias", 0)) and smaller
    modes = _modes(source, ctx, stated, antialias=antialias)
    said = {"single": single, "antialias": antialias}
    return scales, {**modes, **{name: True for name, given in said.items() if given}}


def _copying(
    source: Source, shape: Shape, out: Shape, scales: tuple[float, ...] | None
) -> tuple[float, ...] | None:
    """``scales``, 1 where elements are copied: by a scale that leads to the same shape, and with
    antialias along each axis of the same size, as in ONNX Runtime."""
    if source.attrs.get("coordinate_transformation_mode") == CROPS:
        return scales
    if shape == out:
        return (1.0,) * len(shape)
    if scales is None or not source.attrs.get("antialias", 0):
        return scales
    sizes = zip(scales, shape, out, strict=True)
    return tuple(1.0 if have == size else scale for scale, size, have in sizes)


def _import_typed(source: Source, ctx: ImportContext) -> Sequence[Node]:
    """Sizes are integers, where they are computed; what is resized may be, too.

    Nearest elements move as they are.  Integers of up to 16 bits are interpolated in float32, and
    lose their fraction, as in ONNX Runtime.
    """
    dtype = ctx.tensor(source.inputs[0]).dtype
    if dtype == FLOAT32:
        return _import_resize(source, ctx)
    formula, out = Formula(source, ctx), ctx.tensor(source.outputs[0]).shape
    x = Term(formula, source.inputs[0])
    scales, attrs = _ways(formula, x.shape, out)
    crops = attrs["coordinate_transformation_mode"] == CROPS
    if attrs["mode"] == "nearest" and scales and not crops:
        return formula.finish(_moved(x, out, scales, attrs))
    if dtype not in _INTERPOLATED or attrs["mode"] == "cubic":
        rule = "real numbers are interpolated, and linearly integers of up to 16 bits"
        raise ctx.reject(source, dtype, rule, "cast to float")
    real = _resized(elementwise(formula, COPY, (x,), FLOAT32))
    return formula.finish(elementwise(formula, COPY, (real,), dtype))


def _moved(x: Term, out: Shape, scales: tuple[float, ...], attrs: Mapping[str, Any]) -> Term:
    """The nearest elements of any type, axis by axis."""
    for axis, (size, scale) in enumerate(zip(out, scales, strict=True)):
        if x.shape[axis] == size and scale == 1:
            continue
        index, _ = tables(x.shape[axis], size, scale, attrs)
        places = x.formula.typed_constant(index[0].astype(np.int64), f"nearest{axis}")
        shape = (*x.shape[:axis], size, *x.shape[axis + 1 :])
        x = x.formula.add("Gather", (x, places), shape, axis=axis)
    return x


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
    return with_integers(node, near or options, able)


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
    if node.request.integers:
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
        return _copied(call, indices, params, lanes)
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


def _copied(call: Call, index: Blob, params: Mapping[str, Param], inner: int) -> Layer:
    return kernel_layer(
        call,
        "resize_copies",
        "ops/resize_nearest.c.j2",
        operands={"in": call.node.inputs[0], "index": index},
        params=params,
        headers=_NEAREST,
        work=_by_piece(call, inner),
        epilogue=False,
    )


def _by_piece(call: Call, inner: int) -> Work:
    """Copies of so many elements at a time: cores without vectors call a function for each."""
    work = call.copies()
    if not call.target.is_scalar:
        return work
    pieces = call.output.elements / inner
    return replace(work, moves=2 * pieces + call.out_bytes / FLOAT_BYTES)


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
    shapes={"Resize": resized_shape, "Upsample": resized_shape},
    lower=lower,
    layouts=layouts,
    fuses=True,
    stored=Stored.BOTH,
)
