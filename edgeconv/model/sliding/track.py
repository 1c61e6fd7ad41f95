"""Where the rows of a tensor lie in time."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

# Rows of a stream without borders: more than any window has, few enough to calculate with.
FAR = 1 << 40


@dataclass(frozen=True, slots=True)
class Track:
    """A tensor with ``rows`` rows along ``axis``, of which one run moves the window by ``rate``; 0
    of a window that stays where it is, all rows of which are fresh.

    Rows [``first``, ``end``) are interior: they read no padding, so that row i of a window is
    row i - rate of the next.  Rows in front and behind, the borders, belong to one window alone.
    """

    axis: int
    rows: int
    rate: Fraction
    first: int
    end: int

    @property
    def endless(self) -> bool:
        """Rows beyond the window are those of the stream, not padding."""
        return self.first <= -FAR

    @property
    def fresh(self) -> int:
        """The most rows that a run computes anew: at least one, also where the window moves by
        less."""
        if not self.rate:
            return FAR
        return max(1, int(self.rate)) if self.regular else 1

    @property
    def delay(self) -> int:
        """Runs until a row is where its successor was."""
        return max(1, round(1 / self.rate)) if self.rate else 1

    @property
    def regular(self) -> bool:
        """A row of one window is the fresh row of an earlier one, or one of its fresh rows."""
        return 1 in (self.rate.denominator, self.rate.numerator)

    def through(self, window: Window, axis: int, rows: int) -> Track:
        """The track of the ``rows`` rows along ``axis`` that ``window`` computes of these."""
        moved = replace(self, axis=axis, rows=rows, rate=self.rate / window.stride)
        if self.endless:
            return moved
        first = -(-(self.first + window.pad) // window.stride)
        end = (self.end - window.span + window.pad) // window.stride + 1
        first, end = max(first, 0), min(end, rows)
        return (
            replace(moved, first=rows, end=rows)
            if first >= end
            else replace(moved, first=first, end=end)
        )


@dataclass(frozen=True, slots=True)
class Window:
    """Row i of a result reads rows i * ``stride`` - ``pad`` + j * ``dilation``, j < ``kernel``."""

    kernel: int = 1
    stride: int = 1
    dilation: int = 1
    pad: int = 0

    @property
    def span(self) -> int:
        """Rows from the first that is read to the last, both included."""
        return (self.kernel - 1) * self.dilation + 1

    def reads(self, begin: int, end: int) -> tuple[int, int]:
        """The range of rows, padding included, that rows [begin, end) of the result read."""
        return begin * self.stride - self.pad, (end - 1) * self.stride - self.pad + self.span


ROW = Window()
