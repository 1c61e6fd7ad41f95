"""How far a result of int8 may lie over the input that its kernel reads meanwhile."""

from __future__ import annotations

import numpy as np

from edgeconv.ir.choice import Alias
from edgeconv.ir.graph import Node
from edgeconv.kernels.algorithms.candidate import ConvCandidate
from edgeconv.kernels.algorithms.integer.adjacent_windows import (
    ROWS_TOGETHER,
    is_column,
    is_tall,
    tall_rows,
)
from edgeconv.kernels.algorithms.integer.candidate import IntegerPlan
from edgeconv.kernels.algorithms.overlap import (
    apart,
    first_rows,
    in_tiles,
    over_input,
    window_starts,
)
from edgeconv.kernels.algorithms.problem import ConvProblem


def overlapping(candidate: ConvCandidate[IntegerPlan], node: Node) -> tuple[Alias, ...]:
    """Permission for the result to overwrite the input of ``node``, as far in front as is
    needed."""
    problem = candidate.problem
    added = node.epilogue.residual == node.inputs[0]

    def bytes_apart() -> int | None:
        two = candidate.plan.two
        if two is not None and two.keeps_channels:
            return _by_rows(problem, added=False, again=False)
        if two is not None and not two.kernel.is_transposed:
            return in_tiles(problem, two.block * problem.out_size[2], again=True)
        together = _rows_together(candidate)
        if together:
            return in_tiles(problem, together * problem.out_size[2], again=True)
        if candidate.plan.kernel.is_depthwise:
            return _by_rows(problem, added=added, again=_reads_rows_again(candidate))
        if problem.groups > 1:  # the last one reads all pixels when those before are written
            return None
        again, tile = candidate.plan.reads_again(problem), candidate.plan.pixels_again(problem)
        return _by_pixels(problem, added=added, again=again, tile=tile)

    two = candidate.plan.two
    if two is not None and not two.kernel.is_transposed:
        rows = 1 if two.keeps_channels else two.block
    else:
        rows = _rows_together(candidate)
    return over_input(problem, node, bytes_apart, rows=max(1, rows))


def _rows_together(candidate: ConvCandidate[IntegerPlan]) -> int:
    """Rows all channels of which are read when some of them are written; 0 where there are none, as
    sums of a row wait for a residual."""
    problem, added = candidate.problem, candidate.problem.finish.residual_as is not None
    if not candidate.plan.kernel.is_depthwise or added:
        return 0
    if candidate.plan.kernel.helium:
        return tall_rows(problem) if is_tall(problem) else 0
    return ROWS_TOGETHER if is_column(problem) else 0


def _reads_rows_again(candidate: ConvCandidate[IntegerPlan]) -> bool:
    """Rows of windows are read when some of their own row of the result is written: by other
    channels than those that are written, or by the next window."""
    problem = candidate.problem
    several = problem.group_out_c > 1 or problem.dilations[2] > 1
    return several and problem.finish.residual_as is None  # sums of a row wait for a residual


def _by_rows(problem: ConvProblem, *, added: bool, again: bool) -> int:
    """Bytes between result and input of a kernel that reads all rows of some channels' windows,
    then writes a row of these channels, or some rows, which are then a call for these.

    Pixels have as many channels, so that what it writes are channels that it has read; otherwise
    rows are read ``again``.  ``added``: the input is also added to the result.
    """
    firsts = first_rows(problem) * problem.in_size[2] * problem.in_c
    rows = np.arange(len(firsts)) * problem.out_size[2] * problem.out_c
    ends = rows + problem.out_size[2] * problem.out_c
    return apart(np.minimum(firsts, rows) if added else firsts, ends, again=again)


def _by_pixels(problem: ConvProblem, *, added: bool, again: bool, tile: int = 1) -> int:
    """The overlap of a kernel that reads the windows of some pixels, then writes these.

    ``added``: the input is also added to the result.  ``again``: a window is read once more for
    every few filters, of so many pixels from any one on (a ``tile``).
    """
    firsts = window_starts(problem)
    pixels = np.arange(len(firsts)) * problem.out_c
    needed = np.minimum(firsts, pixels) if added else firsts
    ends = pixels + problem.out_c
    if again:
        ends = np.minimum(ends + (tile - 1) * problem.out_c, ends[-1])
    return apart(needed, ends, again=again)
