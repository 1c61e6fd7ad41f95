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
    added = node.epilogue.residual == source
    if candidate.plan.is_depthwise:
        apart = _by_rows(problem, added=added, again=_reads_rows_again(candidate))
    elif problem.groups > 1:  # the last one reads all pixels when those before are written
        return ()
    else:
        apart = _by_pixels(problem, added=added, again=candidate.plan.reads_again(problem))
    fits = apart < math.prod(problem.out_size) * problem.out_c
    return (Alias(source, source, node.output, apart),) if fits else ()


def _reads_rows_again(candidate: ConvCandidate[IntegerPlan]) -> bool:
    """Rows of windows are read when some of their own row of the result is written: by other
    channels than those that are written, or by the next window."""
    problem = candidate.problem
    several = problem.group_out_c > 1 or problem.dilations[2] > 1
    return several and problem.finish.residual_as is None  # sums of a row wait for a residual


def _by_rows(problem: ConvProblem, *, added: bool, again: bool) -> int:
    """Bytes between result and input of a kernel that reads all rows of some channels' windows,
    then writes a row of these channels.

    Pixels have as many channels, so that what it writes are channels that it has read; otherwise
    rows are read ``again``.  ``added``: the input is also added to the result.
    """
    firsts = _firsts(problem, 1) * problem.in_size[2] * problem.in_c
    rows = np.arange(len(firsts)) * problem.out_size[2] * problem.out_c
    ends = rows + problem.out_size[2] * problem.out_c
    return _apart(np.minimum(firsts, rows) if added else firsts, ends, again=again)


def _apart(needed: Integers, ends: Integers, *, again: bool) -> int:
    """``needed``: by pixel or row the first byte of the input, ``ends`` that behind the result."""
    needed = np.minimum.accumulate(needed[::-1])[::-1]  # by this one or a later one
    apart = ends - needed if again else ends[:-1] - needed[1:]
    return int(apart.max(initial=0))


def _by_pixels(problem: ConvProblem, *, added: bool, again: bool) -> int:
    """The same of a kernel that reads the windows of some pixels, then writes these.

    ``added``: the input is also added to the result.  ``again``: a window is read once more for
    every few filters.
    """
    rows, columns = _firsts(problem, 1), _firsts(problem, 2)
    firsts = (rows[:, None] * problem.in_size[2] + columns).reshape(-1) * problem.in_c
    pixels = np.arange(len(firsts)) * problem.out_c
    needed = np.minimum(firsts, pixels) if added else firsts
    return _apart(needed, pixels + problem.out_c, again=again)


def _firsts(problem: ConvProblem, axis: int) -> Integers:
    """By row or column of the result the first one of the input that its window has."""
    at = np.arange(problem.out_size[axis], dtype=np.int64) * problem.strides[axis]
    return np.clip(at - problem.pads[axis], 0, problem.in_size[axis])
