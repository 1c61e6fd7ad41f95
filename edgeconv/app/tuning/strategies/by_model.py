"""A cost model fitted to what was measured: by how much the prediction is wrong, by genes.

A random forest of scikit-learn learns the logarithm of measured over predicted time; candidates
come in the order of the gain that it expects, and every eighth at random, so that what the model
does not know is looked at too.
"""

from __future__ import annotations

import math
from importlib import import_module
from importlib.util import find_spec
from random import Random

from edgeconv.app.tuning.candidates import Candidate, Genes
from edgeconv.app.tuning.pool import Batch, Pool
from edgeconv.app.tuning.strategies import Strategy
from edgeconv.base.errors import EdgeconvError, Exit

LEAST = 12  # measured, before a model is fitted
_TREES = 48
_AT_RANDOM = 8  # every so many


def require() -> None:
    """Raises EdgeconvError (exit status 3) without scikit-learn."""
    if find_spec("sklearn") is None:
        raise EdgeconvError(
            "no scikit-learn",
            where="--strategy model",
            rule="its random forest is the cost model",
            hint="pip install 'edgeconv[tune]', or another strategy",
            code=Exit.MISSING_TOOL,
        )


def following(pool: Pool, rng: Random) -> Batch:
    """All that are left, the most promising first."""
    left = pool.open()
    timed = [each for each in pool.candidates if pool.seconds(each)]
    if not left:
        return Batch(())
    if len(timed) < LEAST:  # nothing to learn from yet: as predicted
        first = {workload: number for number, workload in enumerate(pool.by_gain())}
        return Batch(sorted(left, key=lambda each: (first[each.workload], each.predicted)))
    vectors = import_module("sklearn.feature_extraction").DictVectorizer(sparse=False)
    ensemble = import_module("sklearn.ensemble")  # an extra, which takes a second to import
    forest = ensemble.RandomForestRegressor(_TREES, random_state=rng.randrange(1 << 31), n_jobs=1)
    forest.fit(
        vectors.fit_transform([features(each) for each in timed]),
        [math.log((pool.seconds(each) or 1.0) / each.predicted) for each in timed],
    )
    wrong = forest.predict(vectors.transform([features(each) for each in left]))

    def gain(number: int) -> float:
        candidate = left[number]
        best = pool.best(candidate.workload)
        now = (pool.seconds(best) if best else None) or candidate.predicted
        ratio = candidate.predicted * math.exp(wrong[number]) / now
        return pool.weight(candidate.workload) * (1 - ratio)

    order = [left[number] for number in sorted(range(len(left)), key=gain, reverse=True)]
    for place in range(_AT_RANDOM - 1, len(order), _AT_RANDOM):
        order.insert(place, order.pop(rng.randrange(place, len(order))))
    return Batch(order)


def features(candidate: Candidate) -> Genes:
    """Genes, and the numbers that the prediction is made of."""
    work, layer = candidate.layer.work, candidate.layer
    sizes = {f"size {i}": float(n) for i, n in enumerate(_sizes(candidate))}
    return {
        **candidate.genes,
        **sizes,
        "predicted": math.log(candidate.predicted),
        "slots": math.log1p(work.slots),
        "moves": math.log1p(work.moves),
        "constants": math.log1p(work.weight_bytes),
        "data": math.log1p(work.data_bytes),
        "workspace": math.log1p(layer.workspace_bytes),
    }


def _sizes(candidate: Candidate) -> list[int]:
    names = [name for name in (*candidate.node.inputs[:2], candidate.node.output) if name]
    return [size for name in names for size in candidate.tensors[name].shape]


STRATEGY = Strategy("model", following, require)
