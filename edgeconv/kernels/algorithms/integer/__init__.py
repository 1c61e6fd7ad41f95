"""Convolution of int8 in integers, one channel after the other: for cores without vectors.

Sums are int32, and results what the model says, exactly (``sums``), or float32 that is made of sums
(``real``).  Channels lie last.
"""

from __future__ import annotations

from dataclasses import replace

from edgeconv.ir.candidate import INTEGERS
from edgeconv.ir.choice import Layer
from edgeconv.ir.graph import Graph, Node
from edgeconv.kernels.algorithms.base import Algorithm
from edgeconv.kernels.algorithms.candidate import ConvCandidate
from edgeconv.kernels.algorithms.integer.candidate import IntegerPlan, candidates
from edgeconv.kernels.algorithms.integer.lower import lower
from edgeconv.kernels.algorithms.integer.real import lower_real
from edgeconv.kernels.algorithms.integer.real_candidate import RealPlan, real_candidates
from edgeconv.kernels.algorithms.problem import ConvProblem
from edgeconv.kernels.lowering.options import Stored, channels_last_only
from edgeconv.target.targets import Target

IntegerCandidate = ConvCandidate[IntegerPlan] | ConvCandidate[RealPlan]


def _candidates(problem: ConvProblem, target: Target) -> tuple[IntegerCandidate, ...]:
    return candidates(problem, target) or real_candidates(problem, target)


def _lower(candidate: IntegerCandidate, node: Node, graph: Graph, target: Target) -> Layer:
    if isinstance(candidate.plan, RealPlan):
        return lower_real(replace(candidate, plan=candidate.plan), node, graph, target)
    return lower(replace(candidate, plan=candidate.plan), node, graph, target)


ALGORITHM = Algorithm(
    "integer",
    _candidates,
    channels_last_only,
    _lower,
    Stored.BOTH,
    compute=INTEGERS,
    requires="input and filters of int8, of a model that rounds them so, and no vectors",
)
