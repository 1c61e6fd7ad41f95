"""Strings that are moved: which of them, whatever they say."""

from __future__ import annotations

import numpy as np

from edgeconv.model.frontend.data_dependent.node import RefusedError
from edgeconv.model.frontend.texts.text import Labels, Stored, TextWork

# Operators that compute nothing of elements, and leave all their results of the same type.
MOVING = frozenset(
    {
        *("ArrayFeatureExtractor", "Compress", "Concat", "DepthToSpace", "Expand", "Flatten"),
        *("Gather", "GatherElements", "GatherND", "Identity", "Reshape", "ReverseSequence"),
        *("ScatterElements", "ScatterND", "Slice", "SpaceToDepth", "Split", "Squeeze", "Tile"),
        *("Transpose", "Unsqueeze", "Where"),
    }
)


def move(work: TextWork) -> None:
    """Indices, of a table or of bytes, are moved in place of strings."""
    names = [name for name in dict.fromkeys(work.node.input) if name and work.is_text(name)]
    outputs = [work.work.walk.fresh(f"{name}/index") if name else "" for name in work.node.output]
    tables = [work.table(name) for name in names]
    if None in tables:
        _move_bytes(work, names, outputs)
        return
    table = tuple(dict.fromkeys(text for each in tables for text in each or ()))
    work.own({name: work.index(name, table) for name in names}, outputs)
    for output, index in zip(work.node.output, outputs, strict=True):
        if output:
            work.keep(output, Labels(index, table))


def _move_bytes(work: TextWork, names: list[str], outputs: list[str]) -> None:
    if work.node.op_type == "Identity":
        work.keep(work.node.output[0], work.stored(names[0]))
        return
    room = max(work.stored(name).room for name in names)
    rows, places, count = [], {}, 0
    for name in names:
        shape = work.shape(name)
        size = int(np.prod(shape, dtype=np.int64))
        flat = work.work.constant([size, room])
        rows.append(work.add("Reshape", work.stored(name, room).stored, flat))
        places[name] = work.work.constant(np.arange(count, count + size).reshape(shape))
        count += size
    joined = rows[0] if len(rows) == 1 else work.add("Concat", *rows, axis=0)
    work.own(places, outputs)
    for output, place in zip(work.node.output, outputs, strict=True):
        if output:
            work.keep(output, Stored(_picked(work, joined, place, (count, room)), room))


def _picked(work: TextWork, rows: str, place: str, shape: tuple[int, int]) -> str:
    """The rows at ``place``; of all in their order no copy."""
    known = work.work.walk.constant(place)
    if known is not None and np.array_equal(known.reshape(-1), np.arange(shape[0])):
        return work.add("Reshape", rows, work.work.constant([*known.shape, shape[1]]))
    return work.add("Gather", rows, place, axis=0)


def measure(work: TextWork) -> None:
    """Shape and Size, of tensors that are as large."""
    name = work.node.input[0]
    text = work.kept[name]
    like = text.index if isinstance(text, Labels) else ""
    if not like:
        like = work.work.constant(np.zeros(work.shape(name)))
    work.own({name: like}, [*work.node.output])


def equal(work: TextWork) -> None:
    """Strings are equal whose places in one table are, or all of whose bytes."""
    a, b = work.node.input
    if not (work.is_text(a) and work.is_text(b)):
        raise RefusedError("strings and numbers are never equal")
    tables, output = [work.table(name) for name in (a, b)], work.node.output[0]
    if None not in tables:
        table = tuple(dict.fromkeys(text for each in tables for text in each or ()))
        work.add("Equal", *(work.index(name, table) for name in (a, b)), output=output)
        return
    room = max(work.stored(name).room for name in (a, b))
    same = work.add("Equal", *(work.stored(name, room).stored for name in (a, b)))
    work.add("Identity", work.all_of(same), output=output)
