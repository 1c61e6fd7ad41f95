"""Windows of a depthwise layer whose numbers lie side by side, as ec_int8_rows.h takes them."""

from __future__ import annotations

import math
from dataclasses import dataclass

from edgeconv.kernels.algorithms.problem import ConvProblem

ROWS_TOGETHER = 16  # of a tensor of one column: EC_INT8_ROWS_TOGETHER


@dataclass(frozen=True, slots=True)
class AdjacentWindows:
    """Windows whose numbers lie side by side: along an axis each ``every``-th, if one number of so
    many is taken: ``stride`` numbers from one window to the next."""

    every: int
    stride: int

    @staticmethod
    def of(stride: int, apart: int) -> AdjacentWindows:
        """One number of every ``apart`` is taken."""
        common = math.gcd(stride, apart)
        return AdjacentWindows(apart // common, stride // common)

    def numbers(self, windows: int, taps: int) -> int:
        """The numbers that the first such windows of ``windows`` have, of ``taps`` each."""
        return (-(-windows // self.every) - 1) * self.stride + taps


def is_tall(problem: ConvProblem) -> bool:
    """Whether windows are one column: Helium takes it for some rows of the output."""
    own = problem.kernel[2] == 1 and problem.kernel[1] > 1 and problem.pads[2] == 0
    return own and not (problem.in_ring or problem.out_ring)


def tall_rows(problem: ConvProblem) -> int:
    """So many."""
    every = AdjacentWindows.of(problem.strides[1], problem.dilations[1]).every
    return min(problem.out_size[1], ROWS_TOGETHER * every)


@dataclass(frozen=True, slots=True)
class Taken:
    """What is brought together at a time: ``pairs`` of numbers, and ``lone`` ones, of every
    channel; ``batches`` of these make the result of an image, the last of which may be smaller."""

    pairs: int
    lone: int
    batches: float


def is_column(problem: ConvProblem) -> bool:
    """Whether rows of the output are computed together: those of a tensor of one column."""
    flat = problem.in_size[2] == problem.out_size[2] == problem.kernel[2] == 1
    return flat and problem.kernel[1] > 1 and not (problem.in_ring or problem.out_ring)


def taken(problem: ConvProblem, *, in_pairs: bool) -> Taken:
    """The numbers of a layer; without pairs all numbers are lone."""
    height, width = problem.kernel[1:]
    if not in_pairs and is_tall(problem):
        rows = tall_rows(problem)
        beside = AdjacentWindows.of(problem.strides[1], problem.dilations[1])
        passes = problem.out_size[1] / rows * min(beside.every, rows)
        return Taken(0, beside.numbers(rows, height), problem.out_size[2] * passes)
    if in_pairs and is_column(problem):
        rows = min(problem.out_size[1], ROWS_TOGETHER)
        beside = AdjacentWindows.of(problem.strides[1], 2 * problem.dilations[1])
        batches = problem.out_size[1] / rows * min(beside.every, rows)
        lone = -(-rows // beside.every) * (height % 2)
        return Taken(beside.numbers(rows, height // 2), lone, batches)
    beside = AdjacentWindows.of(problem.strides[2], problem.dilations[2])
    columns = beside.numbers(problem.out_size[2], width)
    batches = float(problem.out_size[1] * min(beside.every, problem.out_size[2]))
    if not in_pairs:
        return Taken(0, columns * height, batches)
    return Taken(columns * (height // 2), columns * (height % 2), batches)
