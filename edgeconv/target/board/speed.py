"""How fast memories are, and how fast they are taken to be where a board does not say.

The one rule, for the planner of memory and for predictions: what states no bandwidth is half as
fast as what comes before it.  Before a cache comes the one nearer to the core; before a region the
one listed before it among those of its kind, flash or RAM; before the first region of either kind
the last cache.  What has nothing before it answers a load in every cycle.  But no cache is slower
than one behind it that states its bandwidth, since what comes from there comes through it.  Of the
running machine it is measured (`target.board.own_rates`), in bytes per cycle, whatever the clock.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from edgeconv.target.board import Board, Memory
from edgeconv.target.targets import Target

SLOWER = 2.0
LOAD_BYTES = 4  # of a scalar load
NOMINAL = 1e-9  # seconds of a cycle where the board states no clock; ratios are right all the same


def cycle_seconds(target: Target) -> float:
    """The seconds of a cycle of the clock."""
    return 1 / target.clock_hz if target.clock_hz else NOMINAL


def load_cost(target: Target) -> float:
    """Seconds per byte of a scalar load that waits for nothing."""
    return cycle_seconds(target) / LOAD_BYTES


def filled(stated: Iterable[float | None], first: float) -> list[float]:
    """Costs per byte of what lies one behind the other; ``first`` where the first states none."""
    costs: list[float] = []
    for cost in stated:
        unstated = SLOWER * costs[-1] if costs else first
        costs.append(unstated if cost is None else cost)
    return costs


def cache_costs(target: Target) -> list[float]:
    """Seconds per byte out of every cache, nearest first; the first answers a vector load."""
    cycle = cycle_seconds(target)
    stated = [cycle / cache.bandwidth if cache.bandwidth else None for cache in target.caches]
    costs = filled(stated, load_cost(target) / target.lanes)
    for number, cost in enumerate(stated):
        if cost is None:
            behind = (each for each in stated[number:] if each)
            costs[number] = min(costs[number], *behind, math.inf)
    return costs


def unstated_memory(target: Target) -> float:
    """Seconds per byte out of a first region that states no bandwidth: what was measured of it, of
    the running machine."""
    if target.memory_bytes_per_cycle:
        return cycle_seconds(target) / target.memory_bytes_per_cycle
    caches = cache_costs(target)
    return SLOWER * caches[-1] if caches else load_cost(target)


def region_costs(board: Board, regions: Sequence[Memory], line: int | None = None) -> list[float]:
    """Seconds per byte out of regions of one kind, ``target.board.ram`` or ``target.board.flash``.

    ``line``: each that many bytes wait for the latency that a region with a bandwidth states;
    None: nothing does.
    """
    stated = (
        1 / region.bandwidth + ((region.latency or 0.0) / line if line else 0.0)
        if region.bandwidth
        else None
        for region in regions
    )
    return filled(stated, unstated_memory(board.target))
