"""Cutting filters into tiles and lines of pixels into strips, as ec_gemm.h takes them."""

from __future__ import annotations

from dataclasses import astuple, dataclass


@dataclass(frozen=True, slots=True)
class Cut:
    """``count`` pieces of ``wide`` filters or pixels, then ``rest`` of ``narrow``: an ec_cut."""

    wide: int
    count: int
    narrow: int = 0
    rest: int = 0

    @staticmethod
    def into(total: int, wide: int) -> Cut:
        """Pieces of ``wide``, and a narrow one of what is left."""
        count, left = divmod(total, wide)
        return Cut(wide, count, left, int(left > 0))

    @staticmethod
    def evenly(total: int, most: int) -> Cut:
        """The fewest pieces of at most ``most``, as even as they come: 15 is 8 + 7, not 14 + 1."""
        pieces = -(-total // most)
        least, more = divmod(total, pieces)
        return Cut(least + 1, more, least, pieces - more) if more else Cut(least, pieces)

    @property
    def pieces(self) -> int:
        """How many there are."""
        return self.count + self.rest

    @property
    def members(self) -> tuple[int, ...]:
        """As parameters of templates."""
        return astuple(self)
