"""Which layers are computed in integers where all of them would lose too much.

Each filter and each grid alone adds so much noise at the outputs, and noises add up
(`search.calibration.sensitivity`).  A layer is in integers where its filters are, and what it reads
and writes.  So an integer program takes the layers that save the most time within an allowance.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from edgeconv.search.milp import SMALLEST, Row, solve

_SECONDS = 20.0
_LITTLE = 1e-6  # of all that can be saved: what a tensor or filters as int8 are worth in themselves


@dataclass(frozen=True, slots=True)
class Selection:
    """The layers that are computed in integers.  ``filters``: layers, ``groups``: numbers of
    `Places.groups` that are rounded.  ``saved``: of the layers that are then in integers."""

    filters: frozenset[str]
    groups: frozenset[int]
    saved: float


@dataclass(frozen=True, slots=True)
class Noises:
    """Noise over signal by layer and by group, each rounded alone."""

    filters: Mapping[str, float]
    groups: Sequence[float]


def select(
    noises: Noises, reads: Mapping[str, tuple[int, ...]], saved: Mapping[str, float], most: float
) -> Selection:
    """The layers that save the most with noise of at most ``most`` in all.

    ``reads``: by layer that can be in integers the groups that it reads and writes.  ``saved``: by
    layer, seconds or bytes; those that save nothing are left alone.
    """
    layers = [name for name in reads if saved.get(name, 0.0) > 0]
    filters, groups = list(noises.filters), len(noises.groups)
    at = {name: len(layers) + i for i, name in enumerate(filters)}
    first = len(layers) + len(filters)
    little = _LITTLE * max(sum(saved[name] for name in layers), 1e-30) / (first + groups + 1)
    cost = [-saved[name] for name in layers] + [-little] * (len(filters) + groups)
    rows = [
        Row({i: 1.0, needed: -1.0}, -math.inf, 0.0)
        for i, name in enumerate(layers)
        for needed in (at[name], *(first + group for group in reads[name]))
    ]
    # Relative to the allowance, so that coefficients are of the order of one.
    each = [(at[name], noise / most) for name, noise in noises.filters.items()]
    each += [(first + group, noise / most) for group, noise in enumerate(noises.groups)]
    upper = [0.0 if noise > 1.0 else 1.0 for _, noise in each]
    rows.append(Row({i: n for i, n in each if SMALLEST < n <= 1.0}, 0.0, 1.0))
    found = solve(
        [value / max(-min(cost), 1e-30) for value in cost],
        rows,
        whole=[True] * len(cost),
        upper=[1.0] * len(layers) + upper,
        seconds=_SECONDS,
    )
    values = [0.0] * len(cost) if found.values is None else found.values
    chosen = {i for i, value in enumerate(values) if value > 0.5}
    return Selection(
        frozenset(name for name in filters if at[name] in chosen),
        frozenset(group for group in range(groups) if first + group in chosen),
        sum(saved[name] for i, name in enumerate(layers) if i in chosen),
    )
