"""Plan of the direct convolution: register tile, strips, and the order of the loops around them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

from edgeconv.algorithms.problem import FLOAT32, INT4, ConvProblem
from edgeconv.algorithms.strips import Segment, segments
from edgeconv.cache import ASSUMED
from edgeconv.ir.layout import CHANNELS_LAST, Order
from edgeconv.targets import Target

# Shares of a cache.  Of L1: the input that stays while every filter passes over it, and the
# filters of one pass where input channels are taken in several, which stay while every strip passes
# over them and the next ones are fetched.  Of L2: the input likewise, and what counts as near.
INPUT_OF_L1, FILTERS_OF_L1 = 1 / 2, 5 / 12
INPUT_OF_L2, FILTERS_OF_L2 = 3 / 8, 1 / 4
FLOAT_BYTES = 4
# Slots that one strip costs beside its multiply-adds: start, epilogue and store.
STRIP_OVERHEAD = 24
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
    registers for each strip.
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


def _strip_cost(
    rows: int, vectors: int, depth: int, decode: float, problem: ConvProblem, target: Target
) -> float:
    """Slots of one strip: per step its multiply-adds and what decodes for them (``decode`` for a
    vector of filters), its loads or the latency."""
    filters = vectors * decode
    pixels = rows * _pixel_slots(problem, target)
    step = max(rows * vectors + filters + pixels, rows + vectors, target.fma_slots)
    return depth * step + 2 * rows * vectors + STRIP_OVERHEAD


def _pixel_slots(problem: ConvProblem, target: Target) -> float:
    """Slots to decode one channel of one pixel.

    None where channels are neighbours: a vector of them is decoded at a time, for all vectors of
    filters, and not in the slots of multiply-adds.  (Counted, it would make for tiles of few pixels
    and many filters, which then come from far; measured on ResNet-50, AVX-512: 1.3 times the time.)
    """
    neighbours = problem.in_c if problem.in_layout == CHANNELS_LAST else problem.in_layout.block
    if target.lanes > 1 and neighbours >= target.lanes:
        return 0.0
    return target.decoding(problem.in_as).element


def _decode_slots(
    cut: tuple[Segment, ...], problem: ConvProblem, plan: DirectPlan, target: Target
) -> float:
    """Slots per strip to decode a vector of filters, in registers or once for all strips."""
    each = target.decoding(problem.filters_as).vector
    if decoded_bytes(problem, plan, target, channels_per_pass(problem, plan, target)):
        return (each + KEEP_SLOTS) / visits(plan, cut)
    return each


def _blocks_pay(problem: ConvProblem, plan: DirectPlan, target: Target) -> bool:
    """To decode a vector of filters in registers for every strip takes longer than once to memory
    (seeds/003, Section 8.4)."""
    each = target.decoding(problem.filters_as).vector
    return each * visits(plan, plan.segments or plan.tail_segments) > each + KEEP_SLOTS


def _near(target: Target) -> tuple[int, int]:
    """Bytes of the two nearest caches; a core without L2 is taken to have none but L1."""
    caches = target.caches or ASSUMED
    return caches[0].size, caches[min(1, len(caches) - 1)].size


def _filters_are_far(problem: ConvProblem, target: Target) -> bool:
    """The filters, those of all groups counted as dense, do not stay in L2."""
    filters = problem.filter_bytes * problem.out_c * problem.group_in_c * math.prod(problem.kernel)
    return filters > FILTERS_OF_L2 * _near(target)[1]


def _chunk(problem: ConvProblem, rows: int, target: Target, *, in_blocks: bool) -> int:
    """Output rows per pass over the filters, so that filters or input are read from near memory.

    Blocks of filters are worth as many rows as filters that come from far.
    """
    l1, l2 = _near(target)
    far = in_blocks or _filters_are_far(problem, target)
    budget = INPUT_OF_L2 * l2 if far else INPUT_OF_L1 * l1
    in_bytes = problem.in_bytes * problem.in_c * math.prod(problem.in_size)
    fit = int(budget * rows * problem.out_size[0] / max(in_bytes, 1))
    passes = -(-rows // max(1, min(rows, fit)))
    return -(-rows // passes)  # even passes: 28 rows of which 27 fit are 14 and 14


def channels_per_pass(problem: ConvProblem, plan: DirectPlan, target: Target) -> int:
    """Input channels that meet a tile of filters at a time; 0 where that is all of them.

    Filters that do not fit L2 come from far, and the first strip that needs them would wait.  In
    passes of a few channels every strip helps to fetch those of the next pass instead.  Worth it
    only where several strips share the fetching, and possible where channels are blocked: there
    the filters of a pass follow each other.  Sums that wait in the output must be float32.
    """
    taps = math.prod(problem.kernel)
    block = problem.in_layout.block
    blocks = problem.in_layout.order is not Order.CHANNELS_LAST
    far = plan.in_blocks or _filters_are_far(problem, target)
    waits = problem.out_as == FLOAT32  # sums of one pass for the next, in the output
    if problem.groups > 1 or not waits or not far or not blocks:
        return 0
    if visits(plan, plan.segments) < 2:
        return 0
    element = FLOAT_BYTES if plan.in_blocks else problem.filter_bytes
    per_block = element * taps * plan.vectors * target.lanes * block
    channels = max(1, int(FILTERS_OF_L1 * _near(target)[0] / per_block)) * block
    return channels if channels < problem.in_c else 0


def may_decode_blocks(problem: ConvProblem, target: Target) -> bool:
    """Filters that are not float32 may be decoded to memory, a block at a time.

    Not on a core without caches, where RAM is worth more than time; nor by single elements.
    """
    able = target.workspaces and target.lanes > 1 and bool(target.caches)
    return able and problem.filters_as != FLOAT32


def decoded_bytes(problem: ConvProblem, plan: DirectPlan, target: Target, channels: int = 0) -> int:
    """Workspace for the filters of one tile and pass in float32; 0 where micro-kernels decode them.

    They fit L1.  ``channels``: those of a pass, where there are several.
    """
    if not plan.in_blocks:
        return 0
    depth = channels or max(t.c1 - t.c0 for t in filter_tiles(problem, plan, target))
    vectors = plan.vectors if plan.segments else plan.tail_vectors
    size = FLOAT_BYTES * depth * math.prod(problem.kernel) * vectors * target.lanes
    return size if size <= _near(target)[0] else 0


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
            if best and problem.filters_as == INT4 and vectors * target.lanes % 2:
                continue  # rows of filters begin with a byte: half of the last one would be lost
            tail = total % vectors
            cut = segments(problem, row, tile.rows)
            tail_rows = max((t.rows for t in target.tiles if t.vectors >= tail), default=tile.rows)
            tail_cut = segments(problem, row, tail_rows) if tail else ()
            made = _with_chunk(
                DirectPlan(vectors, tail, planes, rows, row, rows, cut, tail_cut, 0.0),
                problem,
                target,
            )
            plan = replace(made, cost=_plan_cost(problem, made, target))
            if best is None or plan.cost < best.cost:
                best = plan
    assert best is not None  # every target has a tile
    return best


def _with_chunk(plan: DirectPlan, problem: ConvProblem, target: Target) -> DirectPlan:
    """The plan with its rows per pass, and with blocks of filters where decoding them pays."""
    if may_decode_blocks(problem, target):
        chunk = _chunk(problem, plan.rows, target, in_blocks=True)
        blocks = replace(plan, chunk=chunk, in_blocks=True)
        if _blocks_pay(problem, blocks, target):
            return blocks
    return replace(plan, chunk=_chunk(problem, plan.rows, target, in_blocks=False))


def _plan_cost(problem: ConvProblem, plan: DirectPlan, target: Target) -> float:
    taps = math.prod(problem.kernel)
    total = 0.0
    # Passes that decoding makes: their sums go to the output and come back.
    channels = channels_per_pass(problem, plan, target) if plan.in_blocks else 0
    again = -(-problem.in_c // channels) - 1 if channels else 0
    for tile in filter_tiles(problem, plan, target):
        cut = plan.segments if tile.vectors == plan.vectors else plan.tail_segments
        depth = (tile.c1 - tile.c0) * taps
        decode = _decode_slots(cut, problem, plan, target)
        total += sum(
            s.count * _strip_cost(s.rows, tile.vectors, depth, decode, problem, target)
            + s.count * again * (2 * s.rows * tile.vectors + STRIP_OVERHEAD)
            for s in cut
        )
    return problem.batch * plan.planes * plan.rows * total
