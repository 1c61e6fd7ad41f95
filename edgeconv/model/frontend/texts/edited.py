"""Operators that make other strings of strings, or find something in them
(https://onnx.ai/onnx/operators/)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

import numpy as np
from onnx import TensorProto

from edgeconv.model.frontend.data_dependent.node import DataDependent, RefusedError
from edgeconv.model.frontend.data_dependent.sizes import Dims, Size, most
from edgeconv.model.frontend.data_dependent.sources import places
from edgeconv.model.frontend.texts.grams import vectorise
from edgeconv.model.frontend.texts.matched import match
from edgeconv.model.frontend.texts.split import split
from edgeconv.model.frontend.texts.text import Labels, Stored, TextWork

_TO_LOWER = ord("a") - ord("A")
_CASES = ("NONE", "LOWER", "UPPER")


def _concatenate(work: TextWork) -> None:
    """Byte i of a + b is that of a, or byte i - |a| of b."""
    a, b = work.node.input
    output = work.node.output[0]
    if _with_one(work, a, b, output):
        return
    first, second = work.stored(a), work.stored(b)
    shape = np.broadcast_shapes(work.shape(a), work.shape(b))
    room = first.room + second.room
    wide = work.stored(a, room).stored
    there = work.add("Cast", wide, to=TensorProto.BOOL)
    numbers = work.add("Cast", there, to=TensorProto.INT64)
    length = work.add("ReduceSum", numbers, work.work.constant([-1]), keepdims=1)
    place = work.add("Sub", work.work.constant(np.arange(room)), length)
    last = work.work.constant(second.room)
    within = work.add("Clip", place, work.work.constant(0), last)
    tail = work.stored(b, second.room + 1).stored  # a zero behind it
    whole = work.work.constant([*shape, room])
    ends = work.add("Expand", tail, work.work.constant([*shape, second.room + 1]))
    moved = work.add("GatherElements", ends, work.add("Expand", within, whole), axis=-1)
    behind = work.add("GreaterOrEqual", place, work.work.constant(0))
    work.keep(output, Stored(work.add("Where", behind, moved, wide), room))


def _with_one(work: TextWork, a: str, b: str, output: str) -> bool:
    """Whether one is a single constant string, and the other of a table: then the results are."""
    for name, other in ((a, b), (b, a)):
        single, text = work.constant(other), work.kept.get(name)
        if single is None or single.size != 1 or not isinstance(text, Labels):
            continue
        if single.ndim > len(work.shape(name)):
            continue
        more = str(single.reshape(-1)[0])
        table = tuple(each + more if other == b else more + each for each in text.table)
        work.keep(output, Labels(text.index, table))
        return True
    return False


def _changed(work: TextWork, stored: str, to_upper: bool) -> str:
    """Letters of ASCII in the other case."""
    low, high = (ord("a"), ord("z")) if to_upper else (ord("A"), ord("Z"))
    first, last = (work.work.constant(n, np.uint8) for n in (low, high))
    inside = [work.add("GreaterOrEqual", stored, first), work.add("LessOrEqual", stored, last)]
    other = work.add("Sub" if to_upper else "Add", stored, work.work.constant(_TO_LOWER, np.uint8))
    return work.add("Where", work.add("And", *inside), other, stored)


def _normalise(work: TextWork) -> None:
    """Without stopwords; what is left in upper or in lower case.  Nothing left is one empty string.

    Cases are those of ASCII: other letters stay as they are."""
    case = work.attrs.get("case_change_action", b"NONE").decode()
    words = [each.decode() for each in work.attrs.get("stopwords", [])]
    name, output = work.node.input[0], work.node.output[0]
    shape, text = work.shape(name), work.stored(work.node.input[0])
    if case not in _CASES or len(shape) not in (1, 2) or (len(shape) == 2 and shape[0] != 1):
        got = f"case_change_action {case!r} of strings of shape {list(shape)}"
        raise RefusedError(f"{got}: it is one of {', '.join(_CASES)}, of [C] or [1, C]")
    if not all(word.isascii() for word in words) and not work.attrs.get("is_case_sensitive", 0):
        raise RefusedError("stopwords with letters beyond ASCII, whose case is not compared")
    result = text.stored
    if case != "NONE":
        result = _changed(work, result, case == "UPPER")
    if not words:
        work.keep(output, Stored(result, text.room))
        return
    compared = text.stored
    if not work.attrs.get("is_case_sensitive", 0):
        compared, words = _changed(work, compared, False), [word.lower() for word in words]
    kept = _not_among(work, compared, text.room, words, shape[-1])
    count = shape[-1]
    rows = work.add("Reshape", result, work.work.constant([count, text.room]))
    at, found = places(work.work, kept, work.limit(output, count))
    rows = work.add("Gather", rows, at, axis=0)
    if isinstance(found, Size):
        rows = work.work.put_behind(DataDependent(rows, (found, text.room)), 0)
        one = work.work.constant([1])
        found = work.work.count(work.add("Max", work.work.number(found), one), most(found))
    dims: Dims = (found, text.room)
    if len(shape) == 2:
        rows, dims = work.add("Unsqueeze", rows, work.work.constant([0])), (1, *dims)
    stored = work.work.walk.fresh(f"{output}/bytes")
    work.keep_data_dependent(stored, DataDependent(rows, dims))
    work.keep(output, Stored(stored, text.room))


def _not_among(work: TextWork, stored: str, room: int, words: Sequence[str], count: int) -> str:
    """Which of ``count`` texts are none of ``words``: a vector of bool."""
    short = [word for word in dict.fromkeys(words) if len(word.encode()) <= room]
    if not short:
        return work.work.constant(np.ones(count), np.bool_)
    table = work.rows(short, room)
    each = work.add("Reshape", stored, work.work.constant([count, 1, room]))
    same = work.all_of(work.add("Equal", each, table))
    numbers = work.add("Cast", same, to=TensorProto.INT32)
    any_ = work.add("ReduceMax", numbers, work.work.constant([1]), keepdims=0)
    return work.add("Equal", any_, work.work.constant(0, np.int32))


RULES: Mapping[str, Callable[[TextWork], None]] = MappingProxyType(
    {
        "RegexFullMatch": match,
        "StringConcat": _concatenate,
        "StringNormalizer": _normalise,
        "StringSplit": split,
        "TfIdfVectorizer": vectorise,
    }
)
