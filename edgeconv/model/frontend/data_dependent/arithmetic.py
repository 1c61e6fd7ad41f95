"""Numbers that a model computes of shapes, where dimensions are data-dependent: as sums of counts,
so that what is reshaped, filled or sliced by them keeps a shape that is known."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
from onnx import TensorProto, helper

from edgeconv.model.frontend.data_dependent.node import Work, placed
from edgeconv.model.frontend.data_dependent.sizes import (
    Dim,
    Size,
    Sizes,
    least,
    most,
    sizes_of,
    times,
)

_INTEGERS = (TensorProto.INT64, TensorProto.INT32)
Evaluate = Callable[[Work, list[Sizes]], Sizes | None]


def evaluated(work: Work) -> Sizes | None:
    """The result of a node whose inputs are such numbers; None where it is no sum of counts."""
    node = work.node
    if node.op_type in ("Shape", "Size"):
        return _shape(work) if work.is_data_dependent(node.input[0]) else None
    evaluate = _OPERATORS.get(node.op_type)
    if evaluate is None:
        return None
    given = [work.known(name) for name in node.input if name]
    if node.op_type == "Where":
        given[0] = _condition(work, node.input[0])
    if any(value is None for value in given):
        return None
    return evaluate(work, [value for value in given if value is not None])


def dtype(work: Work) -> np.dtype[Any]:
    """The type of the elements of such a result."""
    op_type = work.node.op_type
    if op_type in ("Shape", "Size"):
        return np.dtype(np.int64)
    if op_type == "Cast":
        return np.dtype(helper.tensor_dtype_to_np_dtype(work.attrs["to"]))
    return work.dtype(work.node.input[1 if op_type == "Where" else 0])


def _shape(work: Work) -> Sizes | None:
    dims = work.dims(work.node.input[0])
    if work.node.op_type == "Shape":
        start, end = work.attrs.get("start", 0), work.attrs.get("end", len(dims))
        return sizes_of(list(dims[start:end]))
    return _product(sizes_of(list(dims)))


def _condition(work: Work, name: str) -> Sizes | None:
    value = work.walk.constant(name)
    return None if value is None else sizes_of(value)


def _each(function: Callable[[Dim, Dim], Dim | None]) -> Evaluate:
    """A function applied to every two elements."""

    def evaluate(work: Work, given: list[Sizes]) -> Sizes | None:
        found: Sizes | None = given[0]
        for other in given[1:]:
            found = None if found is None else _pairs(function, found, other)
        return found

    return evaluate


def _pairs(function: Callable[[Dim, Dim], Dim | None], a: Sizes, b: Sizes) -> Sizes | None:
    shape = np.broadcast_shapes(a.shape, b.shape)
    left, right = (np.broadcast_to(each, shape) for each in (a, b))
    found = np.empty(shape, object)
    for at in np.ndindex(shape):
        value = function(_at(left, at), _at(right, at))
        if value is None:
            return None
        found[at] = value
    return found


def _at(values: Sizes, place: tuple[int, ...]) -> Dim:
    found: Any = values[place]
    return found if isinstance(found, Size) else int(found)


def _quotient(a: Dim, b: Dim) -> Dim | None:
    if isinstance(b, Size) or not b:
        return None
    if isinstance(a, Size):
        return a.divided(b)
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def _product(values: Sizes) -> Sizes | None:
    found: Dim | None = 1
    for value in values:
        found = None if found is None else times(found, value)
    return None if found is None else sizes_of(found)


def _axes(work: Work, given: list[Sizes], rank: int) -> list[int]:
    stated = work.attrs.get("axes", given[1].reshape(-1) if len(given) > 1 else range(rank))
    return [placed(axis, rank) for axis in stated]


def _reduced(function: Callable[[Work, Dim, Dim], Dim | None]) -> Evaluate:
    """A function applied to all of a list."""

    def evaluate(work: Work, given: list[Sizes]) -> Sizes | None:
        values = given[0]
        if values.ndim != 1 or not values.size:
            return None
        total: Dim | None = values[0]
        for value in values[1:]:
            total = None if total is None else function(work, total, value)
        if total is None:
            return None
        return sizes_of([total]) if work.attrs.get("keepdims", 1) else sizes_of(total)

    return evaluate


def _smaller(work: Work, a: Dim, b: Dim) -> Dim | None:
    return work.smaller(a, b)


def _smallest(work: Work, given: list[Sizes]) -> Sizes | None:
    return _each(work.smaller)(work, given)


def _cast(work: Work, given: list[Sizes]) -> Sizes | None:
    return given[0] if work.attrs["to"] in _INTEGERS else None


def _squeeze(work: Work, given: list[Sizes]) -> Sizes | None:
    axes = _axes(work, given, max(given[0].ndim, 1)) if given[0].ndim else []
    ones = [axis for axis in axes if given[0].shape[axis] == 1]
    return np.squeeze(given[0], tuple(ones))


def _unsqueeze(work: Work, given: list[Sizes]) -> Sizes | None:
    axes = work.attrs.get("axes", given[1].reshape(-1) if len(given) > 1 else ())
    return np.expand_dims(given[0], tuple(int(axis) for axis in axes))


def _slice(work: Work, given: list[Sizes]) -> Sizes | None:
    x, bounds = (
        given[0],
        [
            [int(v) for v in each.reshape(-1)]
            for each in given[1:]
            if not any(isinstance(v, Size) for v in each.reshape(-1))
        ],
    )
    if len(bounds) != len(given) - 1 or len(bounds) < 2:
        return None
    starts, ends = bounds[:2]
    axes = bounds[2] if len(bounds) > 2 else range(len(starts))
    moves = bounds[3] if len(bounds) > 3 else [1] * len(starts)
    index: list[Any] = [slice(None)] * x.ndim
    for axis, start, end, move in zip(axes, starts, ends, moves, strict=True):
        size = x.shape[axis]
        last = None if move < 0 and end <= -size - 1 else end
        first = max(start, -size) if move < 0 else start  # Python has none before the first
        index[axis] = slice(first, last, move)
    found: Sizes = x[tuple(index)]
    return found


def _gather(work: Work, given: list[Sizes]) -> Sizes | None:
    values, index = given
    if any(isinstance(each, Size) for each in index.reshape(-1)):
        return None
    found = np.take(values, index.astype(np.int64), axis=int(work.attrs.get("axis", 0)))
    return sizes_of(found)


def _concat(work: Work, given: list[Sizes]) -> Sizes | None:
    found: Sizes = np.concatenate(given, axis=int(work.attrs["axis"]))
    return found


def _reshape(work: Work, given: list[Sizes]) -> Sizes | None:
    if any(isinstance(each, Size) for each in given[1]):
        return None
    return given[0].reshape([int(each) for each in given[1]])


def _transpose(work: Work, given: list[Sizes]) -> Sizes | None:
    found: Sizes = np.transpose(given[0], work.attrs.get("perm"))
    return found


def _where(work: Work, given: list[Sizes]) -> Sizes | None:
    condition, a, b = np.broadcast_arrays(*given)
    return sizes_of(np.where(condition.astype(bool), a, b))


_OPERATORS: Mapping[str, Evaluate] = MappingProxyType(
    {
        "Add": _each(lambda a, b: a + b),
        "Sub": _each(lambda a, b: a - b),
        "Mul": _each(times),
        "Div": _each(_quotient),
        "Min": _smallest,
        "Neg": lambda work, given: sizes_of(-given[0]),
        "ReduceMin": _reduced(_smaller),
        "ReduceProd": _reduced(lambda work, a, b: times(a, b)),
        "ReduceSum": _reduced(lambda work, a, b: a + b),
        "Identity": lambda work, given: given[0],
        "Cast": _cast,
        "Concat": _concat,
        "Gather": _gather,
        "Reshape": _reshape,
        "Slice": _slice,
        "Squeeze": _squeeze,
        "Transpose": _transpose,
        "Unsqueeze": _unsqueeze,
        "Where": _where,
    }
)


def compared(work: Work) -> np.ndarray[Any, np.dtype[np.bool_]] | None:
    """What a comparison of such numbers is, where it is the same for all counts."""
    tests = {"Equal": _equal, "Less": _less, "Greater": _greater}
    test = tests.get(work.node.op_type)
    given = [work.known(name) for name in work.node.input]
    if test is None or given[0] is None or given[1] is None:
        return None
    a, b = np.broadcast_arrays(given[0], given[1])
    found = np.empty(a.shape, np.bool_)
    for at in np.ndindex(a.shape):
        value = test(_at(a, at), _at(b, at))
        if value is None:
            return None
        found[at] = value
    return found


def _equal(a: Dim, b: Dim) -> bool | None:
    apart = a - b
    if not isinstance(apart, Size):
        return apart == 0
    return False if apart.least > 0 or apart.most < 0 else None


def _greater(a: Dim, b: Dim) -> bool | None:
    return _less(b, a)


def _less(a: Dim, b: Dim) -> bool | None:
    apart = a - b
    if most(apart) < 0:
        return True
    return False if least(apart) >= 0 else None
