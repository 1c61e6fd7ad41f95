"""How far a result may lie over the input that its kernel reads meanwhile."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from edgeconv.algorithms.candidate import ConvCandidate
from edgeconv.algorithms.integer.candidate import IntegerPlan
from edgeconv.algorithms.problem import ConvProblem
from edgeconv.ir.choice import Alias
from edgeconv.ir.graph import Node

Integers = npt.NDArray[np.int64]


def overlapping(candidate: ConvCandidate[IntegerPlan], node: Node) -> tuple[Alias, ...]:
    """Permission for the result to overwrite the input of ``node``, as far behind as is needed.

    Of images one after the other the second would be overwritten by what the first becomes.
    """
    problem = candidate.problem
    if problem.batch > 1:
        return ()
    source = node.inputs[0]
    if candidate.plan.is_depthwise:
        apart = _by_rows(problem)
    else:
        added = node.epilogue.residual == source
        apart = _by_pixels(problem, added=added, again=candidate.plan.reads_again(problem))
    fits = apart < math.prod(problem.out_size) * problem.out_c
    return (Alias(source, source, node.output, apart),) if fits else ()


def _by_rows(problem: ConvProblem) -> int:
    """Bytes between result and input of a kernel that reads all rows of some channels' windows,
    then writes a row of these channels.

    Whole pixels, so that what it writes are channels that it has read.
    """
    firsts = _firsts(problem, 1)[1:] * problem.in_size[2]
    ends = np.arange(1, problem.out_size[1]) * problem.out_size[2]
    return int((ends - firsts).max(initial=0)) * problem.in_c


def _by_pixels(problem: ConvProblem, *, added: bool, again: bool) -> int:
    """The same of a kernel that reads the windows of some pixels, then writes these.

    ``added``: the input is also added to the result.  ``again``: a window is read once more for
    every few filters.
    """
    rows, columns = _firsts(problem, 1), _firsts(problem, 2)
    firsts = (rows[:, None] * problem.in_size[2] + columns).reshape(-1) * problem.in_c
    pixels = np.arange(len(firsts)) * problem.out_c
    needed = np.minimum(firsts, pixels) if added else firsts
    needed = np.minimum.accumulate(needed[::-1])[::-1]  # by this pixel or a later one
    ends = pixels + problem.out_c
    apart = ends - needed if again else ends[:-1] - needed[1:]
    return int(apart.max(initial=0))


def _firsts(problem: ConvProblem, axis: int) -> Integers:
    """By row or column of the result the first one of the input that its window has."""
    at = np.arange(problem.out_size[axis], dtype=np.int64) * problem.strides[axis]
    return np.clip(at - problem.pads[axis], 0, problem.in_size[axis])
