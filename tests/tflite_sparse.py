"""Sparse constants of TensorFlow Lite, encoded from all of their elements."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tests.tflite_models import Numbers, Sparse

Values = npt.NDArray[Any]


def encoded(
    values: Values,
    order: Sequence[int],
    compressed: Collection[int],
    blocks: Mapping[int, int] | None = None,
    codes: str = "i",
) -> tuple[Values, Sparse]:
    """What is stored of ``values``, and how.

    ``order``: in which dimensions are walked, those of blocks counted on behind the tensor's own.
    ``compressed``: the dimensions of which only indices with something else than 0 are kept.
    ``blocks``: sizes by dimension.  ``codes``: of the vectors of indices, in turn.
    """
    blocks = blocks or {}
    split = [size // blocks.get(axis, 1) for axis, size in enumerate(values.shape)]
    shape = [n for axis, size in enumerate(split) for n in (size, blocks.get(axis, 0)) if n]
    places = np.cumsum([0, *(1 + (axis in blocks) for axis in range(values.ndim))])
    perm = [int(at) for at in places[:-1]]
    perm += [int(places[axis]) + 1 for axis in blocks]
    walked = values.reshape(shape).transpose(perm).transpose(order)
    levels: list[int | tuple[Numbers, Numbers]] = []
    kept: list[tuple[int, ...]] = [()]
    for level, axis in enumerate(order):
        if axis not in compressed:
            levels.append(walked.shape[level])
            kept = [(*at, i) for at in kept for i in range(walked.shape[level])]
            continue
        segments, indices, after = [0], list[int](), list[tuple[int, ...]]()
        for at in kept:
            own = [i for i in range(walked.shape[level]) if np.any(walked[(*at, i)])]
            indices += own
            after += [(*at, i) for i in own]
            segments.append(len(indices))
        code = codes[level % len(codes)]
        levels.append(((segments, code), (indices, code)))
        kept = after
    stored = np.array([walked[at] for at in kept], values.dtype)
    return stored, Sparse(order, list(blocks), levels)
