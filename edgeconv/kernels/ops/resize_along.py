"""Resize by scales and regions that are known at run time, one axis after the other.

Interpolation is separable: rows of columns are columns of rows.  What an output is made of is
worked out as the program runs, by the equations that `interpolation` has for constants.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from edgeconv.ir.choice import Layer, Number, Param
from edgeconv.ir.graph import Graph, Node
from edgeconv.ir.layout import Shape
from edgeconv.kernels.lowering.calls import kernel_layer
from edgeconv.kernels.lowering.options import Stored
from edgeconv.kernels.lowering.work import Call
from edgeconv.kernels.ops.base import Operator
from edgeconv.kernels.ops.formula import Term
from edgeconv.target.targets import Target

NAME = "ResizeAlong"
CROPS = "tf_crop_and_resize"


def along_axes(
    x: Term, scales: Term, roi: Term | None, axes: Shape, out: Shape, attrs: Mapping[str, Any]
) -> Term:
    """``x`` resized to ``out``; ``scales`` are those of ``axes``, ``roi`` all starts, then all
    ends."""
    formula, crops = x.formula, attrs["coordinate_transformation_mode"] == CROPS
    for entry, axis in enumerate(axes):
        same = x.shape[axis] == out[axis]
        if same and (attrs["antialias"] or out[axis] == 1) and not crops:
            continue
        shape = (*x.shape[:axis], out[axis], *x.shape[axis + 1 :])
        inputs = (x, scales, roi) if crops and roi else (x, scales)
        own = {"axis": axis, "entry": entry, "axes": len(axes)}
        x = formula.add(NAME, inputs, shape, f"axis{axis}", **own, **attrs)
    return x


def constant_scales(x: Term, scales: tuple[float, ...], axes: Shape) -> Term:
    """The scales of ``axes`` as a tensor."""
    return x.formula.constant(np.array([scales[axis] for axis in axes], np.float32), "scales")


def _taps(node: Node, graph: Graph) -> int:
    """As many as the filter reaches: with ``antialias`` it is as wide as the scale is small, which
    sizes that keep an aspect ratio are not in proportion to."""
    support = {"nearest": 0, "linear": 1, "cubic": 2}[str(node.attrs["mode"])]
    axis, wide = int(node.attrs["axis"]), 1.0
    if node.attrs["antialias"]:
        wide = max(wide, graph[node.inputs[0]].shape[axis] / graph[node.output].shape[axis])
        if (scales := graph[node.inputs[1]].data) is not None:
            wide = max(wide, 1 / float(scales[int(node.attrs["entry"])]))
    return 2 * math.ceil(support * wide)


def lower(node: Node, graph: Graph, target: Target) -> Layer:
    """For each place along the axis its elements, weighed, of all that is around the axis."""
    shape, axis, call = graph[node.inputs[0]].shape, node.attrs["axis"], Call(node, graph, target)
    count, mode = graph[node.output].shape[axis], str(node.attrs["mode"])
    taps = _taps(node, graph)
    params: dict[str, Param] = {
        "outer": math.prod(shape[:axis]),
        "size": shape[axis],
        "count": count,
        "inner": math.prod(shape[axis + 1 :]),
        "coordinates": str(node.attrs["coordinate_transformation_mode"]),
        "interpolation": str(node.attrs["nearest_mode"]) if mode == "nearest" else mode,
        "taps": taps,
        "antialiased": int(node.attrs["antialias"]),
        "excludes_outside": int(node.attrs["exclude_outside"]),
        "cubic": Number(float(node.attrs["cubic_coeff_a"])),
        "extrapolated": Number(float(node.attrs["extrapolation_value"])),
        "entry": int(node.attrs["entry"]),
        "axes": int(node.attrs["axes"]),
        "crops": len(node.inputs) > 2,
    }
    pointers = dict(zip(("in", "scales", "roi"), node.inputs, strict=False))
    slots = max(taps, 1) * call.out_vectors
    return kernel_layer(
        call,
        "resize_along",
        "ops/resize_along.c.j2",
        operands=pointers,
        params=params,
        headers=("ec_resize_along.h",),
        work=call.streams(slots),
        epilogue=False,
    )


OPERATOR = Operator(name=NAME, lower=lower, stored=Stored.NOTHING)
