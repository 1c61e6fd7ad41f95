"""Strings as a program has them: bytes of UTF-8, or indices of a table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Strings = npt.NDArray[np.object_]


def encoded(values: Iterable[str], room: int) -> npt.NDArray[np.uint8]:
    """The bytes of each, [strings, room], with zeros behind the end of a text.

    Raises ValueError for one that is longer than ``room`` or has a character 0.
    """
    rows = [value.encode() for value in values]
    if any(b"\0" in row for row in rows):
        raise ValueError("a string with a character 0, which ends a text")
    if any(len(row) > room for row in rows):
        raise ValueError(f"a string of more than {room} bytes")
    joined = b"".join(row.ljust(room, b"\0") for row in rows)
    return np.frombuffer(joined, np.uint8).reshape(len(rows), room)


def decoded(values: npt.NDArray[Any], table: Sequence[str] = ()) -> Strings:
    """The strings that ``values`` are: indices of ``table``, or without one bytes, of which the
    last dimension has those of a text."""
    found = np.empty(values.shape if table else values.shape[:-1], object)
    if table:
        texts = [table[index] for index in values.reshape(-1)]
    else:
        rows = values.reshape(found.size, values.shape[-1])
        texts = [bytes(row).split(b"\0")[0].decode(errors="replace") for row in rows]
    found.reshape(-1)[:] = texts
    return found
