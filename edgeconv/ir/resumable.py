"""Runs that may be interrupted inside a layer: the pieces of each layer, and what they cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from edgeconv.ir.step import WHOLE, Axis

MOST_WORK = (1 << 32) - 1  # of a step, in the C API


@dataclass(frozen=True, slots=True)
class Division:
    """What a call of a layer's function can compute alone: pieces of ``axis``, which are ``rows``
    of its output or else items (`ir.step.Splits`); one piece where it computes all at once."""

    axis: Axis = WHOLE
    rows: bool = False

    @property
    def kind(self) -> str:
        """What the pieces are: rows, items, or "" where there is one."""
        return "" if self.axis.pieces <= 1 else "rows" if self.rows else "items"


@dataclass(frozen=True, slots=True)
class PieceCost:
    """Units of work, which are predicted cycles, rounded up: a call that computes n of the
    ``pieces`` of a layer takes ``call`` + n * ``each``, and ``odd`` more where n is no ``multiple``
    of what its kernel takes together."""

    pieces: Division
    call: int
    each: int
    multiple: int = 1
    odd: int = 0

    def of(self, count: int) -> int:
        """Units of a call for so many pieces."""
        return self.call + count * self.each + (self.odd if count % self.multiple else 0)

    @property
    def least(self) -> int:
        """Units of one piece."""
        return self.of(1)


@dataclass(frozen=True, slots=True)
class Resumption:
    """A run in bounded steps.  ``costs``: by layer.  ``total``: units of a run without an
    interruption.  ``longest``: the layer whose piece takes most, None in a network without
    layers.  ``together``: neighbours in the order of execution, at least two, of one piece each,
    that are computed at once: they take no more than any budget has."""

    costs: Mapping[int, PieceCost]
    total: int
    longest: int | None
    together: tuple[tuple[int, ...], ...] = ()

    @property
    def least(self) -> int:
        """The smallest budget with which every step computes something."""
        return 0 if self.longest is None else self.costs[self.longest].least
