"""Sparse constants, all of their elements in order."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from edgeconv.model.tflite import DamagedError
from edgeconv.model.tflite.flatbuffer import Content
from edgeconv.model.tflite.sparsity import Dimension, Numbers, Sparsity

Values = npt.NDArray[Any]
Indices = npt.NDArray[np.int64]


def densified(
    stored: Values, shape: tuple[int, ...], sparsity: Sparsity, content: Content
) -> Values:
    """The tensor of ``shape`` whose elements that are not 0 are ``stored``, in the order of
    ``sparsity``, whose numbers lie in ``content``.

    What is not stored is 0, of integers with a zero point too: as DENSIFY has it.  Raises
    DamagedError where segments, indices and ``stored`` contradict each other.
    """
    places = 1
    for dimension in sparsity.dimensions:  # before memory is taken for them
        places = _count(dimension, places, content)
    if places != stored.size:
        raise DamagedError(f"{stored.size} stored elements of which {places} have a place")
    along: dict[int, Indices] = {}  # per dimension, the index of each place
    places = 1
    for dimension in sparsity.dimensions:
        places, along = _walked(dimension, places, along, content)
    rank = len(shape)
    for number, (axis, size) in enumerate(sparsity.blocks, rank):
        along[axis] = along[axis] * size + along[number]
    full = np.zeros(shape, stored.dtype)
    if places:
        full[tuple(along[axis] for axis in range(rank))] = stored if rank else stored[0]
    return full


def _count(dimension: Dimension, places: int, content: Content) -> int:
    """How many places there are behind ``dimension``, of ``places`` before it."""
    if dimension.bounds is None or dimension.indices is None:
        return places * dimension.size
    bounds, indices = _array(dimension.bounds, content), _array(dimension.indices, content)
    ends = [int(bounds[0]), int(bounds[-1])] if bounds.size else []
    if bounds.size != places + 1 or ends != [0, indices.size]:
        got = f"{bounds.size} segments of {places} places, {indices.size} indices"
        raise DamagedError(f"a sparse dimension with {got}")
    if (np.diff(bounds) < 0).any():
        raise DamagedError("a sparse dimension whose segments descend")
    if indices.size and not 0 <= int(indices.min()) <= int(indices.max()) < dimension.size:
        raise DamagedError(f"an index of a sparse dimension outside of {dimension.size}")
    return indices.size


def _walked(
    dimension: Dimension, places: int, along: dict[int, Indices], content: Content
) -> tuple[int, dict[int, Indices]]:
    """The places behind ``dimension``, and their indices per dimension."""
    if dimension.bounds is None or dimension.indices is None:
        times: Any = dimension.size
        own = np.tile(np.arange(dimension.size), places)
    else:
        times = np.diff(_array(dimension.bounds, content))
        own = _array(dimension.indices, content)
    found = {axis: np.repeat(index, times) for axis, index in along.items()}
    return own.size, {**found, dimension.axis: own}


def _array(numbers: Numbers, content: Content) -> Indices:
    first, count = numbers.place
    kind = np.dtype(numbers.code).newbyteorder("<")
    stored = content[first : first + count * kind.itemsize]
    return np.frombuffer(stored, kind).astype(np.int64)
