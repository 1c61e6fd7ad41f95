"""Filters in the order in which the loops of ec_conv_bfloat16.h read them."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]
PAIR_BYTES = 4


@dataclass(frozen=True, slots=True)
class FilterOrder:
    """``groups`` of ``out_c`` filters of ``in_c`` channels and ``taps`` kernel positions each.

    ``widths``: filters of each tile of a group, in whole vectors.  ``pairs``: of channels in a
    block; the last may have fewer.
    """

    groups: int
    out_c: int
    in_c: int
    taps: int
    widths: tuple[int, ...]
    pairs: int

    @property
    def all_pairs(self) -> int:
        """Pairs of channels of a filter, the last perhaps with one channel."""
        return -(-self.in_c // 2)

    def tile_bytes(self, width: int) -> int:
        """Bytes of a tile of ``width`` filters."""
        return PAIR_BYTES * width * self.all_pairs * self.taps

    @property
    def elements(self) -> int:
        """Numbers in all, padding included."""
        return 2 * self.groups * sum(self.widths) * self.all_pairs * self.taps

    def pack(self, weights: Floats) -> Floats:
        """Weights of shape (out_c, in_c / groups, kernel ...), zeros where there are none.

        Order: group; tile; block of pairs; kernel position; pair; filter; channel of the pair.
        """
        filters, channels = sum(self.widths), 2 * self.all_pairs
        padded = np.zeros((self.groups, filters, channels, self.taps), np.float32)
        padded[:, : self.out_c, : self.in_c] = weights.reshape(
            self.groups, self.out_c, self.in_c, math.prod(weights.shape[2:])
        )
        pairs = padded.reshape(self.groups, filters, self.all_pairs, 2, self.taps)
        pieces: list[Floats] = []
        for group in pairs:
            first = 0
            for width in self.widths:
                tile = group[first : first + width].transpose(3, 1, 0, 2)  # tap, pair, filter, two
                for block in range(0, self.all_pairs, self.pairs):
                    pieces.append(tile[:, block : block + self.pairs].reshape(-1))
                first += width
        return np.concatenate(pieces)
