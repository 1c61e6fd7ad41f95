"""FlatBuffers' binary format, walked in a mapped file without a copy.

Every offset and length is held to the bytes of the file before anything is read there, and what is
copied is counted, so that a file that names one vector a million times is refused.
https://flatbuffers.dev/internals/
"""

from __future__ import annotations

import mmap
import struct
from collections.abc import Iterator
from typing import Any

from edgeconv.base import limits

Content = mmap.mmap | bytes
Place = tuple[int, int]  # where bytes begin, and how many there are

_U16, _U32, _I32 = "<H", "<I", "<i"
_NUMBER = 36  # bytes that Python takes for one in a tuple


class DamagedError(Exception):
    """The bytes are no FlatBuffer of the schema, or end within one; its text says where."""


class Buffer:
    """The bytes of one file; ``where`` names it in errors of limits."""

    def __init__(self, content: Content, where: str) -> None:
        self.content, self._where = content, where
        self._read = 0  # bytes of vectors

    def root(self) -> Table:
        """The table that all others hang on."""
        return Table(self, self.number(0, _U32))

    def number(self, at: int, code: str) -> Any:
        """A little-endian scalar, by the letters of `struct`."""
        if not 0 <= at <= len(self.content) - struct.calcsize(code):
            raise DamagedError(f"an offset to byte {at} of {len(self.content)}")
        return struct.unpack_from(code, self.content, at)[0]

    def target(self, at: int) -> int:
        """Where the offset at ``at`` leads."""
        return at + int(self.number(at, _U32))

    def vector(self, at: int, size: int) -> Place:
        """The elements of the vector at ``at``, each of ``size`` bytes: where, and how many."""
        count, first = int(self.number(at, _U32)), at + 4
        if first + count * size > len(self.content):
            raise DamagedError(f"a vector of {count * size} bytes at byte {at}")
        return first, count

    def numbers(self, at: int, code: str) -> tuple[Any, ...]:
        """The vector at ``at`` of scalars of the letter ``code``."""
        first, count = self.vector(at, struct.calcsize(f"<{code}"))
        self._count(count * _NUMBER)
        return struct.unpack_from(f"<{count}{code}", self.content, first)

    def text(self, at: int) -> str:
        """The string at ``at``."""
        first, count = self.vector(at, 1)
        self._count(count)
        try:
            return self.content[first : first + count].decode("utf-8")
        except UnicodeDecodeError:
            raise DamagedError(f"a name at byte {at} that is no UTF-8") from None

    def _count(self, size: int) -> None:
        self._read = limits.held("model-structure-bytes", self._read + size, self._where)


class Table:
    """The table at ``at``: fields by their number in the schema, each of which may be absent."""

    def __init__(self, buffer: Buffer, at: int) -> None:
        self._buffer, self._at = buffer, at
        self._fields = at - buffer.number(at, _I32)
        self._size = int(buffer.number(self._fields, _U16))  # of the list of fields, in bytes

    def _place(self, field: int) -> int:
        """Where the field lies; 0 where it is absent."""
        entry = 4 + 2 * field
        if entry + 2 > self._size:
            return 0
        offset = int(self._buffer.number(self._fields + entry, _U16))
        return self._at + offset if offset else 0

    def scalar(self, field: int, code: str, default: Any) -> Any:
        """A number, by the letter of `struct`."""
        place = self._place(field)
        return self._buffer.number(place, f"<{code}") if place else default

    def numbers(self, field: int, code: str) -> tuple[Any, ...]:
        """A vector of numbers; () where it is absent."""
        place = self._place(field)
        return self._buffer.numbers(self._buffer.target(place), code) if place else ()

    def vector(self, field: int, size: int) -> Place | None:
        """Where the elements of a vector lie, each of ``size`` bytes, and how many there are."""
        place = self._place(field)
        return self._buffer.vector(self._buffer.target(place), size) if place else None

    def text(self, field: int) -> str:
        """A string, "" where it is absent."""
        place = self._place(field)
        return self._buffer.text(self._buffer.target(place)) if place else ""

    def table(self, field: int) -> Table | None:
        """A table within this one."""
        place = self._place(field)
        return Table(self._buffer, self._buffer.target(place)) if place else None

    def length(self, field: int) -> int:
        """How many tables a vector of tables has."""
        place = self._place(field)
        return self._buffer.vector(self._buffer.target(place), 4)[1] if place else 0

    def tables(self, field: int) -> Iterator[Table]:
        """The tables of a vector, in its order."""
        place = self._place(field)
        if place:
            first, count = self._buffer.vector(self._buffer.target(place), 4)
            for at in range(first, first + 4 * count, 4):
                yield Table(self._buffer, self._buffer.target(at))
