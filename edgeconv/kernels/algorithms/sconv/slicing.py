"""Convolution Slicing Analysis: tile sizes, tiles per cache level, and the stationary operand.

Ferrari et al., "Advancing Direct Convolution using Convolution Slicing Optimization and ISA
Extensions" (2023), Section 4.1.  With its defaults `slice_convolution` is the paper's analysis;
options go beyond it where the paper names its own limits: several stationary tiles in L1
(Section 7.2), the cost of packing (Section 7.7), hierarchies other than three levels.

The loop nest that the numbers describe, for each set of ``nc`` channels:

    input stationary                          weight stationary
    chunks of k3 input tiles                  chunks of k3 filter tiles
      chunks of k2 filter tiles                 chunks of k2 input tiles: pack them all
        groups of k1 input tiles: pack them       groups of k1 filter tiles
          filter tiles of the chunk                 input tiles of the chunk
            input tiles of the group                  filter tiles of the group: micro-kernel
              micro-kernel
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum

from edgeconv.kernels.algorithms.sconv.levels import MEMORY_CYCLES, SHARE, Levels
from edgeconv.kernels.algorithms.sconv.search import Search, ceil_div, last
from edgeconv.kernels.algorithms.sconv.shape import Shape
from edgeconv.target.cache import Cache


class Schedule(Enum):
    """The operand that stays in L1 while tiles of the other one stream past it."""

    INPUT_STATIONARY = "IS"
    WEIGHT_STATIONARY = "WS"


class Residency(Enum):
    """What has to fit in L3 beside ``k3`` stationary tiles and ``k2`` streaming ones."""

    RESIDENT = "resident"  # the output tiles of one stationary tile: gives the paper's Table 2
    PRINTED = "printed"  # those of all of them: Equation 5


@dataclass(frozen=True, slots=True)
class Lines:
    """Cache lines that the cost model counts, by the level they come from (Equations 7 to 14)."""

    l2: float
    l3: float
    memory: float


@dataclass(frozen=True, slots=True)
class Slicing:
    """The tiles of a convolution and the order in which they are taken.

    Sizes in bytes: ``in_bytes`` of a packed input tile (``n_win`` pixels by ``nc`` channels by the
    kernel positions), ``filter_bytes`` of a filter tile (``n_f`` filters), ``out_bytes`` of an
    output tile.  ``last_x`` is the size of the last part where ``x`` does not divide: it equals
    ``x`` where it does.  ``cost`` (Equation 6), its parts for the lines from L2, L3 and memory in
    ``level_costs``, and ``packing_cost`` in cycles.
    """

    n_win: int
    n_f: int
    nc: int
    k1: int
    k2: int
    k3: int
    schedule: Schedule
    in_tiles: int
    filter_tiles: int
    in_bytes: int
    filter_bytes: int
    out_bytes: int
    channel_sets: int
    last_nc: int
    last_k1: int
    last_k2: int
    last_k3: int
    last_n_win: int
    last_n_f: int
    lines: Lines = Lines(0, 0, 0)
    level_costs: tuple[float, float, float] = (0, 0, 0)
    cost: float = 0
    packing_cost: float = 0

    @property
    def input_stationary(self) -> bool:
        """Input tiles stay, filter tiles stream."""
        return self.schedule is Schedule.INPUT_STATIONARY

    @property
    def stationary(self) -> tuple[int, int]:
        """Number and bytes of the tiles of the stationary operand."""
        tiles = (self.in_tiles, self.in_bytes), (self.filter_tiles, self.filter_bytes)
        return tiles[not self.input_stationary]

    @property
    def streaming(self) -> tuple[int, int]:
        """Number and bytes of the tiles of the streaming operand."""
        tiles = (self.in_tiles, self.in_bytes), (self.filter_tiles, self.filter_bytes)
        return tiles[self.input_stationary]

    @property
    def stationary_chunks(self) -> int:
        """Chunks of ``k3`` stationary tiles."""
        return ceil_div(self.stationary[0], self.k3)

    @property
    def streaming_chunks(self) -> int:
        """Chunks of ``k2`` streaming tiles."""
        return ceil_div(self.streaming[0], self.k2)

    @property
    def packed_tiles(self) -> int:
        """Input tiles packed at once."""
        return self.k1 if self.input_stationary else self.k2

    @property
    def packs(self) -> int:
        """How often each input tile is packed per channel set."""
        return self.streaming_chunks if self.input_stationary else self.stationary_chunks

    @property
    def workspace(self) -> int:
        """Bytes of packed input that exist at a time."""
        return self.packed_tiles * self.in_bytes


class NoRoomError(ValueError):
    """Tiles of one channel do not fit: smaller ones, or larger caches, might."""


def slice_convolution(
    shape: Shape,
    n_win: int,
    n_f: int,
    caches: Sequence[Cache],
    *,
    share: float | Sequence[float] = SHARE,
    rule: Residency = Residency.RESIDENT,
    search: Search = Search.BINARY,
    schedule: Schedule | None = None,
    fill_l1: bool = False,
    count_packing: bool = False,
    workspace_limit: int | None = None,
    memory_cycles: int = MEMORY_CYCLES,
) -> Slicing:
    """Slice ``shape`` for micro-kernels of ``n_win`` pixels by ``n_f`` filters.

    ``caches``: the nearest first; up to three levels count.  Without L3 all stationary tiles are
    one chunk, without L2 all streaming tiles too, and what the absent level would deliver comes
    from memory.  ``share`` of each level (one number, or one per level) is for tiles; a scratchpad
    has share 1 and its unit of transfer as ``line``.  ``fill_l1`` puts as many stationary tiles
    into L1 as fit.  ``count_packing`` adds `Slicing.packing_cost` to the cost by which the
    schedule is chosen unless ``schedule`` names one.  ``workspace_limit`` bounds
    `Slicing.workspace` (bytes).

    Raises NoRoomError when tiles of one channel do not fit: smaller register tiles are the way out.
    """
    levels = Levels.of(caches, share, memory_cycles)
    options = _Options(rule, search, fill_l1, workspace_limit)
    wanted = (schedule,) if schedule else tuple(Schedule)
    sliced = [_slice(shape, n_win, n_f, levels, options, entry) for entry in wanted]
    return min(sliced, key=lambda s: s.cost + count_packing * s.packing_cost)


@dataclass(frozen=True, slots=True)
class _Options:
    rule: Residency
    search: Search
    fill_l1: bool
    workspace_limit: int | None

    def workspace_fits(self, size: int) -> bool:
        return self.workspace_limit is None or size <= self.workspace_limit


def _channels(shape: Shape, n_win: int, n_f: int, levels: Levels, options: _Options) -> int:
    """Nc: the channels of which one tile of each operand fits L1 (Equation 2)."""
    step = shape.taps * shape.element_bytes
    out = n_win * n_f * shape.element_bytes

    def fits(nc: int) -> bool:
        tiles = (n_win + n_f) * nc * step + out
        return tiles <= levels.budgets[0] and options.workspace_fits(n_win * nc * step)

    nc = options.search.largest(shape.in_c, fits)
    if nc == 0:
        limit = options.workspace_limit
        raise NoRoomError(
            f"one channel of tiles of {n_win} pixels and {n_f} filters with {shape.taps} kernel "
            f"positions needs {(n_win + n_f) * step + out} bytes of the nearest memory and a "
            f"workspace of {n_win * step}: the limits are {levels.budgets[0]} and "
            f"{'none' if limit is None else limit}"
        )
    return nc


def _slice(
    shape: Shape, n_win: int, n_f: int, levels: Levels, options: _Options, schedule: Schedule
) -> Slicing:
    """The slicing under one schedule."""
    nc = _channels(shape, n_win, n_f, levels, options)
    panel = nc * shape.taps * shape.element_bytes
    inputs = ceil_div(shape.pixels, n_win), n_win * panel
    filters = ceil_div(shape.out_c, n_f), n_f * panel
    packs_early = schedule is Schedule.WEIGHT_STATIONARY
    stationary, streaming = (filters, inputs) if packs_early else (inputs, filters)
    out = n_win * n_f * shape.element_bytes
    counts = _counts(stationary, streaming, out, levels, options, packs_early=packs_early)
    return sliced_as(shape, n_win, n_f, nc, counts, schedule, levels)


def sliced_as(
    shape: Shape,
    n_win: int,
    n_f: int,
    nc: int,
    counts: tuple[int, int, int],
    schedule: Schedule,
    levels: Levels,
) -> Slicing:
    """The slicing with the given sizes, and ``counts`` (K1, K2, K3), whether they fit or not."""
    k1, k2, k3 = counts
    panel = nc * shape.taps * shape.element_bytes
    in_tiles, filter_tiles = ceil_div(shape.pixels, n_win), ceil_div(shape.out_c, n_f)
    stationary, streaming = in_tiles, filter_tiles
    if schedule is Schedule.WEIGHT_STATIONARY:
        stationary, streaming = filter_tiles, in_tiles
    last_k3 = last(stationary, k3)
    sliced = Slicing(
        n_win=n_win,
        n_f=n_f,
        nc=nc,
        k1=k1,
        k2=k2,
        k3=k3,
        schedule=schedule,
        in_tiles=in_tiles,
        filter_tiles=filter_tiles,
        in_bytes=n_win * panel,
        filter_bytes=n_f * panel,
        out_bytes=n_win * n_f * shape.element_bytes,
        channel_sets=ceil_div(shape.in_c, nc),
        last_nc=last(shape.in_c, nc),
        last_k1=last(last_k3, k1),
        last_k2=last(streaming, k2),
        last_k3=last_k3,
        last_n_win=last(shape.pixels, n_win),
        last_n_f=last(shape.out_c, n_f),
    )
    lines = _lines(sliced, shape, levels)
    costs = (
        levels.price(1) * lines.l2,
        levels.price(2) * lines.l3,
        levels.price(3) * lines.memory,
    )
    return replace(
        sliced,
        lines=lines,
        level_costs=costs,
        cost=sum(costs),
        packing_cost=_packing_cycles(sliced, shape, levels),
    )


def _counts(
    stationary: tuple[int, int],
    streaming: tuple[int, int],
    out: int,
    levels: Levels,
    options: _Options,
    *,
    packs_early: bool,
) -> tuple[int, int, int]:
    """K1, K2 and K3 (Equations 4 and 5) of operands given as (tiles, bytes of one).

    ``packs_early``: the streaming operand is the input, packed K2 tiles at once.  K3 is a multiple
    of K1 unless it covers everything, so that only one group of a channel set is short.
    """
    (count, size), (passing, passing_size) = stationary, streaming
    budgets, largest = levels.budgets, options.search.largest

    def in_l1(k1: int) -> bool:
        # All of one streaming tile and, of the next, what comes before the oldest stationary line
        # is wanted: with k1 = 1 the two make one tile.
        room = packs_early or options.workspace_fits(k1 * size)
        return room and k1 * (size + out) + min(k1, 2) * passing_size <= budgets[0]

    k1 = max(1, largest(count, in_l1)) if options.fill_l1 else 1

    def in_l2(k2: int) -> bool:
        room = not packs_early or options.workspace_fits(k2 * passing_size)
        held = k1 * size + k2 * (passing_size + k1 * out)
        return room and (len(budgets) < 2 or held <= budgets[1])

    k2 = max(1, largest(passing, in_l2))

    def in_l3(groups: int) -> bool:
        tiles = min(count, groups * k1)
        results = k2 * out * (k1 if options.rule is Residency.RESIDENT else tiles)
        held = tiles * size + k2 * passing_size + results
        return len(budgets) < 3 or held <= budgets[2]

    k3 = min(count, k1 * max(1, largest(ceil_div(count, k1), in_l3)))
    return k1, k2, k3


def _lines(sliced: Slicing, shape: Shape, levels: Levels) -> Lines:
    """Equations 7 to 14, in real numbers as printed; an absent level's lines are memory's.

    Equation 14 has K1 = 1, where all of the other operand streams past every stationary tile.  It
    streams once per group of K1 of them.
    """
    (count, size), (passing, passing_size) = sliced.stationary, sliced.streaming
    per_set = shape.in_c / sliced.nc / levels.line
    everything, stream = count * size, passing * passing_size
    reloads = passing / sliced.k2 - 1
    l2 = per_set * (ceil_div(count, sliced.k1) - 1) * stream
    l3 = per_set * reloads * everything
    evicted = min(reloads, 1) * (count / sliced.k3 - 1) * stream
    memory = per_set * (everything + stream + evicted)
    absent = (l2 if len(levels.budgets) < 2 else 0) + (l3 if len(levels.budgets) < 3 else 0)
    return Lines(
        l2=l2 if len(levels.budgets) >= 2 else 0,
        l3=l3 if len(levels.budgets) >= 3 else 0,
        memory=memory + absent,
    )


def _packing_cycles(sliced: Slicing, shape: Shape, levels: Levels) -> float:
    """Cycles of packing: lines read of the unpacked image, lines written of packed tiles.

    Each line counts at the price of the level that holds it.  The image comes from memory once per
    channel set; what is read again (for every pack after the first, and where chunks overlap) from
    L3.  Packed tiles are written to L1 if the tiles packed at once fit there beside their partners;
    to L2 if these are all the tiles there are; else to the level behind L2, because they take all
    of L2's share and the image read for the next chunk displaces them.
    """
    line, held = levels.line, sliced.packed_tiles
    chunk = sliced.k3 if sliced.input_stationary else sliced.k2
    chunks = ceil_div(sliced.in_tiles, chunk)
    run = min(shape.pixels, chunk * sliced.n_win)
    first = sliced.nc * shape.plane_bytes(line)
    read = sliced.packs * chunks * sliced.nc * shape.run_bytes(run, line)
    partners = sliced.filter_bytes + held * sliced.out_bytes
    if held * sliced.in_bytes + partners <= levels.budgets[0]:
        level = 0
    else:
        level = 1 if held == sliced.in_tiles else 2
    written = sliced.packs * sliced.in_tiles * sliced.in_bytes
    cycles = (
        first * levels.price(3)
        + max(0.0, read - first) * levels.price(2)
        + written * levels.price(level)
    )
    return shape.in_c / sliced.nc * cycles / line
