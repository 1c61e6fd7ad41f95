"""Tiles of filters, the plan that orders them, and what machines have for it."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache

from edgeconv.ir.encoding import FLOAT32
from edgeconv.ir.layout import CHANNELS_LAST
from edgeconv.kernels.algorithms.prefetch import PrefetchDistances
from edgeconv.kernels.algorithms.problem import ConvProblem
from edgeconv.kernels.algorithms.strips import Segment
from edgeconv.target.cache import ASSUMED
from edgeconv.target.targets import HALVES, Target

# Shares of a cache.  Of L1: the input that stays while every filter passes over it.  Of L2: the
# input likewise, and what counts as near.
INPUT_OF_L1, INPUT_OF_L2, FILTERS_OF_L2 = 1 / 2, 3 / 8, 1 / 4
_ALL = 1 << 62  # bytes: more than any memory has
FLOAT_BYTES = 4
# Slots to keep a decoded vector in memory: its store, and the load in its place.
KEEP_SLOTS = 2


@dataclass(frozen=True, slots=True)
class FilterTile:
    """Filters [filter, filter + vectors * lanes) and the input channels [c0, c1) they read."""

    filter: int
    vectors: int
    c0: int
    c1: int


@dataclass(frozen=True, slots=True)
class DirectPlan:
    """``vectors`` of filters per tile, ``tail_vectors`` in the last one (0: all are full).

    Each plane of the output is ``rows`` rows of ``row`` pixels (a pointwise convolution may
    regroup them); ``chunk`` rows at a time pass under all the filters.  ``in_blocks``: filters are
    decoded to memory before those rows meet them, a tile and pass at a time, rather than in
    registers for each strip.  ``band``: so many rows of the input are decoded to memory before the
    filters pass over them, 0 where micro-kernels decode them.  ``channels`` of the input meet a
    tile of filters at a time while the next filters are fetched, 0 where none are.  ``prefetch``:
    what is prefetched in software, None where the board says how far.
    """

    vectors: int
    tail_vectors: int
    planes: int
    rows: int
    row: int
    chunk: int
    segments: tuple[Segment, ...]
    tail_segments: tuple[Segment, ...]
    cost: float
    in_blocks: bool = False
    band: int = 0
    channels: int = 0
    prefetch: PrefetchDistances | None = None

    @property
    def largest_rows(self) -> int:
        """mr: output pixels of the largest strip."""
        return max(s.rows for s in self.segments or self.tail_segments)


def channel_range(problem: ConvProblem, first: int, count: int) -> tuple[int, int]:
    """The input channels that filters [first, first + count) read: those of their groups."""
    last = min(first + count, problem.out_c) - 1
    group0, group1 = first // problem.group_out_c, last // problem.group_out_c
    return group0 * problem.group_in_c, (group1 + 1) * problem.group_in_c


def filter_tiles(problem: ConvProblem, plan: DirectPlan, target: Target) -> list[FilterTile]:
    """The tiles of filters in the order in which they are packed and computed."""
    lanes, total = target.lanes, -(-problem.out_c // target.lanes)
    found: list[FilterTile] = []
    for vector in range(0, total, plan.vectors):
        vectors = min(plan.vectors, total - vector)
        c0, c1 = channel_range(problem, vector * lanes, vectors * lanes)
        found.append(FilterTile(vector * lanes, vectors, c0, c1))
    return found


@dataclass(frozen=True, slots=True)
class TileKind:
    """``count`` tiles of ``vectors`` of filters that read so many input ``channels``.  ``halved``:
    filters fill no more than half of the last vector, and the core computes no more of it."""

    count: int
    vectors: int
    channels: int
    halved: bool


@lru_cache(maxsize=4096)
def tile_kinds(problem: ConvProblem, vectors: int, target: Target) -> tuple[TileKind, ...]:
    """How many tiles of at most ``vectors`` there are of each kind."""
    plan = DirectPlan(vectors, 0, 1, 1, 1, 1, (), (), 0.0)
    may_halve = HALVES in target.features and problem.in_as == FLOAT32
    counts: Counter[tuple[int, int, bool]] = Counter()
    for tile in filter_tiles(problem, plan, target):
        free = tile.filter + tile.vectors * target.lanes - problem.out_c  # lanes without a filter
        halved = may_halve and 2 * free >= target.lanes
        counts[tile.vectors, tile.c1 - tile.c0, halved] += 1
    return tuple(TileKind(count, *kind) for kind, count in counts.items())


def visits(plan: DirectPlan, cut: tuple[Segment, ...]) -> int:
    """Strips that pass over one tile of filters in one pass over the rows."""
    return plan.planes * plan.chunk * sum(s.count for s in cut)


def near(target: Target) -> tuple[int, int]:
    """Bytes of the two nearest caches; a core without L2 is taken to have none but L1, and one
    without a cache has all of its memory near."""
    if not target.line_bytes:
        return _ALL, _ALL
    caches = target.caches or ASSUMED
    return caches[0].size, caches[min(1, len(caches) - 1)].size


def filters_are_far(problem: ConvProblem, target: Target) -> bool:
    """The filters, those of all groups counted as dense, do not stay in L2."""
    filters = problem.filter_bytes * problem.out_c * problem.group_in_c * math.prod(problem.kernel)
    return filters > FILTERS_OF_L2 * near(target)[1]


def may_keep(target: Target) -> bool:
    """Workspaces spare time: not where RAM is worth more."""
    return target.workspaces and bool(target.caches)


def may_decode(target: Target) -> bool:
    """Decoding to memory is worth a workspace; not where single elements are decoded anyway."""
    return may_keep(target) and target.lanes > 1


def neighbours(problem: ConvProblem, target: Target) -> bool:
    """Whether a vector of a pixel's channels lies in one piece."""
    channels = problem.in_c if problem.in_layout == CHANNELS_LAST else problem.in_layout.block
    return target.lanes > 1 and channels >= target.lanes
