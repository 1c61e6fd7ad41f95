"""What is counted exactly: by how much an assignment misses its limits, and the cut for that."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from edgeconv.search.budget.tables import Limits, Tables, saved

EXACT = 1e-9  # what sums of floats may be wrong by, relative


@dataclass(frozen=True, slots=True)
class Cut:
    """At least one item has one of the options in ``better``: (item, option)."""

    better: frozenset[tuple[int, int]]


def excess(tables: Tables, limits: Limits, picked: Sequence[int]) -> float:
    """The larger part of a budget by which ``picked`` exceeds it; 0 where it keeps both."""
    return limits.excess(tables.ram_bytes(picked), tables.flash_bytes(picked))


def lighter(
    tables: Tables, picked: Sequence[int], weights: Iterable[tuple[int, Sequence[float]]]
) -> Cut:
    """At least one item must weigh less than it does now; ``weights``: item, weight by option.

    Of two items that could share bytes in place and do not, either may also take an option with
    which they would.
    """
    table = dict(weights)
    better = {
        (i, k)
        for i, by_option in table.items()
        for k, weight in enumerate(by_option)
        if weight < by_option[picked[i]]
    }
    for step in tables.steps:
        for saving in step.savings:
            if saving.first in table and saving.second in table and not saved(saving, picked):
                better |= {(saving.first, a) for a, _, _ in saving.pairs}
                better |= {(saving.second, b) for _, b, _ in saving.pairs}
    return Cut(frozenset((i, k) for i, k in better if k != picked[i]))
