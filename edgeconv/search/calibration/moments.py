"""Second moments and means of the columns that a layer's filters are multiplied with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from edgeconv.base.errors import EdgeconvError

Doubles = npt.NDArray[np.float64]
Floats = npt.NDArray[np.float32]
DAMPING = 0.01  # of the mean of H's diagonal, added to it: samples are few, and do not tell all
MORE_DAMPING = 100.0  # times the last, where that was not enough


@dataclass(frozen=True, slots=True)
class Rows:
    """How filters are cut into rows: ``groups`` of the convolution, ``pieces`` of each row."""

    groups: int
    pieces: int
    length: int  # of a piece

    def split(self, weights: npt.NDArray[np.floating]) -> Doubles:
        """Filters (out_c, ...) as (groups * pieces, rows of a group, length)."""
        shape = (self.groups, len(weights) // self.groups, self.pieces, self.length)
        cut = weights.astype(np.float64).reshape(shape).transpose(0, 2, 1, 3)
        return cut.reshape(-1, shape[1], self.length)

    def join(self, rows: Doubles, shape: Sequence[int]) -> Doubles:
        """The inverse of ``split``."""
        cut = rows.reshape(self.groups, self.pieces, rows.shape[1], self.length)
        return cut.transpose(0, 2, 1, 3).reshape(tuple(shape))

    def cut(self, columns: Floats) -> Floats:
        """Columns (groups, pixels, K) as (groups * pieces, pixels, length)."""
        shape = (*columns.shape[:2], self.pieces, self.length)
        pieces = columns.reshape(shape).transpose(0, 2, 1, 3)
        return pieces.reshape(-1, shape[1], self.length)

    def per_row(self, values: Doubles) -> Doubles:
        """One value per output channel as (groups * pieces, rows of a group)."""
        return np.repeat(values.reshape(self.groups, -1), self.pieces, axis=0)

    def sum_per_row(self, values: Doubles) -> Doubles:
        """(groups * pieces, rows of a group) summed over pieces: one per output channel."""
        cut = values.reshape(self.groups, self.pieces, values.shape[1])
        total: Doubles = cut.sum(axis=1).reshape(-1)
        return total


@dataclass(frozen=True, slots=True, eq=False)
class Prepared:
    """H = ``second`` (P, k, k), damped, its columns in the ``order`` (P, k) of falling diagonals;
    ``feedback``: the unit upper triangular U of H = U D U^T, D diagonal."""

    order: npt.NDArray[np.int64]
    second: Floats
    feedback: Floats


@dataclass(frozen=True, slots=True, eq=False)
class Averages:
    """Averages over ``pixels`` columns.  ``squares``: (P, k) of x^2, ``mean``: (P, k) of x.

    P counts the groups of the convolution, or pieces of a row too long for one matrix.
    """

    squares: Doubles
    mean: Doubles
    pixels: int

    def require_finite(self, layer: str) -> None:
        """Raises EdgeconvError where an average is not finite: nothing can be rounded by it."""
        _require_finite(layer, self.squares, self.mean)


@dataclass(frozen=True, slots=True, eq=False)
class Moments:
    """`Averages` with those of the product of every two inputs.  ``second``: (P, k, k) of x x^T."""

    second: Doubles
    mean: Doubles
    pixels: int
    _prepared: dict[bool, Prepared] = field(default_factory=dict)

    @property
    def squares(self) -> Doubles:
        """(P, k): of x^2."""
        diagonal: Doubles = np.einsum("pkk->pk", self.second)
        return diagonal

    def centred(self) -> Doubles:
        """(P, k, k): the covariance, which is what matters once a bias makes up for the mean."""
        return self.second - self.mean[:, :, None] * self.mean[:, None, :]

    def require_finite(self, layer: str) -> None:
        """Raises EdgeconvError where an average is not finite: nothing can be rounded by it."""
        _require_finite(layer, self.second, self.mean)

    def prepared(self, *, centred: bool) -> Prepared:
        """For compensated rounding, with the ``centred`` moments or those about zero; made once,
        since that takes as long as rounding to a format."""
        if centred not in self._prepared:
            self._prepared[centred] = _prepare(self.centred() if centred else self.second)
        return self._prepared[centred]


def _require_finite(layer: str, *averages: Doubles) -> None:
    if not all(np.isfinite(each).all() for each in averages):
        raise EdgeconvError(
            "cannot round by these samples",
            where=layer,
            got="inputs that are not finite, or whose squares are beyond float32",
            rule="filters are rounded by averages over the inputs that they meet",
            hint="scale the samples as in training",
        )


def _prepare(second: Doubles) -> Prepared:
    size = second.shape[-1]
    diagonal = np.einsum("pkk->pk", second)
    order = np.argsort(-diagonal, axis=1, kind="stable")
    level = diagonal.mean(axis=1)
    extra = np.where(level > 0, DAMPING * level, 1.0)  # nothing was seen: all weights are alike
    sorted_second = np.empty(second.shape, np.float32)
    feedback = np.empty(second.shape, np.float32)
    for p in range(len(second)):
        matrix = second[p][np.ix_(order[p], order[p])]
        found = None
        while found is None:  # few samples leave less than rounding errors of the moments hide
            matrix[np.diag_indices(size)] += extra[p]
            found = _feedback(matrix)
            extra[p] = max(MORE_DAMPING * extra[p], np.finfo(np.float32).tiny)
        sorted_second[p] = matrix
        feedback[p] = found
    return Prepared(order, sorted_second, feedback)


def _feedback(matrix: Doubles) -> Floats | None:
    """The unit upper triangular U of H = U D U^T.

    H backwards is L L^T, so that L backwards has U's columns times a number each.  In float32 where
    that has the digits for it: U only weighs how errors are carried.  None where H is not positive
    definite.
    """
    from scipy.linalg import lapack  # noqa: PLC0415 - as in milp

    for kind, factorise in ((np.float32, lapack.spotrf), (np.float64, lapack.dpotrf)):
        lower, failed = factorise(np.asfortranarray(matrix[::-1, ::-1], kind), lower=1, clean=1)
        if not failed:
            factor: Floats = (lower / np.diagonal(lower))[::-1, ::-1].astype(np.float32)
            return factor
    return None
