"""The candidate of the packed convolution in integers: its plan, and what it takes."""

from __future__ import annotations

import math
from dataclasses import replace

from edgeconv.ir.candidate import INTEGERS, REAL
from edgeconv.ir.requantisation.scalings import OFFSETS, TIES
from edgeconv.ir.work import Work
from edgeconv.kernels.algorithms.problem import ConvProblem
from edgeconv.kernels.algorithms.rows.candidate import RowsCandidate, rows_candidate
from edgeconv.kernels.algorithms.rows.plan import WORD_BYTES, RowsPlan, make_plan
from edgeconv.kernels.algorithms.work import encoding, epilogue
from edgeconv.target.micro_kernel import MicroKernel
from edgeconv.target.targets import Target

# Slots from a vector of sums to bytes: two products, merged, offset, shift, bounds, load and store.
REQUANTISE_SLOTS = 8.0
AGAIN_SLOTS = 5.0  # what is rounded to another grid: multiplied, offset, shifted and bounded
BESIDES_SLOTS = {OFFSETS: 1.0, TIES: 5.0}  # an offset is loaded; a bit is taken and added
# Where filters have zero points: to add a vector of the channels of a pixel to its sum, and of a
# vector of sums what that adds, a product, through memory.
_SUM_SLOTS, _START_SLOTS = 2.0, 5.0
_FINISH_SLOTS = 4.0  # of a vector of sums: to float32, by its unit, the bias, and the store
RESIDUAL_SLOTS = 9.0  # it is loaded, both are multiplied, added, shifted and bounded


def candidates(problem: ConvProblem, target: Target) -> tuple[RowsCandidate, ...]:
    """The cheapest plan, where the sums of the layer are whole numbers and the core multiplies
    int8; of a convolution of one filter per channel `int8_depthwise` is what multiplies."""
    problem = problem.along_rows
    able = able_rows(problem, target)
    whole = problem.in_ring == problem.out_ring == 0
    real = not problem.whole_sums
    if not able or not whole or problem.is_depthwise:
        return ()
    if real and not (problem.real_sums and target.lanes > 1 and problem.group_in_c > 1):
        return ()
    plan = int8_plan(problem, target, able)
    if real:
        finish = epilogue(problem, target) + encoding(problem, target)
        work, compute = real_work(problem, plan, target, finish), REAL
    else:
        work, compute = packed_work(problem, plan, target), INTEGERS
    found = rows_candidate("int8_packed", compute, problem, plan, target, work)
    return (with_sums(found, target),)


def int8_plan(problem: ConvProblem, target: Target, able: tuple[MicroKernel, ...]) -> RowsPlan:
    """The cheapest plan over these rows, of which those of bytes sum the inputs too, where filters
    have zero points."""

    def pack(kernel: MicroKernel) -> float:
        summed = problem.asymmetric and kernel.b == "int8"
        return kernel.pack + (_SUM_SLOTS if summed else 0.0)

    return make_plan(problem, target, able, pack)


def has_zero_points(problem: ConvProblem, plan: RowsPlan) -> bool:
    """What is multiplied are filters with zero points: where they are widened, they are so less
    these."""
    return problem.asymmetric and plan.kernel.b == "int8"


def words_of_sums(problem: ConvProblem, plan: RowsPlan) -> tuple[int, int]:
    """Words of the sums of the inputs of a chunk's windows, and of its pixels where those are
    others."""
    windows = plan.chunk * plan.row
    if math.prod(problem.kernel) == 1:
        return windows, 0
    panel = plan.panel
    reach = (plan.row - 1) * problem.strides[2] + (problem.kernel[2] - 1) * problem.dilations[2]
    return windows, panel.slices * panel.rows * (reach // panel.column_stride + 1)


def with_sums(candidate: RowsCandidate, target: Target) -> RowsCandidate:
    """``candidate`` with the sums of its inputs, where its filters have zero points."""
    problem, plan, work = candidate.problem, candidate.plan, candidate.work
    if not has_zero_points(problem, plan):
        return candidate
    room = {"sums": WORD_BYTES * sum(words_of_sums(problem, plan))}
    slots = work.slots + sum_slots(problem, target)
    return replace(
        candidate,
        workspace={**candidate.workspace, **room},
        work=replace(work, slots=slots),
    )


def sum_slots(problem: ConvProblem, target: Target) -> float:
    """Slots that windows' sums and what sums of products start with take, beside what it takes to
    sum pixels with the packing."""
    pixels = problem.batch * problem.groups * math.prod(problem.out_size)
    windows = pixels * math.prod(problem.kernel) / target.lanes
    return windows + _START_SLOTS * problem.out_elements / target.lanes


def real_work(problem: ConvProblem, plan: RowsPlan, target: Target, around: float) -> Work:
    """Products as planned, then float32, with ``around`` slots of the epilogue and formats."""
    lanes = target.lanes
    finished = _FINISH_SLOTS * problem.out_elements / lanes + around
    weights = WORD_BYTES / plan.kernel.k * problem.macs / plan.largest_rows
    data = WORD_BYTES / plan.kernel.k * problem.macs / (plan.vectors * lanes)
    return Work(
        slots=plan.cost + finished,
        moves=0.0,
        weight_bytes=weights,
        data_bytes=data + problem.in_elements + problem.out_bytes * problem.out_elements,
        decoding=finished,
    )


def int8_rows(target: Target) -> tuple[MicroKernel, ...]:
    """The rows that multiply int8, be it widened; not that of any int16, to which it is no gain."""
    rows = (row for row in target.micro_kernels if row.sums == "int32")
    return tuple(row for row in rows if not row.any_int16)


def able_rows(problem: ConvProblem, target: Target) -> tuple[MicroKernel, ...]:
    """The rows that multiply int8 as large as these filters are: those that need a feature of the
    core, or else the others."""
    rows = int8_rows(target)
    better = tuple(row for row in rows if row.feature)
    return tuple(row for row in better or rows if _fits(problem, row))


def _fits(problem: ConvProblem, row: MicroKernel) -> bool:
    """What the row adds in 16 bits does not overflow."""
    if row.two_fit and not problem.two_fit:
        return False
    return not row.largest_pair or problem.sum_facts.pair <= row.largest_pair


def requantise_slots(problem: ConvProblem, target: Target) -> float:
    """Slots from sums to all results."""
    added, again = problem.finish.residual_as is not None, problem.finish.twice
    each = REQUANTISE_SLOTS + (RESIDUAL_SLOTS if added else AGAIN_SLOTS if again else 0.0)
    each += BESIDES_SLOTS.get(problem.sum_facts.scaling, 0.0)
    return each * problem.out_elements / target.lanes


def packed_work(problem: ConvProblem, plan: RowsPlan, target: Target) -> Work:
    """Products as planned, borders among them; the tile reads words from a panel."""
    pixels, filters = plan.largest_rows, plan.vectors * target.lanes
    added = problem.finish.residual_as is not None
    requantised = requantise_slots(problem, target)
    weights = WORD_BYTES / plan.kernel.k * problem.macs / pixels
    data = WORD_BYTES / plan.kernel.k * problem.macs / filters
    return Work(
        slots=plan.cost + requantised,
        moves=weights / WORD_BYTES + data / WORD_BYTES if target.single_issue else 0.0,
        weight_bytes=weights,
        data_bytes=data + problem.in_elements + (problem.out_bytes + added) * problem.out_elements,
        decoding=requantised,
    )
