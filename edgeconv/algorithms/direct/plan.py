"""Plan of the direct convolution: register tile, strips, and the order of the loops around them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from edgeconv.algorithms.problem import ConvProblem
from edgeconv.algorithms.strips import Segment, segments
from edgeconv.cache import ASSUMED
from edgeconv.ir.layout import Order
from edgeconv.targets import Target

# Shares of a cache.  Of L1: the input that stays while every filter passes over it, and the
# filters of one pass where input channels are taken in several, which stay while every strip passes
# over them and the next ones are fetched.  Of L2: the input likewise, and what counts as near.
INPUT_OF_L1, FILTERS_OF_L1 = 1 / 2, 5 / 12
INPUT_OF_L2, FILTERS_OF_L2 = 3 / 8, 1 / 4
# Slots that one strip costs beside its multiply-adds: start, epilogue and store.
STRIP_OVERHEAD = 24


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
    regroup them); ``chunk`` rows at a time pass under all the filters.
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


def row_shapes(problem: ConvProblem) -> Iterator[tuple[int, int, int]]:
    """(planes, rows, row) ways to walk the output pixels.

    A pointwise convolution may take several rows as one, since its pixels follow each other in
    memory; others walk the image as it is.
    """
    d, h, w = problem.out_size
    yield d, h, w
    if problem.is_pointwise:
        for rows in (n for n in range(1, d * h) if d * h % n == 0):
            yield 1, rows, d * h * w // rows


def _strip_cost(rows: int, vectors: int, depth: int, target: Target) -> float:
    """Slots of one strip: per step its multiply-adds, its loads or the latency."""
    step = max(rows * vectors, rows + vectors, target.fma_slots)
    return depth * step + 2 * rows * vectors + STRIP_OVERHEAD


def _row_cost(cut: tuple[Segment, ...], vectors: int, depth: int, target: Target) -> float:
    return sum(s.count * _strip_cost(s.rows, vectors, depth, target) for s in cut)


def _near(target: Target) -> tuple[int, int]:
    """Bytes of the two nearest caches; a core without L2 is taken to have none but L1."""
    caches = target.caches or ASSUMED
    return caches[0].size, caches[min(1, len(caches) - 1)].size


def _filters_are_far(problem: ConvProblem, target: Target) -> bool:
    """The filters, those of all groups counted as dense, do not stay in L2."""
    filters = problem.filter_bytes * problem.out_c * problem.group_in_c * math.prod(problem.kernel)
    return filters > FILTERS_OF_L2 * _near(target)[1]


def _chunk(problem: ConvProblem, rows: int, target: Target) -> int:
    """Output rows per pass over the filters, so that filters or input are read from near memory."""
    l1, l2 = _near(target)
    budget = INPUT_OF_L2 * l2 if _filters_are_far(problem, target) else INPUT_OF_L1 * l1
    in_bytes = 4 * problem.in_c * math.prod(problem.in_size)
    fit = int(budget * rows * problem.out_size[0] / max(in_bytes, 1))
    passes = -(-rows // max(1, min(rows, fit)))
    return -(-rows // passes)  # even passes: 28 rows of which 27 fit are 14 and 14


def channels_per_pass(problem: ConvProblem, plan: DirectPlan, target: Target) -> int:
    """Input channels that meet a tile of filters at a time; 0 where that is all of them.

    Filters that do not fit L2 come from far, and the first strip that needs them would wait.  In
    passes of a few channels every strip helps to fetch those of the next pass instead.  Worth it
    only where several strips share the fetching, and possible where channels are blocked: there
    the filters of a pass follow each other.
    """
    taps = math.prod(problem.kernel)
    block = problem.in_layout.block
    blocks = problem.in_layout.order is not Order.CHANNELS_LAST
    far = _filters_are_far(problem, target)
    if problem.groups > 1 or not far or not blocks or visits(plan, plan.segments) < 2:
        return 0
    per_block = problem.filter_bytes * taps * plan.vectors * target.lanes * block
    channels = max(1, int(FILTERS_OF_L1 * _near(target)[0]) // per_block) * block
    return channels if channels < problem.in_c else 0


def visits(plan: DirectPlan, cut: tuple[Segment, ...]) -> int:
    """Strips that pass over one tile of filters in one pass over the rows."""
    return plan.planes * plan.chunk * sum(s.count for s in cut)


@lru_cache(maxsize=4096)
def make_plan(problem: ConvProblem, target: Target) -> DirectPlan:
    """The cheapest plan over the target's tiles and the ways to walk the pixels."""
    total = -(-problem.out_c // target.lanes)
    best: DirectPlan | None = None
    for planes, rows, row in row_shapes(problem):
        for tile in target.tiles:
            vectors = min(tile.vectors, total)
            if vectors < tile.vectors and best:
                continue  # another tile has exactly this many vectors
            tail = total % vectors
            cut = segments(problem, row, tile.rows)
            tail_rows = max((t.rows for t in target.tiles if t.vectors >= tail), default=tile.rows)
            tail_cut = segments(problem, row, tail_rows) if tail else ()
            plan = DirectPlan(
                vectors, tail, planes, rows, row, _chunk(problem, rows, target), cut, tail_cut, 0.0
            )
            cost = _plan_cost(problem, plan, target)
            if best is None or cost < best.cost:
                best = DirectPlan(vectors, tail, planes, rows, row, plan.chunk, cut, tail_cut, cost)
    assert best is not None  # every target has a tile
    return best


def _plan_cost(problem: ConvProblem, plan: DirectPlan, target: Target) -> float:
    taps = math.prod(problem.kernel)
    total = 0.0
    for tile in filter_tiles(problem, plan, target):
        cut = plan.segments if tile.vectors == plan.vectors else plan.tail_segments
        total += _row_cost(cut, tile.vectors, (tile.c1 - tile.c0) * taps, target)
    return problem.batch * plan.planes * plan.rows * total
