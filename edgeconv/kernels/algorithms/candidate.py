"""A way to compute a convolution: its problem, and the plan of its algorithm for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

from edgeconv.ir.candidate import Candidate
from edgeconv.kernels.algorithms.problem import ConvProblem

Plan = TypeVar("Plan")


@dataclass(frozen=True, kw_only=True)
class ConvCandidate(Candidate, Generic[Plan]):
    """A way to compute a convolution.  ``plan``: what the algorithm's own files know."""

    problem: ConvProblem
    plan: Plan
