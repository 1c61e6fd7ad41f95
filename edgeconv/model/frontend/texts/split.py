"""StringSplit: the substrings of each text, and how many there are.

A byte belongs to the substring that counts as many delimiters before it, and a substring begins
behind its delimiter; where none is given, with a byte that is no space behind one that is.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from onnx import TensorProto

from edgeconv.model.frontend.data_dependent.node import DataDependent, RefusedError
from edgeconv.model.frontend.data_dependent.sizes import Size, most
from edgeconv.model.frontend.texts.text import Stored, TextWork

_SPACES = b"\t\n\v\f\r\x1c\x1d\x1e\x1f "


@dataclass(frozen=True, slots=True)
class _Substrings:
    """The substrings of texts, by the bytes of these, [texts, bytes]: ``of``, the substring that a
    byte is counted to, ``within``, whether it is a byte of it, both int64; ``begins``: whether one
    begins here, bool.  ``behind``: how far its first byte is behind that."""

    of: str
    within: str
    begins: str
    behind: int


def split(work: TextWork) -> None:
    """As Python's str.split: substrings beyond ``maxsplit`` stay together."""
    name = work.node.input[0]
    delimiter = work.attrs.get("delimiter", b"")
    limit = work.attrs.get("maxsplit")
    shape, text = work.shape(name), work.stored(name)
    if any(delimiter[:k] == delimiter[-k:] for k in range(1, len(delimiter))):
        raise RefusedError(f"a delimiter, {delimiter.decode()!r}, that may overlap itself")
    if limit is not None and limit < 0:
        limit = None
    count, room = int(np.prod(shape, dtype=np.int64)), text.room
    rows = work.add("Reshape", text.stored, work.work.constant([count, room]))
    numbers = work.add("Cast", rows, to=TensorProto.INT64)
    there = work.add("Cast", rows, to=TensorProto.BOOL)
    if delimiter:
        substrings, highest = _at_delimiters(work, numbers, there, delimiter, room, limit)
    else:
        substrings, highest = _at_spaces(work, numbers, there, limit), (room + 1) // 2
    highest = highest if limit is None else min(highest, limit + 1)
    _write(work, numbers, substrings, (count, room, highest), bool(delimiter), shape)


def _whole(work: TextWork, tests: str) -> str:
    return work.add("Cast", tests, to=TensorProto.INT64)


def _shifted(work: TextWork, values: str, by: int, room: int) -> str:
    """The value ``by`` places before each; zeros where there is none."""
    padded = work.add("Pad", values, work.work.constant([0, by, 0, 0]))
    return work.work.cut(padded, 1, 0, room)


def _at_delimiters(
    work: TextWork, numbers: str, there: str, delimiter: bytes, room: int, limit: int | None
) -> tuple[_Substrings, int]:
    size = len(delimiter)
    ahead = work.add("Pad", numbers, work.work.constant([0, 0, 0, size - 1]))
    found = ""
    for i, byte in enumerate(delimiter):
        here = work.work.cut(ahead, 1, i, i + room) if size > 1 else numbers
        same = work.add("Equal", here, work.work.constant(byte))
        found = work.add("And", found, same) if found else same
    ends, axis = _whole(work, found), work.work.constant(1)
    if limit is not None:
        before = work.add("CumSum", ends, axis, exclusive=1)
        found = work.add("And", found, work.add("Less", before, work.work.constant(limit)))
        ends = _whole(work, found)
    delimiting = ends
    for i in range(1, size):
        delimiting = work.add("Add", delimiting, _shifted(work, ends, i, room))
    free = work.add("Equal", delimiting, work.work.constant(0))
    within = _whole(work, work.add("And", there, free))
    substrings = _Substrings(work.add("CumSum", ends, axis), within, found, size)
    return substrings, room // size + 1


def _at_spaces(work: TextWork, numbers: str, there: str, limit: int | None) -> _Substrings:
    room = work.work.dims(numbers)[1]
    kinds = np.array([int(byte == 0 or byte in _SPACES) for byte in range(256)], np.int64)
    space = work.add("Gather", work.work.constant(kinds), numbers)
    padded = work.add("Pad", space, work.work.constant([0, 1, 0, 0]), work.work.constant(1))
    before = work.work.cut(padded, 1, 0, most(room))
    begins = work.add("Less", space, before)
    axis, one = work.work.constant(1), work.work.constant(1)
    of = work.add("Sub", work.add("CumSum", _whole(work, begins), axis), one)
    within = work.add("Sub", one, space)
    if limit is not None:
        last = work.work.constant(limit)
        begins = work.add("And", begins, work.add("LessOrEqual", of, last))
        rest = work.add("And", there, work.add("GreaterOrEqual", of, last))
        within = work.add("Max", within, _whole(work, rest))
        of = work.add("Min", of, last)
    return _Substrings(of, within, begins, 0)


def _write(
    work: TextWork,
    numbers: str,
    substrings: _Substrings,
    sizes: tuple[int, int, int],
    delimited: bool,
    shape: tuple[int, ...],
) -> None:
    """Both outputs: of each substring the bytes from its first on, as many as are counted to it."""
    count, room, highest = sizes
    constant = work.work.constant
    beyond, zeros = constant(highest), constant(np.zeros((count, highest + 1)))
    at = work.add("Min", work.add("Max", substrings.of, constant(0)), beyond)
    lengths = work.add("ScatterElements", zeros, at, substrings.within, axis=1, reduction="add")
    place = work.add("Where", substrings.begins, at, beyond)
    firsts = constant(np.tile(np.arange(room) + substrings.behind, (count, 1)))
    starts = work.add("ScatterElements", zeros, place, firsts, axis=1)
    lengths, starts = (
        work.add("Unsqueeze", work.work.cut(each, 1, 0, highest), constant([2]))
        for each in (lengths, starts)
    )
    offset = constant(np.arange(room))
    source = work.add("Min", work.add("Add", starts, offset), constant(room - 1))
    flat = work.add("Reshape", source, constant([count, highest * room]))
    bytes_ = work.add("GatherElements", numbers, flat, axis=1)
    bytes_ = work.add("Reshape", bytes_, constant([count, highest, room]))
    there = work.add("Less", offset, lengths)
    kept = work.add("Where", there, bytes_, constant(0))
    stored = work.add("Cast", kept, to=TensorProto.UINT8)

    begun = work.add("ReduceSum", _whole(work, substrings.begins), constant([1]), keepdims=0)
    found = work.add("Add", begun, constant(int(delimited)))
    outputs = [*work.node.output, ""][:2]
    if outputs[1]:
        work.add("Reshape", found, constant(shape), output=outputs[1])
    if outputs[0]:
        _keep(work, stored, found, (*shape, highest, room))


def _keep(work: TextWork, stored: str, found: str, shape: tuple[int, ...]) -> None:
    """The substrings, as many as the text has that has most of them."""
    *outer, highest, room = shape
    output, constant = work.node.output[0], work.work.constant
    kept = min(work.limit(output, highest), highest)
    largest = work.add("ReduceMax", found, constant([0]), keepdims=1)
    number = work.add("Min", largest, constant([kept]))
    size = work.work.count(number, kept)
    if isinstance(size, Size) and kept < highest:
        work.work.note_short(size)
    if kept < highest:
        stored = work.work.cut(stored, 1, 0, kept)
    rows = work.add("Reshape", stored, constant([*outer, kept, room]))
    held = work.work.walk.fresh(f"{output}/bytes")
    work.keep_data_dependent(held, DataDependent(rows, (*outer, size, room)))
    work.keep(output, Stored(held, room))
