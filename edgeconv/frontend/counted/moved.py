"""Operators that move elements of tensors of which a dimension is counted."""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType

import numpy as np

from edgeconv.frontend.counted.carried import Rule, together
from edgeconv.frontend.counted.node import Counted, RefusedError, Work
from edgeconv.frontend.counted.sizes import Dim, Dims, Size, largest, least, most, times
from edgeconv.frontend.counted.sources import places

_FROM_THE_END = "its indices may count from the end of what is counted at run time"


def _from_front(work: Work, index: str, size: Dim) -> str:
    """Indices that may count from the end of a dimension that is counted."""
    if not isinstance(size, Size):
        return work.plain(index)
    value = work.walk.constant(index)
    if value is not None and (value >= 0).all():
        return index
    plain = work.plain(index)
    return plain if work.is_place(index) else _not_negative(work, plain, size)


def _not_negative(work: Work, index: str, size: Dim) -> str:
    """Indices of which negative ones count from the end, as what they mean."""
    zero = work.constant(0, work.dtype(index))
    number = work.add("CastLike", work.number(size), zero)
    number = work.add("Reshape", number, work.constant(np.ones(0, np.int64)))
    return work.add("Where", work.add("Less", index, zero), work.add("Add", index, number), index)


def _gather(work: Work) -> list[Counted]:
    data, index = work.inputs
    dims, places_ = work.dims(data), work.dims(index)
    axis = int(work.attrs.get("axis", 0)) % len(dims)
    made = (*dims[:axis], *places_, *dims[axis + 1 :])
    picked = work.add("Gather", work.plain(data), _from_front(work, index, dims[axis]), axis=axis)
    return [Counted(picked, made)]


def _gather_nd(work: Work) -> list[Counted]:
    data, index = work.inputs
    dims, tuples = work.dims(data), work.dims(index)
    batch, width = int(work.attrs.get("batch_dims", 0)), tuples[-1]
    if isinstance(width, Size):
        raise RefusedError("how many dimensions its indices have is counted at run time")
    if batch or (any(isinstance(d, Size) for d in dims[:width]) and not work.is_place(index)):
        raise RefusedError(_FROM_THE_END)
    name, *_ = work.add_own()
    return [Counted(name, (*tuples[:-1], *dims[width:]))]


def _concat(work: Work) -> list[Counted]:
    dims = [work.dims(name) for name in work.inputs]
    axis = int(work.attrs["axis"]) % len(dims[0])
    rest = together(work, [(*each[:axis], 1, *each[axis + 1 :]) for each in dims])
    if any(isinstance(dim, Size) for dim in rest):
        sizes = [each[axis] for each in dims]
        names = [_cut_to(work, name, rest, axis) for name in work.inputs]
        total: Dim = sum(most(size) for size in sizes)
        return [
            Counted(work.add("Concat", *names, axis=axis), (*rest[:axis], total, *rest[axis + 1 :]))
        ]
    return [_side_by_side(work, [each[axis] for each in dims], rest, axis)]


def _cut_to(work: Work, name: str, dims: Dims, axis: int) -> str:
    plain = work.plain(name)
    for at, (dim, wanted) in enumerate(zip(work.dims(name), dims, strict=True)):
        if at != axis and most(dim) > most(wanted):
            plain = work.cut(plain, at, 0, most(wanted))
    return plain


def _side_by_side(work: Work, sizes: list[Dim], rest: Dims, axis: int) -> Counted:
    """What there is of each, without what means nothing between them."""
    plain = [work.plain(name) for name in work.inputs]
    whole = work.add("Concat", *plain, axis=axis)
    total: Dim = 0
    for size in sizes:
        total = total + size
    made = (*rest[:axis], total, *rest[axis + 1 :])
    if not any(isinstance(size, Size) for size in sizes[:-1]):
        return Counted(whole, made)
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
    picked = work.add("Gather", whole, at, axis=axis)
    return Counted(picked, (*rest[:axis], count, *rest[axis + 1 :]))


def _reshape(work: Work) -> list[Counted]:
    dims, wanted = work.dims(work.inputs[0]), list(work.needed(1, "sizes").reshape(-1))
    if not work.attrs.get("allowzero", 0):
        wanted = [dims[at] if dim == 0 else dim for at, dim in enumerate(wanted)]
    return [_reshaped(work, dims, wanted)]


