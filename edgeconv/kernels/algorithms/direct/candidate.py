"""Direct convolution's candidate for a problem: its plan, and what it takes."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from edgeconv.ir.work import Work
from edgeconv.kernels.algorithms.candidate import ConvCandidate
from edgeconv.kernels.algorithms.direct.band import band_elements
from edgeconv.kernels.algorithms.direct.packing import packed_elements
from edgeconv.kernels.algorithms.direct.plan import make_plan, walked_by, workspace
from edgeconv.kernels.algorithms.direct.runs import runs_apart
from edgeconv.kernels.algorithms.direct.tiles import KEEP_SLOTS, DirectPlan, filter_tiles
from edgeconv.kernels.algorithms.direct.traffic import traffic
from edgeconv.kernels.algorithms.problem import ConvProblem
from edgeconv.kernels.algorithms.work import taps_met, tiled
from edgeconv.target.targets import Target

DirectCandidate = ConvCandidate[DirectPlan]


def candidates(problem: ConvProblem, target: Target) -> tuple[DirectCandidate, ...]:
    """The cheapest plan; there always is one."""
    return (_of_plan(problem, make_plan(problem, target), target),)


def retiled(candidate: DirectCandidate, target: Target, workers: int) -> DirectCandidate | None:
    """The pixels of a pointwise convolution walked in so many rows that ``workers`` share them;
    None where they are already, or cannot be."""
    plan = walked_by(candidate.problem, candidate.plan, target, workers)
    return _of_plan(candidate.problem, plan, target) if plan else None


def _of_plan(problem: ConvProblem, plan: DirectPlan, target: Target) -> DirectCandidate:
    parts = workspace(problem, plan, target, plan.channels)
    passes = plan.channels < problem.in_c
    return ConvCandidate(
        algorithm="direct",
        problem=problem,
        plan=plan,
        workspace=parts,
        work=_work(problem, plan, target, decodes=bool(parts["decoded"])),
        cache_traffic=partial(traffic, problem, plan, target),
        # A residual may come in with the first of several passes.
        summed_apart=plan.channels if passes and problem.finish.residual_as else 0,
    )


def _work(problem: ConvProblem, plan: DirectPlan, target: Target, *, decodes: bool) -> Work:
    work = tiled(
        problem,
        target,
        (plan.largest_rows, plan.vectors * target.lanes),
        plan.cost,
        met=1.0 if problem.is_pointwise else taps_met(problem),
        packed=float(band_elements(problem, plan)),
        decoded=_decoding_slots(problem, plan, target) if decodes else None,
    )
    return replace(work, runs=runs_apart(problem, plan, target))


def _decoding_slots(problem: ConvProblem, plan: DirectPlan, target: Target) -> float:
    """Slots that decode filters into a workspace, for every pass over the rows."""
    each = target.decoding(problem.filters_as).vector + KEEP_SLOTS
    passes = problem.batch * -(-plan.rows // plan.chunk)
    elements = packed_elements(problem, filter_tiles(problem, plan, target), target.lanes)
    return passes * each * elements / target.lanes
