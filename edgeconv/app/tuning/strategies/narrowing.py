"""Successive halving: all candidates a few times, the better half more often, and so on.

Jamieson, Talwalkar, "Non-stochastic Best Arm Identification and Hyperparameter Optimization",
AISTATS 2016: each round costs about as much as the one before, and most of it goes to the few that
are hard to tell apart.
"""

from __future__ import annotations

from random import Random

from edgeconv.app.tuning.candidates import Candidate
from edgeconv.app.tuning.pool import Batch, Pool
from edgeconv.app.tuning.strategies import Strategy

ROUNDS = (3, 9, 27)  # runs of a candidate in each
_KEPT = 2  # one of so many goes on


def following(pool: Pool, rng: Random) -> Batch:
    """What is left of the first round that is not over."""
    for number, runs in enumerate(ROUNDS):
        left = [
            candidate
            for workload in sorted(pool.workloads, key=pool.weight, reverse=True)
            for candidate in _through(pool, workload, number)
            if _runs(pool, candidate) < runs
        ]
        if left:
            return Batch(left, runs)
    return Batch(())


def _through(pool: Pool, workload: str, number: int) -> list[Candidate]:
    """The candidates of a workload that get as far as round ``number``."""
    found = list(pool.workloads[workload])
    for _ in range(number):
        timed = [each for each in found if pool.seconds(each)]
        if len(timed) < 2:  # nothing to tell apart
            return []
        timed.sort(key=lambda each: pool.seconds(each) or 0.0)
        found = timed[: max(2, -(-len(timed) // _KEPT))]
    return found


def _runs(pool: Pool, candidate: Candidate) -> int:
    found = pool.found.get(candidate.kernel)
    failed = found is not None and found.seconds is None
    return max(ROUNDS) if failed else found.runs if found else 0


STRATEGY = Strategy("narrowing", following)
