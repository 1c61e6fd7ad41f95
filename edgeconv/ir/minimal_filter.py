"""Minimal filtering algorithms F(m, r): sizes and points, of which their matrices are made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True, slots=True)
class MinimalFilter:
    """F(``outputs``, ``taps``): outputs of a filter by evaluation at ``points`` and infinity."""

    outputs: int
    taps: int
    points: tuple[Fraction, ...]

    @property
    def products(self) -> int:
        """Multiplications, and inputs that the outputs are made of."""
        return self.outputs + self.taps - 1

    @property
    def name(self) -> str:
        """Unique, and part of C names: ``4x3_0_1_m1_2_m2``; a half is ``1o2``."""
        points = (str(point).replace("-", "m").replace("/", "o") for point in self.points)
        return "_".join((f"{self.outputs}x{self.taps}", *points))

    def __str__(self) -> str:
        return f"F({self.outputs}, {self.taps})"


@dataclass(frozen=True, slots=True)
class Nested:
    """A form for every column of a tile, in which one for its rows is nested."""

    down: MinimalFilter
    across: MinimalFilter

    @property
    def products(self) -> int:
        """Multiplications of a tile."""
        return self.down.products * self.across.products

    @property
    def outputs(self) -> int:
        """Of a tile."""
        return self.down.outputs * self.across.outputs

    def __str__(self) -> str:
        down, across = self.down, self.across
        return f"F({down.outputs}x{across.outputs}, {down.taps}x{across.taps})"


def minimal_filter(
    outputs: int, taps: int, points: Sequence[int | str | Fraction]
) -> MinimalFilter:
    """F(``outputs``, ``taps``); points may be written as ``1/2``."""
    return MinimalFilter(outputs, taps, tuple(Fraction(point) for point in points))
