"""The candidate of a depthwise convolution in integers, and what it takes."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

from edgeconv.ir.candidate import INTEGERS
from edgeconv.ir.work import Work
from edgeconv.kernels.algorithms.candidate import ConvCandidate
from edgeconv.kernels.algorithms.int8_depthwise.packing import has_zero_points, word_count
from edgeconv.kernels.algorithms.int8_depthwise.stretches import together
from edgeconv.kernels.algorithms.int8_depthwise.words import (
    Sharing,
    WordShape,
    shapes,
    sharing,
)
from edgeconv.kernels.algorithms.int8_packed.candidate import AGAIN_SLOTS, RESIDUAL_SLOTS
from edgeconv.kernels.algorithms.problem import ConvProblem
from edgeconv.target.dot_row import WORD_BYTES, DotRow
from edgeconv.target.targets import Target

PANEL_BYTES = (
    16384  # at most, unless a pixel takes more: half of the smallest L1 of cores with vectors
)
# From a vector of sums to bytes: product, offset, shift, and its share of bounds and store.
REQUANTISE_SLOTS = 8.0
_AROUND_SLOTS = 3.0  # a zero point of filters is loaded, multiplied and added


@dataclass(frozen=True, slots=True)
class DepthwisePlan:
    """Words of ``shape``; ``pixels`` of a row whose columns are packed at a time, for the rows that
    ``sharing`` says.  ``transposed``: rows are computed as pixels.  ``phases``: pixels that those
    computed one behind the other are apart, the columns of a kernel likewise; 0 where all follow
    each other."""

    row: DotRow
    shape: WordShape
    transposed: bool
    sharing: Sharing
    pixels: int
    panel_bytes: int
    phases: int = 0


def candidates(problem: ConvProblem, target: Target) -> tuple[ConvCandidate[DepthwisePlan], ...]:
    """One, where the layer is one of whole numbers: words of the shape that takes the fewest
    slots."""
    row = target.dot_row
    if row is None or not problem.is_depthwise or not problem.whole_sums:
        return ()
    if row.pairs and not problem.two_fit:
        return ()
    seen = problem.along_rows
    ways = (
        (plan, _work(_of_a_phase(seen, plan.phases), target, plan))
        for phases in _phases(seen)
        for plan in _plans(problem, seen, phases, target, row)
    )
    plan, work = min(ways, key=lambda way: way[1].slots)
    found = ConvCandidate(
        algorithm="int8_depthwise",
        compute=INTEGERS,
        problem=problem,
        plan=plan,
        workspace={"panel": plan.panel_bytes},
        work=work,
        cache_traffic=tuple,  # what it moves is taken to be every operand once
    )
    return (found,)


def _phases(seen: ConvProblem) -> tuple[int, ...]:
    """Whether pixels follow each other, or those that a dilation is apart."""
    dilation = seen.dilations[2]
    return (0, dilation) if seen.strides[2] == 1 < dilation <= seen.out_size[2] else (0,)


def _of_a_phase(seen: ConvProblem, phases: int) -> ConvProblem:
    """The problem of as many images as there are phases, of its pixels without dilation."""
    if not phases:
        return seen
    return replace(
        seen,
        batch=seen.batch * phases,
        in_size=(*seen.in_size[:2], -(-seen.in_size[2] // phases)),
        out_size=(*seen.out_size[:2], -(-seen.out_size[2] // phases)),
        dilations=(*seen.dilations[:2], 1),
    )


def _plans(
    problem: ConvProblem, whole: ConvProblem, phases: int, target: Target, row: DotRow
) -> Iterator[DepthwisePlan]:
    """``whole``: the problem as it is computed."""
    seen = _of_a_phase(whole, phases)
    stretch = together(problem.in_c, target.lanes, four=True)[0]
    for shape in shapes(row):
        column = shape.sets(seen.kernel) * stretch * WORD_BYTES
        reach = shape.columns(seen, 1) - 1
        fit = (PANEL_BYTES // column - 1 - reach) // seen.strides[2] + 1
        most = max(1, min(fit, seen.out_size[2]))
        # As even as they come: 112 pixels are 2 x 56, not 62 and 50.
        pixels = -(-seen.out_size[2] // -(-seen.out_size[2] // most))
        room = shape.columns(seen, pixels) * column
        shared, transposed = sharing(seen, shape), whole is not problem
        yield DepthwisePlan(row, shape, transposed, shared, pixels, room, phases)


def _packed_sets(seen: ConvProblem, plan: DepthwisePlan) -> int:
    """Sets that are packed for the rows of an image."""
    rows, sets = seen.out_size[1], plan.shape.sets(seen.kernel)
    first = min(plan.sharing.every, rows)  # output rows that share nothing with one before
    return seen.out_size[0] * (first * sets + (rows - first) * plan.sharing.fresh)


def _work(seen: ConvProblem, target: Target, plan: DepthwisePlan) -> Work:
    """Per vector of channels: products of every pixel, and words of every column of its row."""
    row, shape = plan.row, plan.shape
    vectors = -(-seen.in_c // target.lanes)
    pixels = seen.batch * math.prod(seen.out_size)
    panels = -(-seen.out_size[2] // plan.pixels)
    added, again = seen.finish.residual_as is not None, seen.finish.twice
    results = pixels * vectors
    products = results * shape.count(seen.kernel)
    packed = seen.batch * _packed_sets(seen, plan) * vectors
    packed *= panels * shape.columns(seen, plan.pixels)
    each = REQUANTISE_SLOTS + (RESIDUAL_SLOTS if added else AGAIN_SLOTS if again else 0.0)
    around = has_zero_points(seen, row)
    each += _AROUND_SLOTS if around else 0.0
    lane_bytes = float(WORD_BYTES * target.lanes)
    words = word_count(seen, row, shape, target.lanes, four=True)
    return Work(
        slots=products * row.add * (1 + around) + packed * row.pack + results * each,
        moves=0.0,
        weight_bytes=float(pixels // seen.out_size[2] * panels * words * WORD_BYTES),
        data_bytes=(products + packed) * lane_bytes
        + packed * row.rows * target.lanes
        + (1 + added) * math.prod((seen.batch, seen.out_c, *seen.out_size)),
        decoding=results * each,
    )