def _flatten(work: Work) -> list[Counted]:
    dims = work.dims(work.inputs[0])
    axis = int(work.attrs.get("axis", 1))
    axis = axis + len(dims) if axis < 0 else axis
    return [_reshaped(work, dims, [_total(dims[:axis]), _total(dims[axis:])])]


def _total(dims: Dims) -> Dim:
    total: Dim = 1
    for dim in dims:
        product = times(total, dim)
        if product is None:
            raise RefusedError("two of its dimensions are counted at run time")
        total = product
    return total


def _reshaped(work: Work, dims: Dims, wanted: list[Dim]) -> Counted:
    """Allowed where the elements that mean something stay where they are: those of a dimension
    that is counted lie side by side, or there is only one of whatever is in front of it."""
    total = _total(dims)
    if -1 in wanted:
        at = wanted.index(-1)
        others = _total(tuple(wanted[:at] + wanted[at + 1 :]))
        wanted[at] = _quotient(total, others)
    made = tuple(wanted)
    before, after = (_place(each) for each in (dims, made))
    if before is None and after is None:
        raise RefusedError("neither its input nor its result has a dimension that is counted")
    if before is None or after is None or _total(made) != total:
        got = " x ".join(str(most(dim)) for dim in made)
        raise RefusedError(f"it makes {got} of what is counted at run time")
    fronts = math.prod(largest(dims[:before])), math.prod(largest(made[:after]))
    if fronts[0] != fronts[1] or (fronts[0] != 1 and dims[before] != made[after]):
        raise RefusedError("it moves elements across a dimension that is counted at run time")
    shape = work.constant(np.array(largest(made), np.int64))
    return Counted(work.add("Reshape", work.plain(work.inputs[0]), shape), made)


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
        raise RefusedError("its sizes do not follow from what is counted at run time")
    return found


def _expand(work: Work) -> list[Counted]:
    dims, wanted = work.dims(work.inputs[0]), tuple(work.needed(1, "sizes").reshape(-1))
    made = together(work, [dims, wanted])
    shape = work.constant(np.array(largest(made), np.int64))
    plain = work.plain(work.inputs[0])
    for at, dim in enumerate(dims):
        room = most(made[len(made) - len(dims) + at])
        if most(dim) > room:
            plain = work.cut(plain, at, 0, room)
    return [Counted(work.add("Expand", plain, shape), made)]


def _constant_of_shape(work: Work) -> list[Counted]:
    made = tuple(work.needed(0, "sizes").reshape(-1))
    name = work.add(
        "ConstantOfShape", work.constant(np.array(largest(made), np.int64)), **work.attrs
    )
    return [Counted(name, made)]


def _range(work: Work) -> list[Counted]:
    start, end, move = (work.needed(i, "bounds").reshape(-1)[0] for i in range(3))
    if isinstance(start, Size) or move != 1:
        raise RefusedError("it counts otherwise than by ones from a number that is known")
    size = work.not_below_zero(end - start)
    dtype = work.dtype(work.given(0))
    counted = work.constant(np.arange(start, start + most(size)), dtype)
    return [Counted(counted, (size,))]


def _slice(work: Work) -> list[Counted]:
    name = work.inputs[0]
    dims = work.dims(name)
    starts, ends = (list(work.needed(i, "bounds").reshape(-1)) for i in (1, 2))
    axes = list(work.needed(3, "axes").reshape(-1)) if work.given(3) else range(len(starts))
    moves = list(work.needed(4, "steps").reshape(-1)) if work.given(4) else [1] * len(starts)
    made, plain = list(dims), work.plain(name)
    for axis, start, end, move in zip(axes, starts, ends, moves, strict=True):
        at = int(axis) % len(dims)
        size = dims[at]
        if not isinstance(size, Size) and not isinstance(end, Size):
            bounds = (work.constant([bound]) for bound in (start, end, at, move))
            plain = work.add("Slice", plain, *bounds)
            made[at] = work.dims(plain)[at]
            continue
        if move != 1 or isinstance(start, Size) or start < 0:
            raise RefusedError("it begins at, or moves by, what is counted at run time")
        if not isinstance(end, Size) and end < 0:
            end = size + max(end, -most(size))
        elif least(end) < 0:
            end = _end(work, end, size)
        stop = work.smaller(size, end)
        made[at] = work.not_below_zero(stop - start)
        plain = work.cut(plain, at, start, start + most(made[at]))
    return [Counted(plain, tuple(made))]


