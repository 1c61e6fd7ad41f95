"""How many bytes a result has to lie in front of the input that its kernel reads meanwhile, in the
order in which kernels read and write.

A kernel takes pixels of the result in the order in which they lie in memory, channels last, some at
a time (a tile).  What a window reads begins at a known byte of the input; whatever is written ends
at a known byte of the result.  So the result may lie over the input where no byte that is written
lies behind the first one that is read afterwards (`apart`).
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from edgeconv.ir.choice import Alias
from edgeconv.ir.graph import Node
from edgeconv.kernels.algorithms.problem import ConvProblem

Integers = npt.NDArray[np.int64]


def over_input(
    problem: ConvProblem,
    node: Node,
    apart: Callable[[], int | None],
    *,
    rows: int = 0,
) -> tuple[Alias, ...]:
    """Permission for the result to overwrite the input of ``node``, so many bytes in front of it;
    none for images one after the other, of which the second would be overwritten by what the first
    becomes, nor where the two would lie side by side.  ``rows``: it may be computed by calls for
    multiples of so many each, in order, since wherever these end what later ones read is still
    there; 0: by one call alone."""
    if problem.batch > 1:
        return ()
    found = apart()
    if found is None:
        return ()
    width = max(problem.in_bytes, problem.out_bytes)
    found = -(-found // width) * width  # elements lie where elements can
    source = node.inputs[0]
    fits = found < math.prod(problem.out_size) * problem.out_c * problem.out_bytes
    return (Alias(source, source, node.output, found, rows=rows),) if fits else ()


def in_tiles(problem: ConvProblem, tile: int, *, again: bool, added: bool = False) -> int:
    """Bytes between result and input of a kernel that takes ``tile`` pixels at a time.

    Their windows are read before any of them is written; with ``again`` once more meanwhile.
    ``added``: the input is also added to the result, when that is written.
    """
    count = math.prod(problem.out_size)
    starts = np.arange(0, count, tile)
    ends = np.minimum(starts + tile, count) * problem.out_c * problem.out_bytes
    needed = window_starts(problem)
    if added:
        own = np.arange(count) * problem.in_c * problem.in_bytes
        needed = np.minimum(needed, own)
    return apart(np.minimum.reduceat(needed, starts), ends, again=again or added)


def apart(needed: Integers, ends: Integers, *, again: bool) -> int:
    """``needed``: by tile or row the first byte of the input, ``ends`` that behind the result.
    ``again``: of the tile itself it is read until all of it is written."""
    needed = np.minimum.accumulate(needed[::-1])[::-1]  # by this one or a later one
    found = ends - needed if again else ends[:-1] - needed[1:]
    return int(found.max(initial=0))


def window_starts(problem: ConvProblem) -> Integers:
    """By pixel of the result the first byte of the input that its window has."""
    rows, columns = first_rows(problem), _firsts(problem, 2)
    pixels = rows[:, None] * problem.in_size[2] + columns
    return pixels.reshape(-1) * problem.in_c * problem.in_bytes


def first_rows(problem: ConvProblem) -> Integers:
    """By row of the result the first one of the input that its windows have."""
    return _firsts(problem, 1)


def _firsts(problem: ConvProblem, axis: int) -> Integers:
    at = np.arange(problem.out_size[axis], dtype=np.int64) * problem.strides[axis]
    return np.clip(at - problem.pads[axis], 0, problem.in_size[axis])
