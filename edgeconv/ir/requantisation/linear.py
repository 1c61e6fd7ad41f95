"""Linear functions of whole numbers, rounded down: their sums, and so whether two are equal.

All is rational arithmetic on Python's integers.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction


def floor_sum(count: int, over: int, slope: int, start: int) -> int:
    """The sum of floor((slope i + start) / over) for i from 0 to ``count`` - 1, ``over`` > 0.

    Euclid's algorithm: as many steps as the quotient of ``slope`` and ``over`` has digits (Graham,
    Knuth and Patashnik, Concrete Mathematics, 3.4 and exercise 3.32).
    """
    total, sign = 0, 1
    while count > 0:
        whole, slope = divmod(slope, over)
        total += sign * whole * (count * (count - 1) // 2)
        whole, start = divmod(start, over)
        total += sign * whole * count
        last = slope * count + start
        if last < over:
            break
        # As many lattice points lie below the line as are left of it.
        rows = last // over
        total += sign * rows * count
        sign, count = -sign, rows
        start, slope, over = over - start - 1 + slope, over, slope
    return total


@dataclass(frozen=True, slots=True)
class Line:
    """floor((slope i + start) / over), ``over`` > 0 and ``slope`` > 0."""

    slope: int
    start: int
    over: int

    @staticmethod
    def through(slope: Fraction, start: Fraction) -> Line:
        """The line of slope i + start."""
        over = slope.denominator * start.denominator
        return Line(slope.numerator * start.denominator, start.numerator * slope.denominator, over)

    def at(self, i: int) -> int:
        """The number of ``i``."""
        return (self.slope * i + self.start) // self.over

    def first(self, value: int) -> int:
        """The smallest i of which the number is ``value`` or more."""
        return -((self.start - value * self.over) // self.slope)

    def total(self, first: int, last: int) -> int:
        """The sum of all numbers from that of ``first`` to that of ``last``."""
        start = self.slope * first + self.start
        return floor_sum(last - first + 1, self.over, self.slope, start)

    def equals(self, other: Line, first: int, last: int) -> bool:
        """Whether the numbers of both are equal from that of ``first`` to that of ``last``.

        On either side of where the lines cross one of them is never the smaller one, and neither
        are its numbers: so they are equal just where their sums are.
        """
        steeper = self.slope * other.over - other.slope * self.over
        more = self.start * other.over - other.start * self.over
        level_traffic = max(first - 1, min(last, -more // steeper)) if steeper else last
        parts = ((first, level_traffic), (level_traffic + 1, last))
        return all(
            self.total(begin, end) == other.total(begin, end)
            for begin, end in parts
            if begin <= end
        )

    def whole(self, first: int, last: int) -> int:
        """For how many i from ``first`` to ``last`` nothing is rounded."""
        below = Line(self.slope, self.start - 1, self.over)
        return self.total(first, last) - below.total(first, last)
