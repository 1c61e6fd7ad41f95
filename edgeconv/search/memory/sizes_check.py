"""The sizes that a memory map states, counted anew."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import NoReturn

import numpy as np

from edgeconv.ir.check import InvariantError
from edgeconv.ir.choice import Choice
from edgeconv.ir.memory import MemoryMap, Region


def fail(where: str, rule: str) -> NoReturn:
    """Raise InvariantError for a rule that is broken."""
    raise InvariantError(f"memory map: {where}: {rule}")


def require(condition: bool, where: str, rule: str) -> None:
    """Raise InvariantError where a rule is broken."""
    if not condition:
        fail(where, rule)


def check_sizes(choice: Choice, memory_map: MemoryMap) -> None:
    """The lower bound and the bytes of every bank, counted byte range by byte range."""
    found = [_size(choice, memory_map, bank) for bank in range(len(memory_map.banks))]
    together: Counter[int] = Counter()
    for live, _ in found:
        together.update(live)
    least, tops = max(together.values(), default=0), sum(top for _, top in found)
    require(memory_map.lower_bound == least, "lower_bound", f"must be {least}")
    require(memory_map.arena_bytes == tops, "arena_bytes", f"must be {tops}, the highest in use")
    for use, (live, top) in zip(memory_map.banks, found, strict=True):
        bound = max(live.values(), default=0)
        require(use.lower_bound == bound, f"bank {use.name}", f"the bound must be {bound}")
        require(use.bytes == top, f"bank {use.name}", f"must take {top} bytes")
    names = {use.name for use in memory_map.banks}
    require(len(names) == len(memory_map.banks), "banks", "must have different names")
    met = memory_map.arena_bytes == least
    require(memory_map.optimal or not met, "optimal", "an arena of the lower bound is optimal")


def _size(choice: Choice, memory_map: MemoryMap, bank: int) -> tuple[dict[int, int], int]:
    """The bytes in use at every step, and the end of the highest ever in use.  States that stay are
    so throughout."""
    align, moving = memory_map.align, choice.moving_states
    staying = [state.input for state in choice.graph.states if state.input not in moving]
    states = [
        replace(memory_map.places[name], first=-1, last=len(memory_map.order)) for name in staying
    ]
    uses = [
        (place.offset // align * align, -(-(place.offset + place.bytes) // align) * align, place)
        for place in (*memory_map.places.values(), *memory_map.workspaces.values(), *states)
        if place.region is Region.ARENA and place.bytes and place.bank == bank
    ]
    cuts = np.array(sorted({cut for low, high, _ in uses for cut in (low, high)}), np.int64)
    sizes, users = np.diff(cuts), np.zeros(max(len(cuts) - 1, 0), np.int64)
    changes: dict[int, list[tuple[int, int, int]]] = {}
    for low, high, place in uses:
        first, last = np.searchsorted(cuts, (low, high))
        changes.setdefault(place.first, []).append((first, last, 1))
        changes.setdefault(place.last + 1, []).append((first, last, -1))
    live = {}
    for step in range(-1, len(memory_map.order) + 1):
        for first, last, more in changes.get(step, ()):
            users[first:last] += more
        live[step] = int(sizes[users > 0].sum())
    return live, max((high for _, high, _ in uses), default=0)
