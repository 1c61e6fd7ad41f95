"""Unique: the elements, or slices along an axis, of which none is equal to another; each is
compared with each."""

from __future__ import annotations

import math

import numpy as np
from onnx import TensorProto

from edgeconv.model.frontend.data_dependent.node import DataDependent, RefusedError, Work, placed
from edgeconv.model.frontend.data_dependent.sizes import Size, largest


def unique(work: Work) -> list[DataDependent]:
    """Values in order or as they come, the place of the first of each, for every element which it
    is equal to, and how many there are of each.

    The place of one among the results counts those ahead of it of which no equal one comes earlier.
    """
    name, axis = work.inputs[0], work.attrs.get("axis")
    if work.is_data_dependent(name):
        raise RefusedError("how many elements it reads is data-dependent")
    shape = largest(work.dims(name))
    if not math.prod(shape):
        raise RefusedError("it reads no elements")
    if axis is None:
        source, axis = work.add("Reshape", name, work.constant([-1])), 0
        shape = (math.prod(shape),)
    else:
        source, axis = name, placed(axis, len(shape))
    n, order = shape[axis], np.arange(shape[axis])
    same, less = _compared(work, source, shape, axis)
    before = work.constant(order[None] < order[:, None], np.bool_)
    zero = work.constant(0)
    firsts = work.add("Equal", _number(work, work.add("And", same, before)), zero)
    if work.attrs.get("sorted", 1):
        place = _number(work, work.add("And", less, firsts))
    else:
        each = work.add("Cast", firsts, to=TensorProto.INT64)
        at = work.add("Mul", each, work.add("CumSum", each, zero, exclusive=1))
        own = work.add("And", same, firsts)
        place = _total(work, work.add("Where", own, at, zero))
    found = work.add("Reshape", _number(work, firsts), work.constant([1]))
    room = work.limit(n)
    if room < n:
        found = work.add("Min", found, work.constant([room]))
    count = work.count(found, room)
    if isinstance(count, Size) and room < n:
        work.note_short(count)
    start = work.constant(np.zeros(n + 1))
    kept = work.add("Where", firsts, place, work.constant(n))
    indices = work.add("ScatterElements", start, kept, work.constant(order))
    counts = work.add(
        "ScatterElements", start, place, work.constant(order * 0 + 1), reduction="add"
    )
    indices, counts = (work.cut(each, 0, 0, room) for each in (indices, counts))
    values = work.add("Gather", source, indices, axis=axis)
    return [
        DataDependent(values, (*shape[:axis], count, *shape[axis + 1 :])),
        DataDependent(indices, (count,)),
        DataDependent(place, (n,)),
        DataDependent(counts, (count,)),
    ]


def _compared(work: Work, name: str, shape: tuple[int, ...], axis: int) -> tuple[str, str]:
    """Whether slices i and j are equal, and whether j is before i in lexicographic order: [n, n] of
    bool."""
    n, size = shape[axis], math.prod(shape) // shape[axis]
    if work.dtype(name) == np.bool_:
        name = work.add("Cast", name, to=TensorProto.INT32)
    perm = [axis, *(i for i in range(len(shape)) if i != axis)]
    if axis:
        name = work.add("Transpose", name, perm=perm)
    column, row = (work.add("Reshape", name, work.constant(dims)) for dims in _pair(n, size))
    same, less = work.add("Equal", column, row), work.add("Less", row, column)
    if size == 1:
        return same, less
    last = work.constant([2])
    equal = work.add("Cast", same, to=TensorProto.INT32)
    whole = work.add("ReduceMin", equal, last, keepdims=0)
    differs = work.add("ArgMin", equal, axis=2)  # the first element that does
    smaller = work.add("Cast", less, to=TensorProto.INT32)
    decided = work.add("Squeeze", work.add("GatherElements", smaller, differs, axis=2), last)
    return (
        work.add("Cast", whole, to=TensorProto.BOOL),
        work.add("Cast", decided, to=TensorProto.BOOL),
    )


def _pair(n: int, size: int) -> tuple[list[int], list[int]]:
    return ([n, 1], [1, n]) if size == 1 else ([n, 1, size], [1, n, size])


def _number(work: Work, tests: str) -> str:
    """How many of each row hold."""
    return _total(work, work.add("Cast", tests, to=TensorProto.INT64))


def _total(work: Work, numbers: str) -> str:
    return work.add("ReduceSum", numbers, work.constant([-1]), keepdims=0)
