"""The numbers that a weight can be stored as: a format's values, in units of its channel.

Rows are output channels.  int8 and int4 count evenly up to their largest number, flyte8 in factors
of four; all of them times a unit per row, which the kernels multiply the row's sum by.  flyte24 and
flyte16 are close enough to float32 to have none.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from edgeconv.kernels.storage.base import StorageFormat

Doubles = npt.NDArray[np.float64]
Real = TypeVar("Real", np.float32, np.float64)
# Where a unit cuts the largest weights off, the others are counted finer: tried down to a third.
_CLIPPED = np.linspace(1.0, 0.35, 27)
_BLOCK = 1 << 14  # numbers that units are sought for at once: L2 holds several times as many
# Units of a codebook of powers of four, in one period of it.
_SHIFTED = 4.0 ** (np.arange(16) / 16)


@dataclass(frozen=True, slots=True)
class Codebook:
    """The values of one format.  ``truncate``: weights become the nearest toward zero."""

    form: StorageFormat
    truncate: bool = False

    @property
    def is_even(self) -> bool:
        """Whole numbers up to the largest."""
        return self.form.smallest == 1.0

    @property
    def has_units(self) -> bool:
        return self.form.scaled

    def nearest(self, values: npt.NDArray[Real]) -> npt.NDArray[Real]:
        """The nearest number that the format has, of each value in units."""
        if self.is_even:
            counts = np.trunc(values) if self.truncate else np.rint(values)
            return np.clip(counts, -self.form.largest, self.form.largest)
        return self.form.rounded(values, truncate=self.truncate).astype(values.dtype)

    def default_units(self, rows: Doubles) -> Doubles:
        """(rows,): the whole range of an even codebook, one of any other."""
        if not self.is_even:
            return np.ones(len(rows))
        return _nonzero(np.abs(rows).max(axis=1, initial=0.0) / self.form.largest)

    def tensor_units(self, rows: Doubles) -> Doubles:
        """One unit for all rows: what rounding is without units per channel."""
        return np.full(len(rows), self.default_units(rows.reshape(1, -1))[0])

    def best_units(self, rows: Doubles, variance: Doubles, mean: Doubles) -> Doubles:
        """(rows,): of several units the one with the least squared error of the row's sum.

        ``variance`` and ``mean``: of the input that each weight meets, inputs being taken for
        independent (of the shape of ``rows``, or of one row).  Weights cut off are all too small,
        so that their errors add up where inputs have a mean.
        """
        if not self.has_units:
            return np.ones(len(rows))
        found = np.empty(len(rows))
        at_once = max(_BLOCK // max(rows.shape[1], 1), 1)
        for start in range(0, len(rows), at_once):
            own = slice(start, start + at_once)
            moments = (each if len(each) == 1 else each[own] for each in (variance, mean))
            found[own] = self._best_units(rows[own], *moments)
        return found

    def _best_units(self, rows: Doubles, variance: Doubles, mean: Doubles) -> Doubles:
        """`best_units` of as many rows as a cache holds."""
        default = self.default_units(rows)
        best, least = default.copy(), np.full(len(rows), np.inf)
        for factor in _CLIPPED if self.is_even else _SHIFTED:
            units = _single(default * factor)
            error = rows - units[:, None] * self.nearest(rows / units[:, None])
            moved = _weighted_sum(error, mean)
            found = _weighted_sum(np.square(error, out=error), variance) + np.square(moved)
            best = np.where(found < least, units, best)
            least = np.minimum(found, least)
        return best


def _weighted_sum(rows: Doubles, weights: Doubles) -> Doubles:
    """The sums of the rows, by weights of their own or of all rows."""
    if len(weights) == 1:
        shared: Doubles = rows @ np.broadcast_to(weights[0], rows.shape[1:])
        return shared
    own: Doubles = np.einsum("rk,rk->r", rows, weights)
    return own


def _single(values: Doubles) -> Doubles:
    """As float32 has them: units are kept so."""
    return values.astype(np.float32).astype(np.float64)


def _nonzero(units: Doubles) -> Doubles:
    """A unit of rows of zeros is one; none is subnormal."""
    tiny = float(np.finfo(np.float32).tiny)
    return _single(np.where(units > 0, np.maximum(units, tiny), 1.0))
