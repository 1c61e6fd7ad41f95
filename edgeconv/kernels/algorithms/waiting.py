"""Sums that wait in the workspace: those of micro-kernels whose sums are memory.

Such a micro-kernel has a mode of its own.  Between entering and leaving it `ec_gemm.h` sums the
products of as many lines of pixels, each under a tile of filters, as find room; their epilogue
follows with ordinary vectors.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from edgeconv.kernels.algorithms.cut import Cut
from edgeconv.target.micro_kernel import MicroKernel

WORD_BYTES = 4
_LINE = 16  # words that a cache line holds


@dataclass(frozen=True, slots=True)
class Waiting:
    """``lines`` wait at a time, of ``strips`` strips each, a strip of ``strip`` words.  All lines
    under a tile of filters come before the next one, or, not ``by_tiles``, all tiles under a line.
    """

    lines: int = 0
    strips: int = 0
    strip: int = 0
    by_tiles: bool = True

    @property
    def line(self) -> int:
        """Words of a line under a tile of filters."""
        return self.strips * self.strip

    @property
    def bytes(self) -> int:
        """Bytes of the workspace, what aligns them behind other words included; 0 where none
        wait."""
        return WORD_BYTES * (self.lines * self.line + _LINE) if self.lines else 0

    def members(self, words: int) -> tuple[int, ...]:
        """The members of ec_waiting, behind so many words of the workspace; none where none
        wait."""
        at = -(-words // _LINE) * _LINE
        return (at, self.lines, self.line, self.strip, int(self.by_tiles)) if self.lines else ()

    def entered(self, lines: Cut, tiles: Cut) -> int:
        """How often the mode is entered where so many lines are packed at a time, and so many tiles
        of filters are near."""
        return sum(
            many * often * -(-count * each // self.lines)
            for count, many in ((lines.wide, lines.count), (lines.narrow, lines.rest))
            for each, often in ((tiles.wide, tiles.count), (tiles.narrow, tiles.rest))
            if self.lines
        )


NOTHING = Waiting()


def room_for(kernel: MicroKernel, tiles: Iterable[tuple[Cut, int]], lanes: int) -> Waiting:
    """Room for one line, whose strips are cut so under tiles of so many vectors of filters, or
    whose filters are under so many vectors of pixels; none where sums are in registers."""
    if not kernel.memory_sums:
        return NOTHING
    strips = strip = 0
    for cut, vectors in tiles:
        rows = -(-cut.wide // kernel.row_multiple) * kernel.row_multiple
        strips, strip = max(strips, cut.pieces), max(strip, rows * vectors * lanes)
    return Waiting(1, strips, strip)


def filled(
    kernel: MicroKernel, room: Waiting, lines: int, near: int, most: int
) -> tuple[Waiting, int]:
    """``room`` for as many lines as wait in the bytes that the micro-kernel asks for, one at least;
    and how many tiles of filters are near then.  ``lines`` are packed at a time, under ``near``
    tiles, or, where that is one, as many as find room, ``most`` at most."""
    if not room.lines:
        return room, near
    count = max(1, min(lines * max(near, most), kernel.waiting // (WORD_BYTES * room.line)))
    if near > 1:
        return replace(room, lines=min(count, lines * near), by_tiles=False), near
    return replace(room, lines=count), max(1, min(most, count // lines))
