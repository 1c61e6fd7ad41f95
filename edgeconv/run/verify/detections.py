"""Detections, which are a set: two whose scores are a rounding apart may come in either order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from edgeconv.run.build.project import Port

Values = npt.NDArray[Any]


def in_order_of(
    wanted: Mapping[str, Values],
    got: Mapping[str, Values],
    outputs: Sequence[Port],
    tolerance: float,
) -> tuple[dict[str, Values], tuple[str, ...]]:
    """``got`` with its detections in the order of those of ``wanted`` that they equal, and the
    names of the outputs whose order that has changed.

    Detections are the rows of outputs that one count counts: box, class and score of one are moved
    as one.  They are equal where no float is farther off than ``tolerance`` of the largest
    magnitude of its output in ``wanted``, and no integer differs at all.
    """
    found, moved = dict(got), list[str]()
    for names in _sets(outputs):
        if any(got[name].shape != wanted[name].shape for name in names):
            continue
        axes = {port.name: port.data_dependent[0] for port in outputs if port.data_dependent}
        tables = [_Rows.of(got[name], wanted[name], axes[name]) for name in names]
        order = _order(tables, tolerance)
        if not np.array_equal(order, np.arange(len(order))):
            found |= {name: np.take(got[name], order, axes[name]) for name in names}
            moved += names
    return found, tuple(moved)


def _sets(outputs: Sequence[Port]) -> list[list[str]]:
    """The outputs that have the same rows."""
    counts = dict.fromkeys(port.data_dependent[1] for port in outputs if port.data_dependent)
    return [
        [p.name for p in outputs if p.data_dependent and p.data_dependent[1] == count]
        for count in counts
    ]


@dataclass(frozen=True, slots=True)
class _Rows:
    """The detections as one output has them: a row of numbers each, what is ``wanted`` and what was
    ``got``.  ``largest``: the largest magnitude that is wanted, 0 of integers."""

    got: npt.NDArray[np.float64]
    wanted: npt.NDArray[np.float64]
    largest: float

    @classmethod
    def of(cls, got: Values, wanted: Values, axis: int) -> _Rows:
        """From tensors in which ``axis`` counts the detections."""
        count = wanted.shape[axis]
        rows = [
            np.moveaxis(v, axis, 0).reshape(count, -1).astype(np.float64) for v in (got, wanted)
        ]
        finite = np.abs(rows[1][np.isfinite(rows[1])])
        whole = wanted.dtype.kind in "iub"
        return cls(rows[0], rows[1], 0.0 if whole else float(finite.max(initial=0.0)))

    def far(self, mine: Any, theirs: Any) -> npt.NDArray[np.float64]:
        """By rows ``mine`` of what was got and ``theirs`` of what is wanted: the distances."""
        got, wanted = self.got[mine], self.wanted[theirs]
        same = (got == wanted) | (np.isnan(got) & np.isnan(wanted))
        with np.errstate(invalid="ignore", divide="ignore"):
            distance = np.where(same, 0.0, np.abs(got - wanted) / self.largest)
        distance = np.where(np.isnan(distance), np.inf, distance)
        most: npt.NDArray[np.float64] = distance.max(axis=-1, initial=0.0)
        return most


def _order(tables: Sequence[_Rows], tolerance: float) -> npt.NDArray[np.int64]:
    """For every row that is wanted, which of those that were got is it: the one of the same place
    where that equals it, else the nearest one that nobody else is; any that is left where none
    equals it."""
    every = np.arange(len(tables[0].wanted))
    in_place = _farthest(tables, every, every) <= tolerance
    order = np.where(in_place, every, -1)
    free = every[~in_place]
    for row in every[~in_place]:
        far = _farthest(tables, free, row)
        if far.min(initial=np.inf) <= tolerance:
            order[row] = free[far.argmin()]
            free = np.delete(free, far.argmin())
    order[order < 0] = free
    return order


def _farthest(tables: Sequence[_Rows], mine: Any, theirs: Any) -> npt.NDArray[np.float64]:
    far: npt.NDArray[np.float64] = np.maximum.reduce([each.far(mine, theirs) for each in tables])
    return far
