"""Elements by indices, where a dimension of data, indices or what is written is data-dependent.

Indices that count from the end have the number of elements added that there are.  What is written
by indices that mean nothing goes to a row of its own, behind all others, which is cut off again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from edgeconv.model.frontend.data_dependent.carried import Rule, together
from edgeconv.model.frontend.data_dependent.node import DataDependent, RefusedError, Work, placed
from edgeconv.model.frontend.data_dependent.sizes import Dim, Dims, Size, most, sizes_of


def _is_data_dependent(dims: Sequence[Dim]) -> bool:
    return any(isinstance(dim, Size) for dim in dims)


def _from_front(work: Work, name: str, index: str, sizes: Sequence[Dim]) -> str:
    """The indices ``index``, which hold the value ``name``, of one dimension or of tuples, so that
    none of them counts from the end."""
    if work.is_place(name):
        return index
    zero = work.constant(0, work.dtype(index))
    number = work.add("CastLike", work.held(sizes_of(list(sizes))), zero)
    if len(sizes) == 1:
        number = work.add("Reshape", number, work.constant(np.ones(0, np.int64)))
    return work.add("Where", work.add("Less", index, zero), work.add("Add", index, number), index)


def _gather(work: Work) -> list[DataDependent]:
    data, index = work.inputs
    dims, places = work.dims(data), work.dims(index)
    axis = placed(work.attrs.get("axis", 0), len(dims))
    made = (*dims[:axis], *places, *dims[axis + 1 :])
    at = work.plain(index)
    if isinstance(dims[axis], Size):
        at = _from_front(work, index, at, dims[axis : axis + 1])
    return [DataDependent(work.add("Gather", work.plain(data), at, axis=axis), made)]


def _within(work: Work, places: Dims, dims: Dims, axis: int) -> Dims:
    """Indices are no more than data along other dimensions than ``axis``."""
    return tuple(
        work.smaller(place, dim) if at != axis and most(place) > most(dim) else place
        for at, (place, dim) in enumerate(zip(places, dims, strict=True))
    )


def _gather_elements(work: Work) -> list[DataDependent]:
    data, index = work.inputs
    dims = work.dims(data)
    axis = placed(work.attrs.get("axis", 0), len(dims))
    made = _within(work, work.dims(index), dims, axis)
    at = work.cut_to(index, made)
    if isinstance(dims[axis], Size):
        at = _from_front(work, index, at, dims[axis : axis + 1])
    return [DataDependent(work.add("GatherElements", work.plain(data), at, axis=axis), made)]


def _width(work: Work, tuples: Dims) -> int:
    width = tuples[-1]
    if isinstance(width, Size):
        raise RefusedError("how many dimensions its indices have is data-dependent")
    if work.attrs.get("batch_dims", 0):
        raise RefusedError("it takes elements of every batch, of which a size is data-dependent")
    return width


def _gather_nd(work: Work) -> list[DataDependent]:
    data, index = work.inputs
    dims, tuples = work.dims(data), work.dims(index)
    width, at = _width(work, tuples), work.plain(index)
    if _is_data_dependent(dims[:width]):
        at = _from_front(work, index, at, dims[:width])
    name = work.add("GatherND", work.plain(data), at)
    return [DataDependent(name, (*tuples[:-1], *dims[width:]))]


def _scatter_nd(work: Work) -> list[DataDependent]:
    data, index, updates = work.inputs
    dims, tuples, written = (work.dims(name) for name in work.inputs)
    width, front = _width(work, tuples), len(tuples) - 1
    outer = together(work, [tuples[:-1], written[:front]])
    rest = together(work, [dims[width:], written[front:]])
    made = (*dims[:width], *rest)
    larger = work.cut_to(data, made)
    at = work.cut_to(index, (*outer, width))
    if _is_data_dependent((*outer, *dims[:width])):
        at = _from_front(work, index, at, dims[:width])
    if _is_data_dependent(outer):
        larger = _with_room(work, larger, 0, len(dims))
        nowhere = [most(dims[0]), *[0] * (width - 1)]
        at = work.put_behind(DataDependent(at, (*outer, width)), nowhere)
    found = _written("ScatterND", work, (larger, at, work.cut_to(updates, (*outer, *rest))))
    return [
        DataDependent(
            work.cut(found, 0, 0, most(dims[0])) if _is_data_dependent(outer) else found, made
        )
    ]


def _scatter_elements(work: Work) -> list[DataDependent]:
    data, index, updates = work.inputs
    dims = work.dims(data)
    axis = placed(work.attrs.get("axis", 0), len(dims))
    both = together(work, [work.dims(index), work.dims(updates)])
    wide = _within(work, both, dims, axis)
    larger, at, rows = work.plain(data), work.cut_to(index, wide), work.cut_to(updates, wide)
    if _is_data_dependent((*wide, dims[axis])):
        at = _from_front(work, index, at, dims[axis : axis + 1])
    if not _is_data_dependent(wide):
        return [DataDependent(_written("ScatterElements", work, (larger, at, rows), axis), dims)]
    larger = _with_room(work, larger, axis, len(dims))
    at = work.put_behind(DataDependent(at, wide), most(dims[axis]))
    found = _written("ScatterElements", work, (larger, at, rows), axis)
    return [DataDependent(work.cut(found, axis, 0, most(dims[axis])), dims)]


def _with_room(work: Work, plain: str, axis: int, rank: int) -> str:
    """One more along ``axis``, for what means nothing."""
    pads = np.zeros((2, rank), np.int64)
    pads[1, axis] = 1
    return work.add("Pad", plain, work.constant(pads.reshape(-1)))


def _written(op_type: str, work: Work, inputs: Sequence[str], axis: int | None = None) -> str:
    attrs: dict[str, Any] = {} if axis is None else {"axis": axis}
    if "reduction" in work.attrs:
        attrs["reduction"] = work.attrs["reduction"]
    return work.add(op_type, *inputs, **attrs)


INDEXED: Mapping[str, Rule] = MappingProxyType(
    {
        "Gather": _gather,
        "GatherElements": _gather_elements,
        "GatherND": _gather_nd,
        "ScatterElements": _scatter_elements,
        "ScatterND": _scatter_nd,
    }
)
