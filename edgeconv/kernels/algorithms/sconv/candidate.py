"""SConv's candidate for a problem: its plan and what it takes, and the plans left aside for it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial

from edgeconv.ir.work import Work
from edgeconv.kernels.algorithms.candidate import ConvCandidate
from edgeconv.kernels.algorithms.problem import ConvProblem
from edgeconv.kernels.algorithms.sconv.blocked import blocked_plan, final_plan
from edgeconv.kernels.algorithms.sconv.plan import (
    SconvPlan,
    decoded_bytes,
    decoding_cost,
    make_plan,
)
from edgeconv.kernels.algorithms.sconv.shape import Shape
from edgeconv.kernels.algorithms.sconv.slicing import Schedule
from edgeconv.kernels.algorithms.sconv.traffic import traffic
from edgeconv.kernels.algorithms.work import tiled
from edgeconv.target.targets import Target

SconvCandidate = ConvCandidate[SconvPlan]
BLOCKING = "blocking"


def candidates(problem: ConvProblem, target: Target) -> tuple[SconvCandidate, ...]:
    """The slicing analysis's plan or the blocked one; none where no memory may be taken for packed
    panels, where there are no tiles."""
    if not target.workspaces:
        return ()
    analysed = _analysed(problem, target)
    plan = final_plan(problem, target, analysed)
    found = ConvCandidate(
        algorithm="sconv",
        problem=problem,
        plan=plan,
        workspace={
            "panels": plan.slicing.workspace,
            "decoded": decoded_bytes(problem, plan),
            "waiting": plan.waiting.bytes,
        },
        work=_work(problem, plan, target),
        # Group by group and image by image, as the kernel goes.
        summed_apart=plan.slicing.nc,
        cache_traffic=partial(
            traffic,
            plan.slicing,
            Shape.of(problem),
            target.caches,
            problem.groups,
            problem.batch,
        ),
    )
    return (found,)


def alternatives(candidate: SconvCandidate, target: Target) -> Mapping[str, SconvPlan]:
    """The plans that SConv has for the candidate's problem: one per schedule, and, where the target
    has caches, `BLOCKING`'s.  The candidate's own is the first that equals it."""
    problem = candidate.problem
    analysed = _analysed(problem, target)
    # Under its schedule alone, another register tile of the same cost may come first.
    plans = {
        entry.value: analysed
        if entry is analysed.slicing.schedule
        else make_plan(problem, target, entry)
        for entry in Schedule
    }
    if target.caches:
        free = make_plan(problem, target) if problem.schedule else analysed
        plans[BLOCKING] = blocked_plan(problem, target, free)
    return plans


def _analysed(problem: ConvProblem, target: Target) -> SconvPlan:
    """The slicing analysis's plan, under the schedule that was asked for if there is one."""
    schedule = Schedule(problem.schedule) if problem.schedule else None
    return make_plan(problem, target, schedule)


def _work(problem: ConvProblem, plan: SconvPlan, target: Target) -> Work:
    """Packing reads every element of the panels from the image and writes it, padding included."""
    taps = problem.in_c * math.prod(problem.kernel)
    return tiled(
        problem,
        target,
        (plan.slicing.n_win, plan.slicing.n_f),
        plan.cost * plan.kernel.vectorised,
        packed=float(problem.batch * taps * math.prod(problem.out_size)),
        decoded=problem.batch * problem.groups * decoding_cost(problem, target, plan.slicing),
    )
