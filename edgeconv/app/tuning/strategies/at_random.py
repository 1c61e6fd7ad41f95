"""Any candidate next: what others are compared with."""

from __future__ import annotations

from random import Random

from edgeconv.app.tuning.pool import Batch, Pool
from edgeconv.app.tuning.strategies import Strategy


def following(pool: Pool, rng: Random) -> Batch:
    """All that are left, shuffled."""
    left = pool.open()
    rng.shuffle(left)
    return Batch(left)


STRATEGY = Strategy("random", following)
