"""Operators whose result is as long as what they find at run time."""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType

import numpy as np
from onnx import TensorProto

from edgeconv.ir.graph import Node
from edgeconv.model.frontend.data_dependent.carried import Rule, together
from edgeconv.model.frontend.data_dependent.node import (
    INT64,
    DataDependent,
    RefusedError,
    Work,
    placed,
)
from edgeconv.model.frontend.data_dependent.sizes import Dim, Size, highest, largest, lowest, most
from edgeconv.model.frontend.data_dependent.unique import unique


def places(work: Work, mask: str, room: int) -> tuple[str, Dim]:
    """Where a vector of bool is true, and how often."""
    key = ("places", mask, room)
    if key not in work.made:
        found = work.walk.fresh(f"{mask}/places")
        node = Node(found, "Places", (mask,), (found,))
        work.write(node, {found: ((room + 1,), INT64)})
        at = work.cut(found, 0, 0, room)
        count = work.count(work.cut(found, 0, room, room + 1), room)
        work.made[key] = at, count
        if room < math.prod(largest(work.dims(mask))):
            work.note_short(count)
        first = work.made.setdefault(("places", mask), count)
        if isinstance(count, Size) and count != first:
            work.note_cut(count, first)
    found_at, count = work.made[key]
    return str(found_at), count


def _non_zero(work: Work) -> list[DataDependent]:
    name = work.inputs[0]
    dims = work.dims(name)
    if not dims:
        raise RefusedError("its input is one number, without dimensions")
    shape = largest(dims)
    if not math.prod(shape):
        return [DataDependent(work.constant(np.zeros((len(shape), 0))), (len(shape), 0))]
    room = work.limit(math.prod(shape))
    key = ("non-zero", name, room)
    if key not in work.made:
        plain = work.masked(name, 0) if work.is_data_dependent(name) else work.plain(name)
        if work.dtype(plain) != np.bool_:
            plain = work.add("Cast", plain, to=TensorProto.BOOL)
        flat = work.add("Reshape", plain, work.constant([-1]))
        at, count = places(work, flat, room)
        rows, behind = [], math.prod(shape)
        for size in shape:
            behind //= size
            index = work.add("Div", at, work.constant(behind)) if behind > 1 else at
            if behind * size < math.prod(shape):
                index = work.add("Mod", index, work.constant(size))
            rows.append(work.add("Unsqueeze", index, work.constant([0])))
        joined = rows[0] if len(rows) == 1 else work.add("Concat", *rows, axis=0)
        work.made[key] = DataDependent(joined, (len(shape), count))
    return [work.made[key]]


def _compress(work: Work) -> list[DataDependent]:
    x, condition = work.inputs
    plain, dims = work.plain(x), work.dims(x)
    axis = work.attrs.get("axis")
    if axis is None:
        if work.is_data_dependent(x):
            raise RefusedError("it reads a tensor as a vector whose size is data-dependent")
        plain, axis = work.add("Reshape", plain, work.constant([-1])), 0
        dims = (math.prod(largest(dims)),)
    axis = placed(axis, len(dims))
    mask = work.masked(condition, 0) if work.is_data_dependent(condition) else condition
    if len(work.dims(condition)) != 1:
        raise RefusedError(
            f"a condition of {len(work.dims(condition))} dimensions, where it is one"
        )
    (length,) = largest(work.dims(condition))
    at, count = places(work, mask, work.limit(min(length, most(dims[axis]))))
    picked = work.add("Gather", plain, at, axis=axis)
    return [DataDependent(picked, (*dims[:axis], count, *dims[axis + 1 :]))]


def _suppression(work: Work) -> list[DataDependent]:
    names = [work.given(i) for i in range(5)]
    boxes, scores = (work.dims(name) for name in names[:2])
    if len(boxes) != 3 or len(scores) != 3:
        raise RefusedError("boxes are [batches, count, 4], scores [batches, classes, count]")
    (length,) = together(work, [boxes[1:2], scores[2:]])
    outer = [*boxes[::2], *scores[:2]]
    if any(isinstance(dim, Size) for dim in outer):
        raise RefusedError("its number of batches or classes is data-dependent")
    plain = [work.plain(name) if name else "" for name in names]
    for at, axis, dims in ((0, 1, boxes), (1, 2, scores)):
        if most(dims[axis]) > most(length):
            plain[at] = work.cut(plain[at], axis, 0, most(length))
    batches, classes = (most(dim) for dim in scores[:2])
    room = most(length)
    limit = work.known(names[2])
    if limit is not None and limit.size == 1:
        room = min(room, max(most(limit.reshape(-1)[0]), 0))
    there = room * batches * classes
    room = work.limit(there)
    if not room or not names[2]:  # by default it keeps no box
        return [DataDependent(work.constant(np.zeros((0, 3))), (0, 3))]
    filled = work.number(length) if isinstance(length, Size) else ""
    found = work.walk.fresh(f"{work.node.output[0]}/found")
    attrs = {"centred": bool(work.attrs.get("center_point_box", 0)), "with_count": True}
    node = Node(found, "NonMaxSuppression", (*plain, filled), (found,), attrs)
    work.write(node, {found: ((3 * room + 1,), INT64)})
    rows = work.cut(found, 0, 0, 3 * room)
    rows = work.add("Reshape", rows, work.constant([room, 3]))
    count = work.count(work.cut(found, 0, 3 * room, 3 * room + 1), room)
    if room < there:
        work.note_short(count)
    return [DataDependent(rows, (count, 3))]


def _top(work: Work) -> list[DataDependent]:
    """As many as there are, where it asks for no more."""
    name = work.inputs[0]
    dims = work.dims(name)
    axis = placed(work.attrs.get("axis", -1), len(dims))
    known = work.known(work.given(1))
    if known is not None:
        k = work.one(1, "count")
    else:
        asked = work.add("Reshape", work.given(1), work.constant([1]))
        room = most(dims[axis])  # a count is within it, whatever the model asks for
        asked = work.add("Clip", asked, work.constant(0), work.constant(room))
        k = work.count(asked, room)
    if most(k) > most(dims[axis]):
        k = work.smaller(k, dims[axis])
    room = work.limit(most(k))
    k = work.limited(k, room) if isinstance(k, Size) else min(k, room)
    plain = work.plain(name)
    if isinstance(dims[axis], Size):
        dtype = work.dtype(plain)
        behind = lowest(dtype) if work.attrs.get("largest", 1) else highest(dtype)
        behind = math.nan if behind == math.inf else behind  # which is more than infinity to TopK
        plain = work.masked(name, behind)
    values, indices = (
        work.walk.fresh(f"{work.node.output[0]}/{what}") for what in ("values", "indices")
    )
    attrs = {key: int(work.attrs[key]) for key in ("largest", "sorted") if key in work.attrs}
    work.add_several(
        "TopK", (plain, work.constant([most(k)])), (values, indices), axis=axis, **attrs
    )
    made = (*dims[:axis], k, *dims[axis + 1 :])
    return [DataDependent(values, made), DataDependent(indices, made)]


SOURCES: Mapping[str, Rule] = MappingProxyType(
    {
        "Compress": _compress,
        "NonMaxSuppression": _suppression,
        "NonZero": _non_zero,
        "TopK": _top,
        "Unique": unique,
    }
)
