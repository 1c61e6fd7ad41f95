"""Cutting an output row into strips of neighbouring pixels, one micro-kernel call each."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from edgeconv.kernels.algorithms.problem import ConvProblem


@dataclass(frozen=True, slots=True)
class Segment:
    """``count`` strips of ``rows`` pixels side by side, from output column ``column`` on.

    ``edge``: some kernel column may fall outside the input, so the strips leave tile rows out.
    """

    column: int
    count: int
    rows: int
    edge: bool

    @property
    def end(self) -> int:
        """The column after the last."""
        return self.column + self.count * self.rows


def widths(pixels: int, largest: int) -> list[int]:
    """Cut ``pixels`` into the fewest strips of at most ``largest``, as even as they come.

    Even strips keep every call near the micro-kernel's best size: 15 is 8 + 7, not 14 + 1.
    """
    count = -(-pixels // largest)
    wide = pixels - (pixels // count) * count
    return [pixels // count + (i < wide) for i in range(count)]


def segments(problem: ConvProblem, row: int, largest: int) -> tuple[Segment, ...]:
    """The strips of an output row of ``row`` pixels, equal neighbours merged.

    A strip of which any kernel column reads left or right of the input is an edge.  A single edge
    strip has a constant column, so the compiler drops the tile rows to leave out; several on the
    same side (long kernels, wide dilations) are one loop and find them at run time.
    """
    in_w = row if problem.is_pointwise else problem.in_size[2]  # rows may be regrouped
    reach = (problem.kernel[2] - 1) * problem.dilations[2]
    return _segments(row, largest, problem.strides[2], problem.pads[2], in_w, reach)


@lru_cache(maxsize=4096)  # plans of one layer, and layers of a network, share most of theirs
def _segments(
    row: int, largest: int, stride: int, pad: int, in_w: int, reach: int
) -> tuple[Segment, ...]:
    found: list[Segment] = []
    sides: list[tuple[bool, bool]] = []
    column = 0
    for rows in widths(row, largest):
        first = column * stride - pad
        last = (column + rows - 1) * stride - pad + reach
        side = first < 0, last >= in_w
        before = found[-1] if found else None
        if before and before.rows == rows and sides[-1] == side:
            found[-1] = Segment(before.column, before.count + 1, rows, any(side))
        else:
            found.append(Segment(column, 1, rows, any(side)))
            sides.append(side)
        column += rows
    return tuple(found)


def flatten(cut: tuple[Segment, ...]) -> tuple[int, ...]:
    """Segments as template parameters: column, count, rows and edge of each in turn."""
    return tuple(n for s in cut for n in (s.column, s.count, s.rows, int(s.edge)))
