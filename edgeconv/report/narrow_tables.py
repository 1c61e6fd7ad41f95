"""Tables of a report on consoles that are too narrow for them: no digit is cut or folded away."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.measure import Measurement
from rich.segment import Segment
from rich.table import Table

_INDENT = "  "
_SPACES = 2  # around a column
_NUMBER = re.compile(r"[(<]?[-+]?\d[\d,.]*(?:e[-+]?\d+)?[%;:),.]*")


class PlainTable(Table):
    """Its columns that are aligned to the right, of numbers, are as wide as they need, also where
    the console is not: then lines are longer than it.  Others are as wide as the longest number
    among their words; names are folded, never cut."""

    def least_width(self, console: Console, options: ConsoleOptions) -> int:
        """The columns of a console that the table needs, whose columns it makes as wide as they
        have to be."""
        for column in self.columns:
            if column.justify == "right":
                cells = (column.header, *column.cells)
                column.min_width = max(_width(cell, console, options) for cell in cells)
            else:  # words may be folded, numbers among them not
                column.min_width = max(map(_longest_number, column.cells), default=0) or None
        # What remains for names folds; a column has room for one letter and the spaces around it.
        return sum(_SPACES + (column.min_width or 1) for column in self.columns)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        least = self.least_width(console, options)
        room = options.update(width=max(options.max_width, least))
        yield from super().__rich_console__(console, room)


def _longest_number(cell: RenderableType) -> int:
    """Characters of the longest word that is a number, with the punctuation around it."""
    words = str(cell).split()
    return max((len(word) for word in words if _NUMBER.fullmatch(word)), default=0)


def _width(cell: RenderableType, console: Console, options: ConsoleOptions) -> int:
    unbounded = options.update(width=1 << 16)
    return Measurement.get(console, unbounded, cell).maximum


@dataclass(frozen=True, slots=True)
class Indented:
    """A table behind two spaces: rich's own padding would cut what is wider than the console."""

    table: PlainTable

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        least = self.table.least_width(console, options)
        room = options.update(width=max(options.max_width - len(_INDENT), least))
        for line in console.render_lines(self.table, room, pad=False):
            yield Segment(_INDENT)
            yield from line
            yield Segment.line()


@dataclass(frozen=True, slots=True)
class ByRoom:
    """``wide`` where the console is wide enough for it, else ``narrow`` and then ``below``."""

    wide: Table
    narrow: Table
    below: RenderableType = ""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        fits = _width(self.wide, console, options) <= options.max_width
        if fits:
            yield self.wide
            return
        yield self.narrow
        if self.below:
            yield self.below


def plain_table(*headings: str) -> PlainTable:
    """A table without frames, which reads the same in a terminal and in a pipe; ``>`` in front of
    a heading aligns its column to the right, ``<`` or nothing to the left."""
    table = PlainTable(box=None, pad_edge=False, header_style="dim")
    for heading in headings:
        justify: Literal["left", "right"] = "right" if heading.startswith(">") else "left"
        table.add_column(
            heading[1:] if heading.startswith(("<", ">")) else heading,
            justify=justify,
            overflow="fold",
        )
    table.show_header = any(column.header for column in table.columns)
    return table
