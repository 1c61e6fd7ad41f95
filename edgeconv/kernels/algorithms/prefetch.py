"""How far ahead kernels fetch what they read, on cores that wait at the first use of a miss.

A register tile reads operands in steps that take so many cycles, and a line takes so many to come
from where it is expected: a distance is the second over the first.  Where it is expected follows
from the predicted traffic.  Nothing is prefetched where that takes more cycles than are waited.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from edgeconv.ir.choice import Param
from edgeconv.target.targets import Target

HEADER = "ec_prefetch.h"
# A level counts where so much of the waiting is for it.
SHARE = 1 / 8
# Cycles that a fetch must spare: of filters one behind the other, at constant distances; of those
# of a block of four channels, where each begins anew, and of an input whose place has to be found.
# In loops by GCC 12 they take 1.0, 8.5 and 5 (bench/prefetch.py: dense, 1x1 over 64 channels);
# lines that are predicted to be waited for one by one overlap, or are nearer than predicted.
STREAMED_CYCLES, FOUND_CYCLES = 2.0, 9.0
# Cycles of a latency that pass between a load and the first use of it, as compilers order them.
HIDDEN = 4


@dataclass(frozen=True, slots=True)
class PrefetchDistances:
    """How far ahead a kernel prefetches.  ``filters``: bytes from those that are multiplied to
    those that are fetched; ``input``: the same in blocks of channels.  0: nothing is.  ``lines``:
    that are fetched in all."""

    filters: int = 0
    input: int = 0
    lines: float = 0.0

    def __bool__(self) -> bool:
        return bool(self.filters or self.input)

    @property
    def params(self) -> dict[str, Param]:
        """The parameters of a template; none where nothing is fetched, so that nothing is
        different."""
        return {"prefetch_filters": self.filters, "prefetch_input": self.input} if self else {}


NOTHING = PrefetchDistances()


def fetches(target: Target) -> bool:
    """The board wants distances, and states what they follow from."""
    stated = len(target.caches) > 1 and all(cache.latency for cache in target.caches)
    return target.in_order and target.lanes > 1 and stated and bool(target.memory_cycles)


def latency(
    level_traffic: Sequence[float], target: Target, cost: float, together: float = 1.0
) -> int:
    """Cycles from a fetch to its line, of an operand of which so many bytes cross behind each
    cache; 0 where all fetches, which take ``cost`` cycles, cost more than they spare.

    ``together``: lines that are asked for at a time, so that the core waits for them once.  It is
    the latency of the farthest level that makes up some of the waiting.
    """
    waits = _waits(level_traffic, target)
    total = sum(cycles for cycles, _ in waits)
    if total <= cost * max(1.0, together):
        return 0
    return max(each for cycles, each in waits if cycles >= SHARE * total)


def _waits(level_traffic: Sequence[float], target: Target) -> list[tuple[float, int]]:
    """For each level behind the first cache, cycles that the core waits for its lines one by one,
    and for each."""
    near, *caches = (cache.latency or 0 for cache in target.caches)
    behind = [*caches, target.memory_cycles or 0]
    found = []
    for number, cycles in enumerate(behind):
        beyond = level_traffic[number + 1] if number + 1 < len(level_traffic) else 0.0
        lines = max(0.0, level_traffic[number] - beyond) / target.line_bytes
        found.append((lines * max(0, cycles - near - HIDDEN), cycles))
    return found


def rounds(cycles: int, each: float) -> int:
    """So many rounds of ``each`` cycles that ``cycles`` pass; 0 for none."""
    return math.ceil(cycles / each) if cycles else 0
