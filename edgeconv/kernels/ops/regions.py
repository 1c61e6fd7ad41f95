"""Regions of images, sampled between their pixels: RoiAlign and the columns of DeformConv."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from edgeconv.ir.choice import Layer, Number, Param
from edgeconv.ir.element_types import element_type
from edgeconv.ir.graph import Graph, Node
from edgeconv.ir.layout import Shape
from edgeconv.kernels.lowering.calls import kernel_layer
from edgeconv.kernels.lowering.options import Stored
from edgeconv.kernels.lowering.work import Call
from edgeconv.kernels.ops.base import ImportContext, Operator, Source
from edgeconv.kernels.ops.elementwise import ELEMENTWISE
from edgeconv.kernels.ops.formula import Formula, Term
from edgeconv.kernels.ops.importing import ints, make_node, optional_input, window_of
from edgeconv.kernels.ops.run_time_filters import with_bias
from edgeconv.target.targets import Target

_SAMPLE_SLOTS = 30  # of one that is interpolated, by counting in the kernel
_HEADERS = (*ELEMENTWISE, "ec_regions.h")


def _import_roi_align(source: Source, ctx: ImportContext) -> Sequence[Node]:
    shapes = [ctx.tensor(name).shape for name in source.inputs]
    x, rois, images = shapes
    if len(x) != 4 or len(rois) != 2 or rois[1] != 4 or images != rois[:1]:
        got = f"input {list(x)}, rois {list(rois)}, batch_indices {list(images)}"
        raise ctx.reject(source, got, "they are [N, C, H, W], [count, 4] and [count]")
    half = source.attrs.get("coordinate_transformation_mode", "output_half_pixel") == "half_pixel"
    attrs = {
        "samples": int(source.attrs["sampling_ratio"]),
        "largest": source.attrs["mode"] == "max",
        "scale": float(source.attrs["spatial_scale"]),
        "half": half,
    }
    return [make_node(source, "RoiAlign", **attrs)]


def _lower_roi_align(node: Node, graph: Graph, target: Target) -> Layer:
    """A bin of a region at a time."""
    x, rois, _ = (graph[name].shape for name in node.inputs)
    out, call = graph[node.output], Call(node, graph, target)
    half = bool(node.attrs["half"])
    params: dict[str, Param] = {
        **dict(zip(("images", "channels", "height", "width"), x, strict=True)),
        "count": rois[0],
        "rows": out.shape[2],
        "columns": out.shape[3],
        "samples": int(node.attrs["samples"]),
        "largest": int(node.attrs["largest"]),
        "index_as": element_type(graph[node.inputs[2]].dtype).enumerator,
        "scale": Number(float(node.attrs["scale"])),
        "offset": Number(0.5 if half else 0.0),
        "least": Number(0.0 if half else 1.0),
    }
    samples = max(int(node.attrs["samples"]), 1) ** 2
    return kernel_layer(
        call,
        "regions",
        "ops/regions.c.j2",
        operands=dict(zip(("in", "regions", "of_image"), node.inputs, strict=True)),
        params=params,
        headers=_HEADERS,
        work=call.streams(float(_SAMPLE_SLOTS * samples * out.size)),
        epilogue=False,
    )


def _require_shapes(
    source: Source, ctx: ImportContext, asked: Mapping[str, tuple[int, Shape]]
) -> None:
    """Rejects other shapes of inputs, by position, where they are there."""
    for what, (position, shape) in asked.items():
        name = optional_input(source, position)
        if name and ctx.tensor(name).shape != shape:
            got = f"{what} {list(ctx.tensor(name).shape)}"
            raise ctx.reject(source, got, f"{what} of shape {list(shape)} belong to these images")


def _import_deform_conv(source: Source, ctx: ImportContext) -> Sequence[Node]:
    """The product of filters and columns, whose places are moved by the offsets."""
    formula = Formula(source, ctx)
    x, filters, offset = (Term(formula, name) for name in source.inputs[:3])
    out = ctx.tensor(source.outputs[0]).shape
    if len(x.shape) != 4 or len(filters.shape) != 4 or len(out) != 4:
        got = f"input {list(x.shape)}, weights {list(filters.shape)}"
        raise ctx.reject(source, got, "images and filters have two dimensions")
    window = window_of(source, ctx, ints(source.attrs.get("kernel_shape") or filters.shape[2:]))
    groups = int(source.attrs.get("group", 1))
    moved = int(source.attrs.get("offset_group", 1))
    (n, in_c), (out_c, per_group) = x.shape[:2], filters.shape[:2]
    taps, pixels = math.prod(window.kernel), math.prod(out[2:])
    if min(groups, moved) < 1 or per_group * groups != in_c or out_c % groups or in_c % moved:
        got = f"input {list(x.shape)}, weights {list(filters.shape)}, group {groups}, "
        rule = "groups are equal parts of the channels"
        raise ctx.reject(source, f"{got}offset_group {moved}", rule)
    _require_shapes(
        source,
        ctx,
        {
            "weights": (1, (out_c, per_group, *window.kernel)),
            "offset": (2, (n, moved * taps * 2, *out[2:])),
            "bias": (3, (out_c,)),
            "mask": (4, (n, moved * taps, *out[2:])),
        },
    )
    operands = (x, offset, optional_input(source, 4))
    attrs = {**window.attrs(), "offset_groups": moved, "rows": out[2], "columns": out[3]}
    shape = (n, in_c, taps, pixels)
    columns = formula.add("Deformed", operands, shape, "columns", **attrs)
    depth = per_group * taps
    product = formula.add(
        "MatMul",
        (
            filters.reshape(1, groups, out_c // groups, depth),
            columns.reshape(n, groups, depth, pixels),
        ),
        (n, groups, out_c // groups, pixels),
    )
    y, bias = product.reshape(*out), optional_input(source, 3)
    return formula.finish(with_bias(y, Term(formula, bias)) if bias else y)


def _lower_deformed(node: Node, graph: Graph, target: Target) -> Layer:
    x, call = graph[node.inputs[0]].shape, Call(node, graph, target)
    attrs = node.attrs
    given = zip(("in", "offsets", "factors"), node.inputs, strict=True)
    pointers = {pointer: name for pointer, name in given if name}
    params: dict[str, Param] = {
        **dict(zip(("images", "channels", "height", "width"), x, strict=True)),
        "groups": int(attrs["offset_groups"]),
        "rows": int(attrs["rows"]),
        "columns": int(attrs["columns"]),
        "kernel_width": int(attrs["kernel"][1]),
        "taps": math.prod(attrs["kernel"]),
        **dict(zip(("stride_y", "stride_x"), attrs["strides"], strict=True)),
        **dict(zip(("dilation_y", "dilation_x"), attrs["dilations"], strict=True)),
        **dict(zip(("top", "left"), attrs["pads"][:2], strict=True)),
        "has_factors": "factors" in pointers,
    }
    return kernel_layer(
        call,
        "deformed",
        "ops/deformed.c.j2",
        operands=pointers,
        params=params,
        headers=_HEADERS,
        work=call.streams(float(_SAMPLE_SLOTS * graph[node.output].size)),
        epilogue=False,
    )


OPERATOR = (
    Operator(
        name="RoiAlign",
        onnx={"RoiAlign": _import_roi_align},
        typed={"RoiAlign": _import_roi_align},
        lower=_lower_roi_align,
        stored=Stored.NOTHING,
    ),
    Operator(
        name="Deformed",
        onnx={"DeformConv": _import_deform_conv},
        lower=_lower_deformed,
        stored=Stored.NOTHING,
    ),
)
