"""Plan of SConv: the register tile, then what Convolution Slicing Analysis makes of it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

from edgeconv.ir.encoding import FLOAT32
from edgeconv.kernels.algorithms.cut import Cut
from edgeconv.kernels.algorithms.problem import ConvProblem
from edgeconv.kernels.algorithms.sconv.levels import Levels, memory_cycles
from edgeconv.kernels.algorithms.sconv.search import Search
from edgeconv.kernels.algorithms.sconv.shape import Shape
from edgeconv.kernels.algorithms.sconv.slicing import (
    NoRoomError,
    Schedule,
    Slicing,
    slice_convolution,
)
from edgeconv.kernels.algorithms.waiting import NOTHING, Waiting, filled, room_for
from edgeconv.target.cache import ASSUMED, Cache
from edgeconv.target.micro_kernel import MicroKernel, Tile
from edgeconv.target.targets import Target

# Slots that one micro-kernel call costs beside its multiply-adds: start, epilogue and store.
BLOCK_OVERHEAD = 24
# Slots to pack one vector: a load, a shift, a store and their share of the loops; of a pointwise
# convolution a load and a store.
PACK_SLOTS = 8
COPY_SLOTS = 4
# Slots to keep a decoded vector in memory: its store, and the load in its place.
KEEP_SLOTS = 2
# What schedule_cycles weighs with, fitted to `bench/convolutions.py --schedules` on Zen 5: the
# share of a streamed line's latency that prefetching leaves, and the accesses to L3 that the start
# of a run of output is worth, a page walk included.
STREAMED = 0.1
RUN_MISSES = 1.5
# Packed panels take at most this part of what im2col would take, or as much as fits L1.
WORKSPACE_OF_IM2COL = 100


@dataclass(frozen=True, slots=True)
class SconvPlan:
    """``vectors`` of pixels by ``slicing.n_f`` filters per call of the micro-kernel.

    The last panel takes ``last_vectors``, the last tile of filters ``last_rows``.  ``cost`` in
    multiply-add slots.  ``tiles_near``: tiles of filters that panels meet in turn.  ``waiting``:
    sums, where the kernel's are memory; ``entered``: how often its mode is.
    """

    kernel: MicroKernel
    slicing: Slicing
    vectors: int
    last_vectors: int
    last_rows: int
    cost: float
    tiles_near: int = 1
    waiting: Waiting = NOTHING
    entered: int = 0

    @property
    def filter_widths(self) -> tuple[int, ...]:
        """Rows of each tile of filters of one group, padding included."""
        return (self.slicing.n_f,) * (self.slicing.filter_tiles - 1) + (self.last_rows,)


def _round_up(value: int, multiple: int) -> int:
    return -(-value // multiple) * multiple


def tiles(problem: ConvProblem, kernel: MicroKernel, lanes: int) -> Iterator[Tile]:
    """The tiles of the micro-kernel, cut to the problem.

    Filters are spread evenly over the fewest tiles: 64 are 5 x 13 rather than 4 x 14 + 8.
    """
    most = -(-math.prod(problem.out_size) // lanes)
    for tile in kernel.tiles:
        count = -(-problem.group_out_c // tile.rows)
        rows = _round_up(-(-problem.group_out_c // count), kernel.row_multiple)
        yield Tile(rows, min(tile.vectors, most))


def smaller_tiles(problem: ConvProblem, kernel: MicroKernel, lanes: int) -> Iterator[Tile]:
    """Tiles of one vector, ever fewer filters: for kernels of which one channel overflows L1."""
    rows = max(tile.rows for tile in tiles(problem, kernel, lanes))
    while rows > kernel.row_multiple:
        rows = _round_up(rows // 2, kernel.row_multiple)
        yield Tile(rows, 1)


def _compute_cost(
    problem: ConvProblem, target: Target, kernel: MicroKernel, tile: Tile, sets: int
) -> float:
    """Slots of all micro-kernel calls of one group of one image, ``sets`` of channels in turn.

    Every set but the first reads the sums so far, every one writes them.
    """
    depth = problem.group_in_c * math.prod(problem.kernel)
    whole, tail = divmod(-(-math.prod(problem.out_size) // target.lanes), tile.vectors)
    full, left = divmod(problem.group_out_c, tile.rows)
    total = 0.0
    for rows, tiles_of in ((tile.rows, full), (_round_up(left, kernel.row_multiple), bool(left))):
        for vectors, panels in ((tile.vectors, whole), (tail, bool(tail))):
            each = sets * ((2 + kernel.through) * rows * vectors + BLOCK_OVERHEAD) - rows * vectors
            total += tiles_of * panels * (depth * target.tile_slots(kernel, rows, vectors) + each)
    return total


def _packing_cost(problem: ConvProblem, target: Target, slicing: Slicing) -> float:
    """Slots of packing for one group of one image: every panel as often as it is packed again."""
    vectors = problem.group_in_c * math.prod(problem.kernel)
    vectors *= -(-math.prod(problem.out_size) // target.lanes)
    return slicing.packs * vectors * (COPY_SLOTS if problem.is_pointwise else PACK_SLOTS)


def make_plan(problem: ConvProblem, target: Target, schedule: Schedule | None = None) -> SconvPlan:
    """The cheapest plan over micro-kernels and their tiles, under ``schedule`` if one is given.

    Where one channel fits L1 with none of them, smaller tiles are tried, then farther caches in
    the place of L1: the panels of a very large kernel stream from there.
    """
    caches = target.caches or ASSUMED
    while True:
        for shapes in (tiles, smaller_tiles):
            pairs = (
                (kernel, tile)
                for kernel in target.float_rows
                for tile in shapes(problem, kernel, target.lanes)
            )
            plans = [
                _plan(problem, target, *pair, caches, schedule) for pair in dict.fromkeys(pairs)
            ]
            fitting = [plan for plan in plans if plan]
            if fitting:
                return min(fitting, key=lambda plan: plan.cost)
        caches = caches[1:] or (replace(caches[0], size=2 * caches[0].size),)


def _plan(
    problem: ConvProblem,
    target: Target,
    kernel: MicroKernel,
    tile: Tile,
    caches: tuple[Cache, ...],
    schedule: Schedule | None,
) -> SconvPlan | None:
    """The plan with one tile; None when not even one channel fits the nearest cache."""
    wanted = (schedule,) if schedule else tuple(Schedule)
    try:
        slicings = [_sliced(problem, target, tile, caches, entry) for entry in wanted]
    except NoRoomError:
        return None
    levels = Levels.of_target(target, caches)
    best = min(slicings, key=lambda s: schedule_cycles(s, levels, prefetch=target.prefetch))
    return plan_of(problem, target, kernel, tile, best)


def _sliced(
    problem: ConvProblem,
    target: Target,
    tile: Tile,
    caches: tuple[Cache, ...],
    schedule: Schedule,
) -> Slicing:
    """The analysis under one schedule.

    Parts are as few as binary search finds, but even: 64 channels are 4 x 16, not 3 x 17 + 13.
    Input panels fill L1, which also lengthens the runs in which outputs are written; several
    stationary filter tiles would shorten them.
    """
    return slice_convolution(
        Shape.of(problem),
        tile.vectors * target.lanes,
        tile.rows,
        caches,
        schedule=schedule,
        search=Search.EVEN,
        fill_l1=schedule is Schedule.INPUT_STATIONARY,
        workspace_limit=max(caches[0].size, im2col_bytes(problem) // WORKSPACE_OF_IM2COL),
        memory_cycles=memory_cycles(target),
    )


def decoded_bytes(problem: ConvProblem, plan: SconvPlan) -> int:
    """Workspace for filter tiles that are not stored as float32: those decoded at a time."""
    slicing = plan.slicing
    if problem.filters_as == FLOAT32:
        return 0
    return (1 if slicing.input_stationary else slicing.k1) * slicing.filter_bytes


def decoding_cost(problem: ConvProblem, target: Target, slicing: Slicing) -> float:
    """Slots of decoding for one group of one image: a tile once for all panels that it meets."""
    if problem.filters_as == FLOAT32:
        return 0.0
    if slicing.input_stationary:
        times = -(-slicing.in_tiles // slicing.k1)
    else:
        times = slicing.streaming_chunks
    vectors = -(-problem.group_out_c // target.lanes) * problem.group_in_c
    each = target.decoding(problem.filters_as).vector + KEEP_SLOTS
    return each * times * vectors * math.prod(problem.kernel)


def im2col_bytes(problem: ConvProblem) -> int:
    """The matrix that im2col would make of one group of one image."""
    pixels = math.prod(problem.out_size)
    return 4 * problem.group_in_c * math.prod(problem.kernel) * pixels


def schedule_cycles(slicing: Slicing, levels: Levels, *, prefetch: bool) -> float:
    """By what the schedule is chosen: the paper's cost model (Equation 6) and what it leaves out.

    Packing counts as Section 7.7 asks for, and packed panels that overflow L1 are read from L2.
    Output is written in runs: what one channel gets before the kernel turns to the next one.  No
    prefetcher follows from run to run, so that each waits for its first line, and every channel
    set visits it again.  On the other hand, little is left of the latency of lines that stream in
    order and are prefetched.
    """
    out_c = (slicing.filter_tiles - 1) * slicing.n_f + slicing.last_n_f
    run = slicing.k1 if slicing.input_stationary else slicing.k2
    runs = slicing.channel_sets * out_c * -(-slicing.in_tiles // run)
    overflow = slicing.workspace > levels.budgets[0] and slicing.packs * slicing.channel_sets
    packed = overflow * slicing.in_tiles * slicing.in_bytes / levels.line
    near, far, memory = slicing.level_costs
    streamed = (near + far) * (STREAMED if prefetch else 1)
    packing = slicing.packing_cost + levels.price(1) * packed
    return streamed + memory + packing + RUN_MISSES * levels.price(2) * runs


def _waiting(
    problem: ConvProblem, kernel: MicroKernel, tile: Tile, slicing: Slicing, lanes: int
) -> tuple[Waiting, int]:
    """Room for sums that wait, if they do, and how many tiles of filters are near."""
    room = room_for(kernel, ((Cut(tile.rows, 1), tile.vectors),), lanes)
    near = 1 if slicing.input_stationary else slicing.k1
    # What is decoded has room for a tile.
    most = slicing.k2 if slicing.input_stationary and problem.filters_as == FLOAT32 else 1
    return filled(kernel, room, slicing.packed_tiles, near, most)


def _entered(slicing: Slicing, waiting: Waiting, near: int) -> int:
    """How often the kernel's mode is entered for one group of one image."""
    lines = Cut.into(slicing.in_tiles, slicing.packed_tiles)
    passing = slicing.k2 if slicing.input_stationary else slicing.k3
    return slicing.channel_sets * sum(
        many * waiting.entered(lines, Cut.into(count, near))
        for count, many in (
            (passing, slicing.filter_tiles // passing),
            (slicing.filter_tiles % passing, 1),
        )
        if count
    )


def plan_of(
    problem: ConvProblem, target: Target, kernel: MicroKernel, tile: Tile, slicing: Slicing
) -> SconvPlan:
    """The plan with this micro-kernel, tile and slicing."""
    waiting, near = _waiting(problem, kernel, tile, slicing, target.lanes)
    cost = _compute_cost(problem, target, kernel, tile, slicing.channel_sets)
    entered = _entered(slicing, waiting, near)
    cost += kernel.enter * entered
    cost += _packing_cost(problem, target, slicing) + decoding_cost(problem, target, slicing)
    return SconvPlan(
        kernel=kernel,
        slicing=slicing,
        vectors=tile.vectors,
        last_vectors=-(-slicing.last_n_win // target.lanes),
        last_rows=_round_up(slicing.last_n_f, kernel.row_multiple),
        cost=problem.batch * problem.groups * cost,
        tiles_near=near,
        waiting=waiting,
        entered=problem.batch * problem.groups * entered,
    )
