"""Results of bytes as linear functions in int32, rounded down.

Vectors compute these in place of a load from a table for each result.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

_BITS = 31  # of an int32 that is not negative
Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Linear:
    """Result of value v of channel c: (``factor[c]`` v + ``offset[c]``) >> ``shift``, held to
    ``low`` and ``high``.  All of it lies in int32."""

    factor: tuple[int, ...]
    offset: tuple[int, ...]
    shift: int
    low: int
    high: int

    @property
    def alike(self) -> tuple[int, ...]:
        """Factor and offset where they are those of all channels; else ()."""
        pairs = set(zip(self.factor, self.offset, strict=True))
        return next(iter(pairs)) if len(pairs) == 1 else ()


def linear(table: npt.NDArray[np.int64], slopes: Sequence[float]) -> Linear | None:
    """The function with the smallest shift that has every number of ``table``.

    ``table``: (C, values) of whole numbers; ``slopes``: what a value adds to them before they are
    rounded, by channel.  None where there is no such function.
    """
    low, high = int(table.min()), int(table.max())
    for shift in range(_BITS):
        channels = [
            _channel(row, slope, shift, low, high) for row, slope in zip(table, slopes, strict=True)
        ]
        there = [each for each in channels if each]
        if len(there) == len(channels):
            factor, offset = zip(*there, strict=True)
            return Linear(factor, offset, shift, low, high)
    return None


def _channel(
    row: Integers, slope: float, shift: int, low: int, high: int
) -> tuple[int, int] | None:
    """Factor and offset of one channel, the offset in the middle of those that are right."""
    values, factor = np.arange(len(row), dtype=np.int64), round(slope * 2.0**shift)
    products = values * factor
    least = np.where(row > low, (row << shift) - products, np.iinfo(np.int64).min).max()
    most = np.where(row < high, (row + 1 << shift) - 1 - products, np.iinfo(np.int64).max).min()
    if least > most:
        return None
    offset = (max(int(least), -(1 << _BITS)) + min(int(most), 1 << _BITS)) // 2
    sums = products + offset
    fits = max(abs(int(products.min())), abs(int(products.max()))) >> _BITS == 0
    return (factor, offset) if fits and _is_int32(sums) else None


def _is_int32(sums: Integers) -> bool:
    return bool((sums >= -(1 << _BITS)).all() and (sums < 1 << _BITS).all())