def _end(work: Work, end: Size, size: Dim) -> Dim:
    """One that counts from the end where it is negative at run time."""
    zero, number = work.constant([0]), work.number(end)
    behind = work.add("Max", work.add("Add", number, work.number(size)), zero)
    found = work.add("Where", work.add("Less", number, zero), behind, number)
    return work.count(found, max(most(end), most(size) - 1))


def _pad(work: Work) -> list[Counted]:
    """Behind what there is, along the dimension that is counted."""
    name = work.inputs[0]
    dims = work.dims(name)
    if work.attrs.get("mode", b"constant") != b"constant" or work.given(3):
        raise RefusedError("only a constant is padded with where sizes are counted at run time")
    pads = work.needed(1, "pads").reshape(-1)
    value = work.walk.constant(work.given(2)) if work.given(2) else np.zeros(1)
    if value is None:
        raise RefusedError("what it pads with is computed at run time")
    number = value.reshape(-1)[0]
    begins, ends = pads[: len(dims)], pads[len(dims) :]
    if any(isinstance(begin, Size) or begin < 0 for begin in begins):
        raise RefusedError("what it pads in front with is counted at run time")
    plain = work.masked(name, number) if work.is_counted(name) else name
    made = tuple(b + d + e for b, d, e in zip(begins, dims, ends, strict=True))
    if any(end < 0 for end in ends if not isinstance(end, Size)):
        raise RefusedError("it cuts off what is counted at run time")
    shape, room = largest(made), [most(d) + b for d, b in zip(dims, begins, strict=True)]
    behind = [max(want - have, 0) for want, have in zip(shape, room, strict=True)]
    given = work.constant(number, work.dtype(plain))
    plain = work.add("Pad", plain, work.constant([*begins, *behind]), given)
    for at, (want, have) in enumerate(zip(shape, room, strict=True)):
        if want < have:
            plain = work.cut(plain, at, 0, want)
    return [Counted(plain, made)]


def _scatter_nd(work: Work) -> list[Counted]:
    """What means nothing is written to a row of its own, which is cut off again."""
    data, index, updates = work.inputs
    dims, tuples = work.dims(data), work.dims(index)
    if not work.is_counted(index):
        if work.is_counted(updates):
            raise RefusedError("the size of what it writes is counted at run time")
        if any(isinstance(dim, Size) for dim in dims[: most(tuples[-1])]):
            if tuples[-1] != 1 and not work.is_place(index):
                raise RefusedError(_FROM_THE_END)
            work.replace(1, _from_front(work, index, dims[0]))
        return [Counted(work.add_own()[0], dims)]
    if len(tuples) != 2 or tuples[-1] != 1:
        raise RefusedError("indices that are counted at run time are those of rows")
    rows = most(dims[0])
    shape = largest(dims)
    pads = [0] * len(dims) + [1] + [0] * (len(dims) - 1)
    larger = work.add("Pad", work.plain(data), work.constant(pads))
    at = work.masked(index, rows)
    if not work.is_place(index):
        at = _not_negative(work, at, dims[0])
    written = work.cut(work.plain(updates), 0, 0, most(tuples[0]))
    attrs = {key: value for key, value in work.attrs.items() if key == "reduction"}
    found = work.add("ScatterND", larger, at, written, **attrs)
    return [Counted(work.cut(found, 0, 0, shape[0]), dims)]


MOVED: Mapping[str, Rule] = MappingProxyType(
    {
        "Concat": _concat,
        "ConstantOfShape": _constant_of_shape,
        "Expand": _expand,
        "Flatten": _flatten,
        "Gather": _gather,
        "GatherND": _gather_nd,
        "Pad": _pad,
        "Range": _range,
        "Reshape": _reshape,
        "ScatterND": _scatter_nd,
        "Slice": _slice,
    }
)
