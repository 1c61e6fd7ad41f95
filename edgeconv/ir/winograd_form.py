"""Winograd's algorithms F(m, r): sizes and points, of which their matrices are made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache


@dataclass(frozen=True, slots=True)
class WinogradForm:
    """F(``outputs``, ``taps``): outputs of a filter by evaluation at ``points`` and infinity.

    A single output without points is a filter as it is: a product per tap, and their sum.
    """

    outputs: int
    taps: int
    points: tuple[Fraction, ...]

    def __hash__(self) -> int:
        """Forms are looked up by the thousand, and a fraction's hash is a power modulo a prime."""
        return hash((self.outputs, self.taps, len(self.points)))

    @property
    def products(self) -> int:
        """Multiplications, and inputs that the outputs are made of."""
        return self.outputs + self.taps - 1

    @property
    def is_plain(self) -> bool:
        """Whether nothing is transformed."""
        return self.outputs == 1 and not self.points

    @property
    def name(self) -> str:
        """Unique, and part of C names: ``4x3_0_1_m1_2_m2``; a half is ``1o2``."""
        points = (str(point).replace("-", "m").replace("/", "o") for point in self.points)
        return "_".join((f"{self.outputs}x{self.taps}", *points))

    def __str__(self) -> str:
        return f"F({self.outputs}, {self.taps})"


@dataclass(frozen=True, slots=True)
class Nested:
    """A form for every column of a tile, in which one for its rows is nested.

    Where that of the columns is plain, tiles have a single row, and the products of neighbouring
    ones are summed (a sum of one-dimensional forms).
    """

    down: WinogradForm
    across: WinogradForm

    @property
    def products(self) -> int:
        """Multiplications of a tile."""
        return self.down.products * self.across.products

    @property
    def outputs(self) -> int:
        """The outputs of a tile."""
        return self.down.outputs * self.across.outputs

    @property
    def summed(self) -> int:
        """Rows of tiles whose products are summed."""
        return self.down.taps if self.down.is_plain else 1

    @property
    def taken(self) -> tuple[int, int]:
        """Rows and columns of an input's tile."""
        return self.down.products // self.summed, self.across.products

    def __str__(self) -> str:
        down, across = self.down, self.across
        return f"F({down.outputs}x{across.outputs}, {down.taps}x{across.taps})"


def plain(taps: int) -> WinogradForm:
    """A filter as it is."""
    return WinogradForm(1, taps, ())


def winograd_form(outputs: int, taps: int, points: Sequence[int | str | Fraction]) -> WinogradForm:
    """F(``outputs``, ``taps``); points may be written as ``1/2``."""
    return _form(outputs, taps, tuple(points))


@lru_cache(maxsize=256)
def _form(outputs: int, taps: int, points: tuple[int | str | Fraction, ...]) -> WinogradForm:
    return WinogradForm(outputs, taps, tuple(Fraction(point) for point in points))
