"""Filters as SConv's micro-kernel reads them (Ferrari et al., TACO 2023, Section 6.3)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from edgeconv.algorithms.packing import row_elements
from edgeconv.encoding import FLOAT32, Encoding

Floats = npt.NDArray[np.float32]


def packed_elements(in_c: int, taps: int, nc: int, widths: tuple[int, ...], form: Encoding) -> int:
    """Elements of the packed filters of one group, stored in the format ``form``."""
    sets = [min(nc, in_c - c) for c in range(0, in_c, nc)]
    return sum(row_elements(width * n * taps, form) for n in sets for width in widths)


def pack_filters(
    weights: Floats, groups: int, nc: int, widths: tuple[int, ...], form: Encoding = FLOAT32
) -> Floats:
    """Pack weights of shape (out_c, in_c / groups, kernel ...), to be stored in ``form``.

    Order: group; channel set of ``nc`` channels (the last may have fewer); tile of filters;
    channel; kernel position; filter of the tile.  ``widths`` holds the filters of each tile of a
    group; beyond the group's own they are zero.  Each tile begins with a byte.
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
                flat = tile.transpose(1, 2, 0).reshape(-1)
                pieces.append(np.pad(flat, (0, row_elements(flat.size, form) - flat.size)))
                first += width
    return np.concatenate(pieces)
