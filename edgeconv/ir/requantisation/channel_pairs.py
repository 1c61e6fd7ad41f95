"""Sums of int8 as int8 that are rounded to another spacing in every channel: what kernels compute.

As `pair.PairSum`, with factors, an offset and a shift of each channel; of a channel all 65,536
pairs are looked at.  Without a second operand its factors are of nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from edgeconv.ir.requantisation.exact import Integers
from edgeconv.ir.requantisation.pair import Affine, PairSum, pair_sum

WORDS = 4  # of a channel
NOTHING = Affine(0.0, 0)


@dataclass(frozen=True, slots=True, eq=False)
class ChannelPairs:
    """The sum of two tensors, by channel: q = min(max((a by_a[c] + b by_b[c] + offset[c]) >>
    right[c], low), high)"""

    by_a: Integers
    by_b: Integers
    offset: Integers
    right: Integers
    low: int
    high: int

    def of(self, a: Integers, b: Integers) -> Integers:
        """The results of (channels, any number), as kernels compute them."""
        by_a, by_b, offset, right = (each[:, None] for each in self._columns)
        found: Integers = np.clip((a * by_a + b * by_b + offset) >> right, self.low, self.high)
        return found

    @property
    def words(self) -> npt.NDArray[np.int32]:
        """(`WORDS`, channels)."""
        return np.stack(self._columns).astype(np.int32)

    @property
    def _columns(self) -> tuple[Integers, Integers, Integers, Integers]:
        return self.by_a, self.by_b, self.offset, self.right


@lru_cache(maxsize=1024)
def channel_pairs(
    a: Affine, b: Affine, spacings: tuple[float, ...], zero: int, low: int, high: int
) -> ChannelPairs | None:
    """The form of the sum of ``a`` and ``b`` in steps of the ``spacings``, exact in float64, around
    ``zero``; None where a channel has no form, as where halves of a step are to become even."""
    found = [pair_sum(a, b, Affine(spacing, zero), low, high) for spacing in spacings]
    known = [each for each in found if each is not None and not each.ties]
    return _together(known) if len(known) == len(found) else None


def _together(channels: Sequence[PairSum]) -> ChannelPairs:
    rows = [[each.by_a, each.by_b, each.offset, each.right] for each in channels]
    by_a, by_b, offset, right = np.array(rows, np.int64).T
    return ChannelPairs(by_a, by_b, offset, right, channels[0].low, channels[0].high)
