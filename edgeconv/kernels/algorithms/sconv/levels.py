"""The levels of memory that slicing counts on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from edgeconv.target.cache import ASSUMED, Cache
from edgeconv.target.targets import Target

# Cycles of an access to L1, L2, L3 and to memory where the board names none.  With the last three
# the cost model makes every choice of the paper's Table 2.
CACHE_CYCLES = (4, 10, 40)
MEMORY_CYCLES = 200
# Of a cache that is counted on for tiles.
SHARE = 0.8


def memory_cycles(target: Target) -> int:
    """Cycles of an access to memory."""
    return MEMORY_CYCLES if target.memory_cycles is None else target.memory_cycles


@dataclass(frozen=True, slots=True)
class Levels:
    """Bytes for tiles at each cache level; cycles of an access to each and, last, to memory."""

    budgets: tuple[int, ...]
    cycles: tuple[int, ...]
    line: int

    @staticmethod
    def of(caches: Sequence[Cache], share: float | Sequence[float], memory: int) -> Levels:
        """The nearest three of ``caches``.  ValueError without a cache or a share in (0, 1]."""
        used = sorted(caches, key=lambda cache: cache.level)[: len(CACHE_CYCLES)]
        shares = (share,) * len(used) if isinstance(share, float | int) else tuple(share)
        if not used or len(shares) < len(used) or not all(0 < part <= 1 for part in shares):
            raise ValueError(f"{len(used)} cache levels with shares {shares}")
        named = [cache.latency for cache in used]
        return Levels(
            budgets=tuple(int(c.size * part) for c, part in zip(used, shares, strict=False)),
            cycles=(*(n or d for n, d in zip(named, CACHE_CYCLES, strict=False)), memory),
            line=used[0].line,
        )

    @staticmethod
    def of_target(target: Target, caches: Sequence[Cache] = ()) -> Levels:
        """The levels of the board, with ``caches`` in the place of its own; of one that names none
        those that are assumed."""
        return Levels.of(caches or target.caches or ASSUMED, SHARE, memory_cycles(target))

    def price(self, index: int) -> int:
        """Cycles of an access to level ``index`` (0 is L1), to memory where there is none."""
        return self.cycles[min(index, len(self.cycles) - 1)]
