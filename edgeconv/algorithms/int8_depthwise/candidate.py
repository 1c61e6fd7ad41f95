"""The candidate of a depthwise convolution in integers, and what it takes."""

from __future__ import annotations

import math
from dataclasses import dataclass

from edgeconv.algorithms.candidate import ConvCandidate
from edgeconv.algorithms.int8_depthwise.packing import has_zero_points, sets_of, word_count
from edgeconv.algorithms.int8_depthwise.rows import WORD_BYTES, DotRow, row_of, together
from edgeconv.algorithms.int8_packed.candidate import AGAIN_SLOTS, RESIDUAL_SLOTS
from edgeconv.algorithms.problem import ConvProblem
from edgeconv.ir.candidate import INTEGERS
from edgeconv.ir.work import Work
from edgeconv.targets import Target

PANEL_BYTES = (
    16384  # at most, unless a pixel takes more: half of the smallest L1 of cores with vectors
)
# From a vector of sums to bytes: product, offset, shift, and its share of bounds and store.
REQUANTISE_SLOTS = 8.0
_AROUND_SLOTS = 3.0  # a zero point of filters is loaded, multiplied and added


@dataclass(frozen=True, slots=True)
class DepthwisePlan:
    """``pixels`` of a row whose columns are packed at a time, ``columns`` of them."""

    row: DotRow
    pixels: int
    columns: int
    panel_bytes: int


def candidates(problem: ConvProblem, target: Target) -> tuple[ConvCandidate[DepthwisePlan], ...]:
    """One, where the layer is one of whole numbers."""
    row = row_of(target)
    if row is None or not problem.is_depthwise or not problem.whole_sums:
        return ()
    if row.pairs and not problem.two_fit:
        return ()
    plan = _plan(problem, target, row)
    found = ConvCandidate(
        algorithm="int8_depthwise",
        compute=INTEGERS,
        problem=problem,
        plan=plan,
        workspace={"panel": plan.panel_bytes},
        work=_work(problem, target, plan),
        crossings=tuple,  # what it moves is taken to be every operand once
    )
    return (found,)


def _plan(problem: ConvProblem, target: Target, row: DotRow) -> DepthwisePlan:
    stretch = together(problem.in_c, target.lanes, four=True)[0]
    column = sets_of(problem.kernel, row) * stretch * WORD_BYTES
    stride, reach = problem.strides[2], (problem.kernel[2] - 1) * problem.dilations[2]
    fit = (PANEL_BYTES // column - 1 - reach) // stride + 1
    most = max(1, min(fit, problem.out_size[2]))
    # As even as they come: 112 pixels are 2 x 56, not 62 and 50.
    pixels = -(-problem.out_size[2] // -(-problem.out_size[2] // most))
    columns = (pixels - 1) * stride + reach + 1
    return DepthwisePlan(row, pixels, columns, columns * column)


def _work(problem: ConvProblem, target: Target, plan: DepthwisePlan) -> Work:
    """Per vector of channels: products of every pixel, and words of every column of its row."""
    row, sets = plan.row, sets_of(problem.kernel, plan.row)
    vectors = -(-problem.in_c // target.lanes)
    rows = problem.batch * problem.out_size[0] * problem.out_size[1]
    panels = -(-problem.out_size[2] // plan.pixels)
    added, again = problem.finish.residual_as is not None, problem.finish.twice
    results = rows * problem.out_size[2] * vectors
    products = results * problem.kernel[2] * sets
    packed = rows * panels * plan.columns * sets * vectors
    around = has_zero_points(problem, row)
    each = REQUANTISE_SLOTS + (RESIDUAL_SLOTS if added else AGAIN_SLOTS if again else 0.0)
    each += _AROUND_SLOTS if around else 0.0
    lane_bytes = float(WORD_BYTES * target.lanes)
    words = word_count(problem, row, target.lanes, four=True)
    return Work(
        slots=products * row.add * (1 + around) + packed * row.pack + results * each,
        moves=0.0,
        weight_bytes=float(rows * panels * words * WORD_BYTES),
        data_bytes=(products + packed) * lane_bytes
        + packed * row.rows * target.lanes
        + (1 + added) * math.prod((problem.batch, problem.out_c, *problem.out_size)),
        decoding=results * each,
    )
