"""Operators that move elements of tensors of which a dimension is data-dependent."""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType

import numpy as np

from edgeconv.model.frontend.data_dependent.carried import Rule, together
from edgeconv.model.frontend.data_dependent.node import DataDependent, RefusedError, Work, placed
from edgeconv.model.frontend.data_dependent.sizes import (
    Dim,
    Dims,
    Size,
    largest,
    least,
    most,
    times,
)
from edgeconv.model.frontend.data_dependent.sources import places


def _concat(work: Work) -> list[DataDependent]:
    dims = [work.dims(name) for name in work.inputs]
    axis = placed(work.attrs["axis"], len(dims[0]))
    rest = together(work, [(*each[:axis], 1, *each[axis + 1 :]) for each in dims])
    if any(isinstance(dim, Size) for dim in rest):
        sizes = [each[axis] for each in dims]
        if any(isinstance(size, Size) for size in sizes):
            raise RefusedError("two dimensions of its result are data-dependent")
        names = [_cut_beside(work, name, rest, axis) for name in work.inputs]
        total: Dim = sum(most(size) for size in sizes)
        return [
            DataDependent(
                work.add("Concat", *names, axis=axis), (*rest[:axis], total, *rest[axis + 1 :])
            )
        ]
    return [_side_by_side(work, [each[axis] for each in dims], rest, axis)]


def _cut_beside(work: Work, name: str, dims: Dims, axis: int) -> str:
    """Along all dimensions but that which tensors are joined along."""
    own = work.dims(name)
    return work.cut_to(name, (*dims[:axis], own[axis], *dims[axis + 1 :]))


def _side_by_side(work: Work, sizes: list[Dim], rest: Dims, axis: int) -> DataDependent:
    """What there is of each, without what means nothing between them."""
    plain = [work.plain(name) for name in work.inputs]
    whole = work.add("Concat", *plain, axis=axis)
    total: Dim = 0
    for size in sizes:
        total = total + size
    made = (*rest[:axis], total, *rest[axis + 1 :])
    if not any(isinstance(size, Size) for size in sizes[:-1]):
        return DataDependent(whole, made)
    room = work.limit(most(total))
    key = ("side by side", tuple(map(str, sizes)), room)
    if key not in work.made:
        masks = [
            work.filled(size) if isinstance(size, Size) else work.constant(np.ones(size), np.bool_)
            for size in sizes
        ]
        mask = work.add("Concat", *masks, axis=0)
        work.made[key] = places(work, mask, room)
    at, count = work.made[key]
    if most(count) == most(total):
        count = total
    elif isinstance(count, Size) and isinstance(total, Size):
        work.note_cut(count, total)
    picked = work.add("Gather", whole, at, axis=axis)
    return DataDependent(picked, (*rest[:axis], count, *rest[axis + 1 :]))


def _reshape(work: Work) -> list[DataDependent]:
    dims, wanted = work.dims(work.inputs[0]), list(work.needed(1, "sizes").reshape(-1))
    if not work.attrs.get("allowzero", 0):
        wanted = [dims[at] if dim == 0 else dim for at, dim in enumerate(wanted)]
    return [_reshaped(work, dims, wanted)]


def _flatten(work: Work) -> list[DataDependent]:
    dims = work.dims(work.inputs[0])
    axis = int(work.attrs.get("axis", 1))
    axis = axis + len(dims) if axis < 0 else axis
    return [_reshaped(work, dims, [_total(dims[:axis]), _total(dims[axis:])])]


def _total(dims: Dims) -> Dim:
    total: Dim = 1
    for dim in dims:
        product = times(total, dim)
        if product is None:
            raise RefusedError("two of its dimensions are data-dependent")
        total = product
    return total


