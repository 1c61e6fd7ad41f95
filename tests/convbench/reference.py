"""A convolution in float64, as matrix products over bands of output rows."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numpy.lib.stride_tricks import sliding_window_view

from tests.convbench.table import Convolution

Floats = npt.NDArray[np.float32]
Doubles = npt.NDArray[np.float64]

BAND_BYTES = 32 << 20  # of the input windows of one band of output rows


def convolve(conv: Convolution, x: Floats, w: Floats, b: Floats | None) -> Doubles:
    """The output (out_c, out_h, out_w) for ``x`` (in_c, in_h, in_w).

    ``w`` is (out_c, in_c / groups, kernel_h, kernel_w).
    """
    groups, depth = conv.groups, conv.depth
    pads = ((0, 0), (conv.pad_top, conv.pad_bottom), (conv.pad_left, conv.pad_right))
    padded = np.pad(x, pads)
    reach = (
        (conv.kernel_h - 1) * conv.dilation_h + 1,
        (conv.kernel_w - 1) * conv.dilation_w + 1,
    )
    windows = sliding_window_view(padded, reach, axis=(1, 2))
    windows = windows[:, :: conv.stride_h, :: conv.stride_w, :: conv.dilation_h, :: conv.dilation_w]
    # (group, channel, kernel row, kernel column, output row, output column)
    windows = windows.reshape(groups, -1, *windows.shape[1:]).transpose(0, 1, 4, 5, 2, 3)
    filters = w.astype(np.float64).reshape(groups, -1, depth)
    out = np.empty((groups, conv.out_c // groups, conv.out_h, conv.out_w))
    band = max(1, BAND_BYTES // (8 * groups * depth * conv.out_w))
    for top in range(0, conv.out_h, band):
        rows = windows[..., top : top + band, :].astype(np.float64, order="C")
        product = filters @ rows.reshape(groups, depth, -1)
        out[:, :, top : top + band] = product.reshape(*out.shape[:2], -1, conv.out_w)
    image = out.reshape(conv.out_c, conv.out_h, conv.out_w)
    return image if b is None else image + b[:, None, None]
