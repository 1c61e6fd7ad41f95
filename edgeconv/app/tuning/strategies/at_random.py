"""Any candidate next: what others are compared with."""

from __future__ import annotations

from random import Random

from edgeconv.app.tuning.pool import Asked, Pool
from edgeconv.app.tuning.strategies import Strategy


def following(pool: Pool, rng: Random) -> Asked:
    """All that are left, shuffled."""
    left = pool.open()
    rng.shuffle(left)
    return Asked(left)


STRATEGY = Strategy("random", following)
