"""Filters as SConv's micro-kernel reads them (Ferrari et al., TACO 2023, Section 6.3)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]


def pack_filters(weights: Floats, groups: int, nc: int, widths: tuple[int, ...]) -> Floats:
    """Pack weights of shape (out_c, in_c / groups, kernel ...).

    Order: group; channel set of ``nc`` channels (the last may have fewer); tile of filters;
    channel; kernel position; filter of the tile.  ``widths`` holds the filters of each tile of a
    group; beyond the group's own they are zero.
    """
    out_c, in_c = weights.shape[0] // groups, weights.shape[1]
    taps = int(np.prod(weights.shape[2:]))
    padded = np.zeros((groups, sum(widths), in_c, taps), np.float32)
    padded[:, :out_c] = weights.reshape(groups, out_c, in_c, taps)
    pieces: list[Floats] = []
    for group in padded:
        for c in range(0, in_c, nc):
            first = 0
            for width in widths:
                tile = group[first : first + width, c : c + nc]
                pieces.append(tile.transpose(1, 2, 0).reshape(-1))
                first += width
    return np.concatenate(pieces)
