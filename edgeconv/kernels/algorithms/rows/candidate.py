"""The candidate of a convolution over packed rows, whatever is multiplied."""

from __future__ import annotations

from functools import partial

from edgeconv.ir.work import Work
from edgeconv.kernels.algorithms.candidate import ConvCandidate
from edgeconv.kernels.algorithms.problem import ConvProblem
from edgeconv.kernels.algorithms.rows.plan import RowsPlan
from edgeconv.kernels.algorithms.rows.traffic import traffic
from edgeconv.target.targets import Target

RowsCandidate = ConvCandidate[RowsPlan]


def rows_candidate(
    algorithm: str, compute: str, problem: ConvProblem, plan: RowsPlan, target: Target, work: Work
) -> RowsCandidate:
    """The candidate of ``plan``: panels are its workspace, and its traffic that of its loops."""
    return ConvCandidate(
        algorithm=algorithm,
        compute=compute,
        problem=problem,
        plan=plan,
        workspace={"panels": plan.bytes},
        work=work,
        cache_traffic=partial(traffic, problem, plan, target),
    )