def _reshaped(work: Work, dims: Dims, wanted: list[Dim]) -> DataDependent:
    """Allowed where the elements that mean something stay where they are: those of a dimension
    that is data-dependent lie side by side, or there is only one of whatever is in front of it."""
    total = _total(dims)
    if -1 in wanted:
        at = wanted.index(-1)
        others = _total(tuple(wanted[:at] + wanted[at + 1 :]))
        wanted[at] = _quotient(total, others)
    made = tuple(wanted)
    before, after = (_place(each) for each in (dims, made))
    if before is None and after is None:
        raise RefusedError(
            "neither its input nor its result has a dimension that is data-dependent"
        )
    if before is None or after is None or _total(made) != total:
        got = " x ".join(str(most(dim)) for dim in made)
        raise RefusedError(f"it makes {got} of what is data-dependent")
    fronts = math.prod(largest(dims[:before])), math.prod(largest(made[:after]))
    if fronts[0] != fronts[1] or (fronts[0] != 1 and dims[before] != made[after]):
        raise RefusedError("it moves elements across a dimension that is data-dependent")
    shape = work.constant(np.array(largest(made), np.int64))
    return DataDependent(work.add("Reshape", work.plain(work.inputs[0]), shape), made)


def _place(dims: Dims) -> int | None:
    return next((at for at, dim in enumerate(dims) if isinstance(dim, Size)), None)


def _quotient(total: Dim, others: Dim) -> Dim:
    """What ``others`` are to be multiplied with for ``total``."""
    found: Dim | None = None
    if isinstance(others, Size):
        count, times = next(iter(others.terms.items()))
        factor = total.terms.get(count, 0) // times if isinstance(total, Size) else 0
        found = factor if others * factor == total else None
    elif isinstance(total, Size):
        found = total.divided(others)
    elif others and not total % others:
        found = total // others
    if found is None:
        raise RefusedError("its sizes do not follow from what is data-dependent")
    return found


def _expand(work: Work) -> list[DataDependent]:
    dims, wanted = work.dims(work.inputs[0]), tuple(work.needed(1, "sizes").reshape(-1))
    made = together(work, [dims, wanted])
    shape = work.constant(np.array(largest(made), np.int64))
    plain = work.cut_to(work.inputs[0], made[len(made) - len(dims) :])
    return [DataDependent(work.add("Expand", plain, shape), made)]


def _constant_of_shape(work: Work) -> list[DataDependent]:
    made = tuple(work.needed(0, "sizes").reshape(-1))
    name = work.add(
        "ConstantOfShape", work.constant(np.array(largest(made), np.int64)), **work.attrs
    )
    return [DataDependent(name, made)]


def _range(work: Work) -> list[DataDependent]:
    start, end, move = (work.one(i, "bound") for i in range(3))
    if isinstance(start, Size) or move != 1:
        raise RefusedError("it counts otherwise than by ones from a number that is known")
    size = work.not_below_zero(end - start)
    dtype = work.dtype(work.given(0))
    data_dependent = work.constant(np.arange(start, start + most(size)), dtype)
    return [DataDependent(data_dependent, (size,))]


def _slice(work: Work) -> list[DataDependent]:
    name = work.inputs[0]
    dims = work.dims(name)
    starts, ends = (list(work.needed(i, "bounds").reshape(-1)) for i in (1, 2))
    axes = list(work.needed(3, "axes").reshape(-1)) if work.given(3) else range(len(starts))
    moves = list(work.needed(4, "steps").reshape(-1)) if work.given(4) else [1] * len(starts)
    made, plain = list(dims), work.plain(name)
    for axis, start, end, move in zip(axes, starts, ends, moves, strict=True):
        at = placed(axis, len(dims))
        size = dims[at]
        if not any(isinstance(each, Size) for each in (size, start, end, move)):
            bounds = (work.constant([bound]) for bound in (start, end, at, move))
            plain = work.add("Slice", plain, *bounds)
            made[at] = work.dims(plain)[at]
            continue
        if isinstance(move, Size):
            raise RefusedError("it moves by what is data-dependent")
        if move != 1 or isinstance(start, Size) or start < 0:
            plain, made[at] = _picked(work, plain, at, (size, start, end, int(move)))
            continue
        if not isinstance(end, Size) and end < 0:
            end = size + max(end, -most(size))
        elif least(end) < 0:
            end = _end(work, end, size)
        stop = work.smaller(size, end)
        made[at] = work.not_below_zero(stop - start)
        plain = work.cut(plain, at, start, start + most(made[at]))
    return [DataDependent(plain, tuple(made))]


