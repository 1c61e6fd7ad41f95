"""Plan of SConv: the register tile, then what Convolution Slicing Analysis makes of it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

from edgeconv.algorithms.problem import ConvProblem
from edgeconv.algorithms.sconv.shape import Shape
from edgeconv.algorithms.sconv.slicing import Schedule, Slicing, slice_convolution
from edgeconv.cache import Cache
from edgeconv.targets import Target, Tile

# Taken where a board names no cache: what the smallest application core has.
ASSUMED_CACHES = (Cache(1, 32 * 1024, 64), Cache(2, 256 * 1024, 64))
# Slots that one micro-kernel call costs beside its multiply-adds: start, epilogue and store.
BLOCK_OVERHEAD = 24
# Slots to pack one vector: a load, a shift, a store and their share of the loops; of a pointwise
# convolution a load and a store.
PACK_SLOTS = 8
COPY_SLOTS = 4


@dataclass(frozen=True, slots=True)
class SconvPlan:
    """``vectors`` of pixels by ``slicing.n_f`` filters per micro-kernel call.

    The last panel takes ``last_vectors``, the last tile of filters ``last_rows``.  ``cost`` in
    multiply-add slots.
    """

    slicing: Slicing
    vectors: int
    last_vectors: int
    last_rows: int
    cost: float

    @property
    def filter_widths(self) -> tuple[int, ...]:
        """Rows of each tile of filters of one group, padding included."""
        return (self.slicing.n_f,) * (self.slicing.filter_tiles - 1) + (self.last_rows,)


def _round_up(value: int, step: int) -> int:
    return -(-value // step) * step


def tiles(problem: ConvProblem, target: Target) -> Iterator[Tile]:
    """The outer-product tiles cut to the problem.

    Filters are spread evenly over the fewest tiles: 64 are 5 x 13 rather than 4 x 14 + 8.
    """
    most = -(-math.prod(problem.out_size) // target.lanes)
    for tile in target.outer:
        count = -(-problem.group_out_c // tile.rows)
        rows = _round_up(-(-problem.group_out_c // count), target.outer_step)
        yield Tile(rows, min(tile.vectors, most))


def smaller_tiles(problem: ConvProblem, target: Target) -> Iterator[Tile]:
    """Tiles of one vector, ever fewer filters: for kernels of which one channel overflows L1."""
    rows = max(tile.rows for tile in tiles(problem, target))
    while rows > target.outer_step:
        rows = _round_up(rows // 2, target.outer_step)
        yield Tile(rows, 1)


def _step(rows: int, vectors: int, target: Target) -> float:
    """Slots of one step of the outer product: multiply-adds, loads, or the latency."""
    loads = vectors + rows / target.outer_step
    return max(rows * vectors / target.outer_rate, loads, target.fma_slots)


def _compute_cost(problem: ConvProblem, target: Target, tile: Tile, sets: int) -> float:
    """Slots of all micro-kernel calls of one group of one image, ``sets`` of channels in turn.

    Every set but the first reads the sums so far, every one writes them.
    """
    depth = problem.group_in_c * math.prod(problem.kernel)
    whole, tail = divmod(-(-math.prod(problem.out_size) // target.lanes), tile.vectors)
    full, left = divmod(problem.group_out_c, tile.rows)
    total = 0.0
    for rows, tiles_of in ((tile.rows, full), (_round_up(left, target.outer_step), bool(left))):
        for vectors, panels in ((tile.vectors, whole), (tail, bool(tail))):
            each = sets * (2 * rows * vectors + BLOCK_OVERHEAD) - rows * vectors
            total += tiles_of * panels * (depth * _step(rows, vectors, target) + each)
    return total


def _packing_cost(problem: ConvProblem, target: Target, slicing: Slicing) -> float:
    """Slots of packing for one group of one image: every panel as often as it is packed again."""
    vectors = problem.group_in_c * math.prod(problem.kernel)
    vectors *= -(-math.prod(problem.out_size) // target.lanes)
    return slicing.packs * vectors * (COPY_SLOTS if problem.is_pointwise else PACK_SLOTS)


@lru_cache(maxsize=4096)
def make_plan(problem: ConvProblem, target: Target, schedule: Schedule | None = None) -> SconvPlan:
    """The cheapest plan over the outer-product tiles, under ``schedule`` if one is given.

    Where one channel fits L1 with none of them, smaller tiles are tried, then farther caches in
    the place of L1: the panels of a very large kernel stream from there.
    """
    caches = target.caches or ASSUMED_CACHES
    while True:
        for shapes in (tiles, smaller_tiles):
            candidates = dict.fromkeys(shapes(problem, target))
            plans = [_plan(problem, target, tile, caches, schedule) for tile in candidates]
            fitting = [plan for plan in plans if plan]
            if fitting:
                return min(fitting, key=lambda plan: plan.cost)
        caches = caches[1:] or (replace(caches[0], size=2 * caches[0].size),)


def _plan(
    problem: ConvProblem,
    target: Target,
    tile: Tile,
    caches: tuple[Cache, ...],
    schedule: Schedule | None,
) -> SconvPlan | None:
    """The plan with one tile; None when not even one channel fits the nearest cache."""
    try:
        slicing = slice_convolution(
            Shape.of(problem),
            tile.vectors * target.lanes,
            tile.rows,
            caches,
            schedule=schedule,
            count_packing=True,
        )
    except ValueError:
        return None
    cost = _compute_cost(problem, target, tile, slicing.channel_sets)
    cost += _packing_cost(problem, target, slicing)
    return SconvPlan(
        slicing=slicing,
        vectors=tile.vectors,
        last_vectors=-(-slicing.last_n_win // target.lanes),
        last_rows=_round_up(slicing.last_n_f, target.outer_step),
        cost=problem.batch * problem.groups * cost,
    )
