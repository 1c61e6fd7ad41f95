"""What the bytes of a region hold: intervals that know who wrote them last."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from typing import Generic, NamedTuple, TypeVar

Origin = TypeVar("Origin")


class Piece(NamedTuple, Generic[Origin]):
    """``size`` bytes that hold the bytes that ``origin`` wrote, from its byte ``start`` on."""

    size: int
    origin: Origin
    start: int


class Contents(Generic[Origin]):
    """One region: disjoint intervals of bytes with their values, sorted; the rest is garbage."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._pieces: list[Piece[Origin]] = []

    def write(self, offset: int, piece: Piece[Origin]) -> None:
        """Put ``piece`` at ``offset``, over whatever is there."""
        if piece.size == 0:
            return
        end = offset + piece.size
        first = max(0, bisect_right(self._starts, offset) - 1)
        last = bisect_right(self._starts, end - 1)
        kept = [(offset, piece)]
        for start, old in zip(self._starts[first:last], self._pieces[first:last], strict=True):
            if start < offset:
                kept.append((start, old._replace(size=min(old.size, offset - start))))
            if start + old.size > end:
                cut = end - start
                kept.append((end, Piece(old.size - cut, old.origin, old.start + cut)))
        kept.sort(key=lambda entry: entry[0])
        self._starts[first:last] = [start for start, _ in kept]
        self._pieces[first:last] = [old for _, old in kept]

    def read(self, offset: int, size: int) -> list[Piece[Origin]]:
        """What ``size`` bytes at ``offset`` hold; bytes never written are left out."""
        found = []
        first = max(0, bisect_right(self._starts, offset) - 1)
        last = bisect_left(self._starts, offset + size)
        for start, piece in zip(self._starts[first:last], self._pieces[first:last], strict=True):
            low, high = max(start, offset), min(start + piece.size, offset + size)
            if low < high:
                found.append(Piece(high - low, piece.origin, piece.start + low - start))
        return merged(found)


def merged(content: Iterable[Piece[Origin]]) -> list[Piece[Origin]]:
    """Neighbours that continue each other as one, without empty ones."""
    found: list[Piece[Origin]] = []
    for piece in content:
        if found and _follows(piece, found[-1]):
            found[-1] = found[-1]._replace(size=found[-1].size + piece.size)
        elif piece.size:
            found.append(piece)
    return found


def _follows(piece: Piece[Origin], last: Piece[Origin]) -> bool:
    return (piece.origin, piece.start) == (last.origin, last.start + last.size)