def _picked(work: Work, plain: str, axis: int, of: tuple[Dim, Dim, Dim, int]) -> tuple[str, Dim]:
    """The elements of a slice whose beginning is computed at run time or that has steps, and how
    many there are.  ``of``: the size of the dimension, start, end and step."""
    size, start, end, step = of
    room = most(size)
    back = int(step < 0)
    first = _bound(work, start, size, (0, -back))
    behind = _bound(work, end, size, (-back, -back))
    length = work.add("Sub", *((first, behind) if back else (behind, first)))
    larger = work.add("Add", length, work.constant([abs(step) - 1]))
    steps = work.add("Div", work.add("Max", larger, work.constant([0])), work.constant([abs(step)]))
    most_steps = -(-room // abs(step))
    if not back and isinstance(start, int) and -room < start < 0:
        most_steps = min(most_steps, -(start // step))
    found = work.count(steps, most_steps)
    at = work.add("Add", work.constant(np.arange(most(found)) * step), first)
    return work.add("Gather", plain, at, axis=axis), found


def _bound(work: Work, bound: Dim, size: Dim, within: tuple[int, int]) -> str:
    """A bound of a slice, negative ones counted from the end: from within[0] to the size and
    within[1]."""
    if isinstance(bound, int):
        bound = max(min(bound, most(size)), -most(size) - 1)
    number, there = work.number(bound), work.number(size)
    from_end = work.add("Add", number, there)
    found = work.add("Where", work.add("Less", number, work.constant([0])), from_end, number)
    lowest, highest = work.constant([within[0]]), work.number(size + within[1])
    return work.add("Min", work.add("Max", found, lowest), highest)  # of nothing, below the lowest


def _end(work: Work, end: Size, size: Dim) -> Dim:
    """One that counts from the end where it is negative at run time."""
    zero, number = work.constant([0]), work.number(end)
    behind = work.add("Max", work.add("Add", number, work.number(size)), zero)
    found = work.add("Where", work.add("Less", number, zero), behind, number)
    return work.count(found, max(most(end), most(size) - 1))


def _pad(work: Work) -> list[DataDependent]:
    """Behind what there is, along the dimension that is data-dependent."""
    name = work.inputs[0]
    dims = work.dims(name)
    if work.attrs.get("mode", b"constant") != b"constant" or work.given(3):
        raise RefusedError("only a constant is padded with where sizes are data-dependent")
    pads = work.needed(1, "pads").reshape(-1)
    value = work.walk.constant(work.given(2)) if work.given(2) else np.zeros(1)
    if value is None:
        raise RefusedError("what it pads with is computed at run time")
    if value.size != 1:
        raise RefusedError(f"what it pads with has the shape {list(value.shape)}")
    number = value.reshape(-1)[0]
    begins, ends = pads[: len(dims)], pads[len(dims) :]
    if any(isinstance(begin, Size) or begin < 0 for begin in begins):
        raise RefusedError("what it pads in front with is data-dependent")
    plain = work.masked(name, number) if work.is_data_dependent(name) else work.plain(name)
    made = tuple(b + d + e for b, d, e in zip(begins, dims, ends, strict=True))
    if any(end < 0 for end in ends if not isinstance(end, Size)):
        raise RefusedError("it cuts off what is data-dependent")
    shape, room = largest(made), [most(d) + b for d, b in zip(dims, begins, strict=True)]
    behind = [max(want - have, 0) for want, have in zip(shape, room, strict=True)]
    given = work.constant(number, work.dtype(plain))
    plain = work.add("Pad", plain, work.constant([*begins, *behind]), given)
    for at, (want, have) in enumerate(zip(shape, room, strict=True)):
        if want < have:
            plain = work.cut(plain, at, 0, want)
    return [DataDependent(plain, made)]


MOVED: Mapping[str, Rule] = MappingProxyType(
    {
        "Concat": _concat,
        "ConstantOfShape": _constant_of_shape,
        "Expand": _expand,
        "Flatten": _flatten,
        "Pad": _pad,
        "Range": _range,
        "Reshape": _reshape,
        "Slice": _slice,
    }
)
