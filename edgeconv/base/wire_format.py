"""Protobuf's wire format, walked in a mapped file without a parse or a copy.

https://protobuf.dev/programming-guides/encoding/
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterator
from pathlib import Path

from edgeconv.base import limits, regular_file

VARINT, FIXED64, LENGTH, FIXED32 = 0, 1, 2, 5  # wire types


class MalformedError(Exception):
    """The bytes are no protobuf message, or end within one."""


def map_file(path: Path) -> mmap.mmap:
    """The bytes of ``path``, read only.

    Raises OSError, also for what is no regular file; ValueError for an empty one; EdgeconvError for
    one that is too large.
    """
    with regular_file.opened(path) as file:
        limits.held("model-bytes", os.fstat(file.fileno()).st_size, str(path))
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


def _varint(content: mmap.mmap, at: int, end: int) -> tuple[int, int]:
    """The number at ``at`` and where it ends."""
    value = shift = 0
    while at < end and shift < 64:
        byte = content[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at
    raise MalformedError


def fields(content: mmap.mmap, at: int, end: int) -> Iterator[tuple[int, int, int, int, int]]:
    """Number, wire type, start of the field, start and end of its value, for every field."""
    while at < end:
        start = at
        tag, at = _varint(content, at, end)
        number, wire = tag >> 3, tag & 7
        value = at
        if wire == VARINT:
            _, at = _varint(content, at, end)
        elif wire == LENGTH:
            length, value = _varint(content, at, end)
            at = value + length
        elif wire in (FIXED32, FIXED64):
            at += 4 if wire == FIXED32 else 8
        else:
            raise MalformedError
        if number == 0 or at > end:
            raise MalformedError
        yield number, wire, start, value, at
