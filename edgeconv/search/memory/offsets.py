"""Arena offsets by greedy placement of multi-rectangle blocks.

The orders in which blocks are placed follow Pisarchyk & Lee, "Efficient Memory Management for Deep
Neural Net Inference", 2020 (by size, by breadth); the improvement afterwards re-places first what
stuck out at the top.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from types import MappingProxyType

from edgeconv.search.memory.blocks import Block, Rect, height, live_bytes

NONE: Mapping[int, int] = MappingProxyType({})
PROMOTIONS = 24  # improvement rounds per start
_MOST_KNOWN = 1024  # packings that are kept: a search comes to the same blocks again and again


@dataclass(frozen=True, slots=True)
class Packing:
    """By block: its base, in bytes from the start of the arena; and the arena they need."""

    bases: tuple[int, ...]
    height: int


Range = tuple[int, int]


class Conflicts:
    """Which differences of bases make two blocks collide."""

    def __init__(self, blocks: Sequence[Block]) -> None:
        self.blocks = blocks
        self.steps = max((rect.last for block in blocks for rect in block), default=0)
        # by block: (other block, open ranges that base - other's base must avoid)
        self.forbidden: list[dict[int, list[Range]]] = [{} for _ in blocks]
        rects = sorted(
            ((rect, i) for i, block in enumerate(blocks) for rect in block),
            key=lambda entry: entry[0].first,
        )
        live: list[tuple[Rect, int]] = []
        for rect, i in rects:
            live = [entry for entry in live if entry[0].last >= rect.first]
            for other, j in live:
                if i != j:
                    self._forbid(i, j, (other.low - rect.high, other.high - rect.low))
            live.append((rect, i))
        for ranges_by_block in self.forbidden:
            for j, ranges in ranges_by_block.items():
                ranges_by_block[j] = _union(ranges)

    def _forbid(self, i: int, j: int, difference: Range) -> None:
        low, high = difference
        self.forbidden[i].setdefault(j, []).append((low, high))
        self.forbidden[j].setdefault(i, []).append((-high, -low))

    @cached_property
    def tops(self) -> list[int]:
        """By block: its height."""
        return [max(rect.high for rect in block) for block in self.blocks]

    @cached_property
    def load(self) -> list[int]:
        """Live bytes per step, from step -1 on."""
        return live_bytes(self.blocks, self.steps)


def _union(ranges: list[Range]) -> list[Range]:
    """Open ranges, sorted, the overlapping ones merged."""
    merged: list[Range] = []
    for low, high in sorted(ranges):
        if merged and low < merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], high))
        else:
            merged.append((low, high))
    return merged


def pack(blocks: Sequence[Block], bound: int) -> Packing:
    """The smallest packing that the heuristics find; the first one of height ``bound``."""
    return _packed(tuple(blocks), bound, PROMOTIONS)


@lru_cache(_MOST_KNOWN)
def _packed(blocks: tuple[Block, ...], bound: int, promotions: int) -> Packing:
    conflicts = Conflicts(blocks)
    best: Packing | None = None
    for packing in _attempts(conflicts, promotions):
        if best is None or packing.height < best.height:
            best = packing
        if best.height <= bound:
            break
    assert best is not None
    return best


def _attempts(conflicts: Conflicts, promotions: int) -> Iterator[Packing]:
    starts = [_sequence(conflicts, key) for key in _KEYS]
    for sequence in starts:
        for fit in (_first_fit, _best_fit):
            yield _place(conflicts, sequence, fit)
    for sequence in starts:
        for fit in (_first_fit, _best_fit):
            yield from _promote(conflicts, sequence, fit, promotions)


def _promote(
    conflicts: Conflicts, sequence: list[int], fit: Fit, promotions: int
) -> Iterator[Packing]:
    """Place the blocks that reach the top earlier, again and again."""
    seen = {tuple(sequence)}
    for _ in range(promotions):
        packing = _place(conflicts, sequence, fit)
        yield packing
        tops = conflicts.tops
        highest = [i for i in sequence if packing.bases[i] + tops[i] == packing.height]
        sequence = highest + [i for i in sequence if i not in highest]
        if tuple(sequence) in seen:
            return
        seen.add(tuple(sequence))


Fit = Callable[[list[Range]], int]


def packings_above(blocks: Sequence[Block], fixed: Mapping[int, int]) -> Iterator[Packing]:
    """Packings with the blocks ``fixed`` at the bases given, and no other one across the highest
    of their ends."""
    conflicts = Conflicts(blocks)
    edge = max(base + conflicts.tops[i] for i, base in fixed.items())
    for key in _KEYS:
        sequence = [i for i in _sequence(conflicts, key) if i not in fixed]
        for fit in (_first_fit, _best_fit):
            yield _place(conflicts, sequence, fit, fixed, edge)


def _place(
    conflicts: Conflicts,
    sequence: Sequence[int],
    fit: Fit,
    fixed: Mapping[int, int] = NONE,
    edge: int = 0,
) -> Packing:
    """Place the blocks one after the other, each where ``fit`` says; those ``fixed`` are placed.
    None lies across ``edge``."""
    bases = [fixed.get(i, -1) for i in range(len(conflicts.blocks))]
    for i in sequence:
        taken = [
            (bases[j] + low, bases[j] + high)
            for j, ranges in conflicts.forbidden[i].items()
            if bases[j] >= 0
            for low, high in ranges
            if bases[j] + high > 0
        ]
        if edge:
            taken.append((edge - conflicts.tops[i], edge))
        taken.sort()
        bases[i] = fit(taken)
    return Packing(tuple(bases), height(conflicts.blocks, bases))


def _first_fit(taken: list[Range]) -> int:
    """The lowest base outside the open ranges ``taken``."""
    base = 0
    for low, high in taken:
        if base <= low:
            break
        base = max(base, high)
    return base


def _best_fit(taken: list[Range]) -> int:
    """The base with least room to spare above it."""
    return min(_gaps(taken), key=lambda gap: (gap[1] - gap[0], gap[0]))[0]


def _gaps(taken: list[Range]) -> Iterator[tuple[int, float]]:
    """The closed ranges of bases that are free of the open ranges ``taken``, which are sorted,
    lowest first; the last one is unbounded."""
    base = 0
    for low, high in taken:
        if base <= low:
            yield base, low
        base = max(base, high)
    yield base, float("inf")


def _sequence(conflicts: Conflicts, key: Callable[[Conflicts, int], tuple[int, ...]]) -> list[int]:
    return sorted(range(len(conflicts.blocks)), key=lambda i: (*key(conflicts, i), i))


def _first(conflicts: Conflicts, i: int) -> int:
    return min(rect.first for rect in conflicts.blocks[i])


def _last(conflicts: Conflicts, i: int) -> int:
    return max(rect.last for rect in conflicts.blocks[i])


def _area(conflicts: Conflicts, i: int) -> int:
    block = conflicts.blocks[i]
    return sum((rect.high - rect.low) * (rect.last - rect.first + 1) for rect in block)


def _breadth(conflicts: Conflicts, i: int) -> int:
    """The largest live sum while the block is in use."""
    return max(max(conflicts.load[r.first + 1 : r.last + 2]) for r in conflicts.blocks[i])


def _by_size(conflicts: Conflicts, i: int) -> tuple[int, ...]:
    return (-conflicts.tops[i], -_area(conflicts, i))


def _by_area(conflicts: Conflicts, i: int) -> tuple[int, ...]:
    return (-_area(conflicts, i),)


def _by_breadth(conflicts: Conflicts, i: int) -> tuple[int, ...]:
    return (-_breadth(conflicts, i), -conflicts.tops[i])


def _by_lifetime(conflicts: Conflicts, i: int) -> tuple[int, ...]:
    return (_first(conflicts, i) - _last(conflicts, i), -conflicts.tops[i])


def _by_first_use(conflicts: Conflicts, i: int) -> tuple[int, ...]:
    return (_first(conflicts, i), -_last(conflicts, i), -conflicts.tops[i])


def _by_last_use(conflicts: Conflicts, i: int) -> tuple[int, ...]:
    return (-_last(conflicts, i), _first(conflicts, i), -conflicts.tops[i])


_KEYS = (_by_size, _by_breadth, _by_area, _by_lifetime, _by_first_use, _by_last_use)
