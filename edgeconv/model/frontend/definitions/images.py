"""CropAndResize: boxes of images, each brought to one size by bilinear interpolation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from edgeconv.model.frontend.definitions.definition import Definition, Row
from edgeconv.model.frontend.definitions.fused import number, text

_AXES = {"y": (0, 2), "x": (1, 3)}  # where a box, [y1, x1, y2, x2], has its ends
_RANK = 4


def _crop_and_resize(d: Definition) -> None:
    """Y[r, c, i, j] = X[batch(r), c, y(r, i), x(r, j)] between pixels, extrapolation_value outside.

    y goes from y1 (H - 1) to y2 (H - 1) in equal steps, or is their middle where there is one.
    """
    shape, boxes, size = d.shape(0), d.shape(1), d.constant(3)
    if text(d, "mode") not in ("", "bilinear"):
        raise d.rejected(f"mode {text(d, 'mode')!r}", "boxes are interpolated: bilinear")
    if shape is None or boxes is None or len(shape) != _RANK or min(shape[2:]) < 2:
        got = f"X {shape and list(shape)}"
        raise d.rejected(got, "X is [batch, channels, height, width], of two pixels at least")
    if size is None or size.size != 2 or size.min() < 1:
        raise d.rejected("crop_size computed at run time", "it is a constant, two positive numbers")
    count = boxes[0]
    sizes = {"y": int(size.reshape(-1)[0]), "x": int(size.reshape(-1)[1])}
    grids, inside = [], ""
    for way, extent in zip("xy", (shape[3], shape[2]), strict=True):
        along = [count, 1, sizes["x"]] if way == "x" else [count, sizes["y"], 1]
        within = _along(d, _AXES[way], sizes[way], extent)
        within = d.add("Reshape", [within, d.add_constant("along", np.array(along))])
        for op, end in (("GreaterOrEqual", 0.0), ("LessOrEqual", extent - 1.0)):
            true = d.add(op, [within, number(d, "end", end)])
            inside = d.add("And", [inside, true]) if inside else true
        halves = d.add("Mul", [within, number(d, "to_grid", 2.0 / (extent - 1))])
        shifted = d.add("Sub", [halves, number(d, "one", 1.0)])
        every = d.add_constant("every", np.array([count, sizes["y"], sizes["x"]]))
        last = d.add_constant("last", np.array([-1]))
        grids.append(d.add("Unsqueeze", [d.add("Expand", [shifted, every]), last]))
    images = d.add("Gather", [d.input(0), d.input(2)], axis=0)
    sampling: dict[str, Any] = {"mode": "linear", "padding_mode": "border", "align_corners": 1}
    taken = d.add("GridSample", [images, d.add("Concat", grids, axis=-1)], **sampling)
    channel = d.add_constant("channel", np.array([1]))
    outside = number(d, "outside", d.number("extrapolation_value", 0.0))
    d.add("Where", [d.add("Unsqueeze", [inside, channel]), taken, outside], d.node.output[0])


def _along(d: Definition, ends: Sequence[int], count: int, extent: int) -> str:
    """``count`` places between two ends of every box, in pixels of an axis of ``extent``."""
    axis = d.add_constant("axis", np.array([1]))
    first, last = (
        d.add("Slice", [d.input(1), *(d.add_constant("cut", np.array([at])) for at in cut), axis])
        for cut in ((end, end + 1) for end in ends)
    )
    parts = np.arange(count) / (count - 1) if count > 1 else np.array([0.5])
    part = d.add_constant("parts", parts.astype(np.float32))
    moved = d.add("Mul", [d.add("Sub", [last, first]), part])
    return d.add("Mul", [d.add("Add", [first, moved]), number(d, "pixels", extent - 1.0)])


ROWS: Mapping[str, Row] = {
    "CropAndResize": Row("X rois batch_indices crop_size", _crop_and_resize, integers=False),
}
