"""A genetic search: what two good candidates have, mixed, and a little of it changed.

Genes are algorithm, layouts and plan.  What is bred need not exist: of those that nobody has tried
the one that is most like it is measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from edgeconv.app.tuning.candidates import Candidate, Genes
from edgeconv.app.tuning.pool import Batch, Pool
from edgeconv.app.tuning.strategies import Strategy

FIRST = 4  # of each workload, those predicted to be the shortest
BROOD = 16  # bred at a time
_ROUND = 3  # of a tournament
_CHANGED = 0.1  # of the genes


def following(pool: Pool, rng: Random) -> Batch:
    """The first ones of all workloads, then what is bred of those with most to gain."""
    first = [
        each
        for found in pool.workloads.values()
        for each in found[:FIRST]
        if each.kernel not in pool.found
    ]
    if first:
        return Batch(first)
    bred: dict[str, Candidate] = {}
    left = pool.by_gain()
    for workload in left * (BROOD // max(1, len(left)) + 1):
        untried = [
            each
            for each in pool.workloads[workload]
            if each.kernel not in pool.found and each.kernel not in bred
        ]
        if untried and len(bred) < BROOD:
            wanted = _child(pool, workload, rng)
            closest = max(untried, key=lambda each: _alike(each.genes, wanted))
            bred[closest.kernel] = closest
    return Batch(list(bred.values()))


def _child(pool: Pool, workload: str, rng: Random) -> Genes:
    everyone = pool.workloads[workload]
    parents = [each for each in everyone if pool.seconds(each)] or list(everyone)
    mother, father = _fit(pool, parents, rng).genes, _fit(pool, parents, rng).genes
    stranger = rng.choice(list(everyone)).genes
    child: dict[str, str | float] = {}
    for name in {**mother, **father}:
        giver = stranger if rng.random() < _CHANGED else rng.choice((mother, father))
        if name in giver:
            child[name] = giver[name]
    return child


def _fit(pool: Pool, parents: Sequence[Candidate], rng: Random) -> Candidate:
    """The winner of a tournament."""
    drawn = [rng.choice(parents) for _ in range(_ROUND)]
    return min(drawn, key=lambda each: pool.seconds(each) or each.predicted)


def _alike(genes: Genes, wanted: Genes) -> int:
    return sum(genes.get(name) == value for name, value in wanted.items())


STRATEGY = Strategy("genetic", following)
