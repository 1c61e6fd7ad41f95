"""The candidate of the packed convolution in integers: its plan, and what it takes."""

from __future__ import annotations

from edgeconv.algorithms.problem import ConvProblem
from edgeconv.algorithms.rows.candidate import RowsCandidate, rows_candidate
from edgeconv.algorithms.rows.plan import WORD_BYTES, RowsPlan, make_plan
from edgeconv.algorithms.work import encoding, epilogue
from edgeconv.ir.candidate import INTEGERS, REAL
from edgeconv.ir.work import Work
from edgeconv.micro_kernels.base import MicroKernel
from edgeconv.micro_kernels.int16 import PREFIX as INT16
from edgeconv.requantisation.scalings import OFFSETS, TIES
from edgeconv.targets import Target

# Slots from a vector of sums to bytes: two products, merged, offset, shift, bounds, load and store.
REQUANTISE_SLOTS = 8.0
AGAIN_SLOTS = 5.0  # what is rounded to another grid: multiplied, offset, shifted and bounded
BESIDES_SLOTS = {OFFSETS: 1.0, TIES: 5.0}  # an offset is loaded; a bit is taken and added
_FINISH_SLOTS = 4.0  # of a vector of sums: to float32, by its unit, the bias, and the store
RESIDUAL_SLOTS = 9.0  # it is loaded, both are multiplied, added, shifted and bounded


def candidates(problem: ConvProblem, target: Target) -> tuple[RowsCandidate, ...]:
    """The cheapest plan, where the sums of the layer are whole numbers and the core multiplies
    int8; of a convolution of one filter per channel `int8_depthwise` is what multiplies."""
    able = able_rows(problem, target)
    whole = problem.in_ring == problem.out_ring == 0
    real = not problem.whole_sums
    if not able or not whole or problem.is_depthwise:
        return ()
    if real and not (problem.real_sums and target.lanes > 1 and problem.group_in_c > 1):
        return ()
    plan = make_plan(problem, target, able, lambda kernel: kernel.pack)
    if real:
        around = epilogue(problem, target) + encoding(problem, target)
        work = real_work(problem, plan, target, around)
        return (rows_candidate("int8_packed", REAL, problem, plan, target, work),)
    work = _work(problem, plan, target)
    return (rows_candidate("int8_packed", INTEGERS, problem, plan, target, work),)


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
    return tuple(row for row in rows if row.prefix != INT16)


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


def _work(problem: ConvProblem, plan: RowsPlan, target: Target) -> Work:
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
