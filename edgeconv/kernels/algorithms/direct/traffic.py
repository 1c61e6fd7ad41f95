"""Bytes that the direct convolution moves between neighbouring levels of memory.

The loop nest of its template: images; chunks of output rows; tiles of filters; passes over the
input channels; planes and rows of the chunk; strips.  An operand comes in again for the next round
of a loop as far as it was evicted since its last use (`edgeconv.kernels.algorithms.traffic.lost`),
which depends on what the loops inside have touched meanwhile.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from edgeconv.ir.encoding import FLOAT32
from edgeconv.ir.work import CacheTraffic
from edgeconv.kernels.algorithms.direct.footprint import Input, Output, brought_again
from edgeconv.kernels.algorithms.direct.plan import workspace
from edgeconv.kernels.algorithms.direct.tiles import DirectPlan, filter_tiles
from edgeconv.kernels.algorithms.problem import ConvProblem
from edgeconv.kernels.algorithms.strips import Segment
from edgeconv.kernels.algorithms.traffic import Runs, lost
from edgeconv.target.cache import Cache
from edgeconv.target.targets import Target

FLOAT_BYTES = 4  # of a bias, whatever the rest is stored as


def traffic(problem: ConvProblem, plan: DirectPlan, target: Target) -> tuple[CacheTraffic, ...]:
    """Cache traffic behind each of the target's caches, nearest first, for the whole batch."""
    kinds = _tile_kinds(problem, plan, target)
    found = []
    read = replace(problem, in_as=FLOAT32) if plan.band else problem
    for cache in sorted(target.caches, key=lambda cache: cache.level):
        nest = _Nest(
            problem=problem,
            plan=plan,
            cache=cache,
            lanes=target.lanes,
            channels=plan.channels or problem.in_c,
            **workspace(problem, plan, target, plan.channels),
            stored=Input.of(problem, plan, cache.line),
            input=Input.of(read, plan, cache.line),
            output=Output.of(problem, plan, target, cache.line),
            tiles=tuple(kinds.items()),
        )
        found.append(nest.level_traffic())
    return tuple(found)


@dataclass(frozen=True, slots=True)
class _Tile:
    """Tiles of ``vectors`` of filters that read ``channels`` from ``first`` on (a place in their
    block), the last ``again`` of which the tile before has read too."""

    vectors: int
    first: int
    channels: int
    again: int


def _tile_kinds(problem: ConvProblem, plan: DirectPlan, target: Target) -> Counter[_Tile]:
    """How many tiles there are of each kind."""
    kinds: Counter[_Tile] = Counter()
    block, end = problem.in_layout.block, 0
    for tile in filter_tiles(problem, plan, target):
        again = max(0, min(end, tile.c1) - tile.c0)
        kinds[_Tile(tile.vectors, tile.c0 % block, tile.c1 - tile.c0, again)] += 1
        end = tile.c1
    return kinds


@dataclass(frozen=True, slots=True)
class _Nest:
    """The loops of one image behind one cache."""

    problem: ConvProblem
    plan: DirectPlan
    cache: Cache
    lanes: int
    channels: int  # per pass
    decoded: int  # bytes of the workspace that filters are decoded into, once for all strips
    sums: int  # bytes of the workspace where sums wait between passes
    band: int  # bytes of the workspace that input rows are decoded into, once for all tiles
    stored: Input  # as it lies in memory
    input: Input  # as strips read it
    output: Output
    tiles: tuple[tuple[_Tile, int], ...]

    @property
    def chunks(self) -> int:
        return -(-self.plan.rows // self.plan.chunk)

    @property
    def all_filters(self) -> float:
        """Bytes of all filters whose place some pixel meets."""
        return sum(count * self.filters(tile) for tile, count in self.tiles)

    def filters(self, tile: _Tile) -> float:
        """Bytes of the filters of a tile, padding to whole vectors included."""
        filters = tile.vectors * self.lanes
        taps = tile.channels * math.prod(self.problem.kernel)
        return float(taps * filters * self.problem.filter_bytes)

    def level_traffic(self) -> CacheTraffic:
        """Cache traffic behind the cache for the whole batch."""
        batch, parts = self.problem.batch, [(_TileTraffic(self, t), n) for t, n in self.tiles]
        rounds = batch * self.chunks
        met_again = (rounds - 1) * self._chunk_lost() * self.met
        filters = sum(n * p.filters * (1 + met_again) for p, n in parts)
        streamed = batch * sum(n * p.streamed() for p, n in parts)
        waiting = batch * sum(n * p.waiting() for p, n in parts)
        packed, written = self.sums + waiting, waiting
        if self.decoded:
            lost = max(p.strip_lost for p, _ in parts)
            written += rounds * lost * sum(n * p.decoded for p, n in parts)
            packed += self.decoded + streamed
        else:
            filters += streamed
        output = self.output.bytes + sum(n * p.sums() for p, n in parts)
        output += max(p.split_lost() for p, _ in parts) * self.output.split(
            parts[0][0].tile_filters
        )
        again = batch * sum(n * p.input() for p, n in parts)  # by strips
        if self.band:
            evicted = max(p.band_lost() for p, _ in parts) * self.band
            packed += again + self.band + (rounds - 1) * evicted
            written += rounds * evicted
            again = 0.0
        return CacheTraffic(
            level=self.cache.level,
            input=batch * self._image(parts) + again,
            packed=packed,
            filters=filters,
            output_reads=batch * (output - self.output.bytes),
            packed_writes=written,
            output_writes=batch * output,
        )

    def _image(self, tiles: Sequence[tuple[_TileTraffic, int]]) -> float:
        """Lines of the input that come in for the first time, and rows that two chunks read."""
        whole = self.stored.sweep(self.plan.rows)
        image = max(self.stored.covering(whole), whole.bytes)
        halo = max(0.0, self.chunked(self.stored) - image)
        return image + halo * max(p.halo_lost() for p, _ in tiles)

    @property
    def met(self) -> float:
        """The share of the kernel's rows that an output row meets in the input, on average."""
        return self.input.depth.met * self.input.height.met

    def chunked(self, channels: Input) -> float:
        """Lines of these channels of the image, chunk by chunk."""
        return self.chunks * channels.covering(channels.sweep(self.plan.chunk))

    def lost(self, own: Runs, *others: Runs) -> float:
        """See `edgeconv.kernels.algorithms.traffic.lost`."""
        return lost(self.cache, own, *others)

    def _chunk_lost(self) -> float:
        """The share of the filters evicted from one chunk to the next."""
        chunk = self.plan.chunk
        if sum(count for _, count in self.tiles) == 1 and self.channels >= self.problem.in_c:
            return _TileTraffic(self, self.tiles[0][0]).strip_lost  # nothing else comes between
        filters, sums = Runs(1, self.all_filters), Runs(1, self.sums)
        return self.lost(filters, self.input.sweep(chunk), self.output.sweep(chunk), sums)


class _TileTraffic:
    """One tile of filters; all results are bytes per image."""

    def __init__(self, nest: _Nest, tile: _Tile) -> None:
        plan = nest.plan
        self.nest, self.tile = nest, tile
        own_tail = bool(plan.tail_segments) and tile.vectors == plan.tail_vectors
        self.cut: tuple[Segment, ...] = plan.tail_segments if own_tail else plan.segments
        self.strips = sum(s.count for s in self.cut)
        self.passes = -(-tile.channels // nest.channels)
        self.tile_filters = tile.vectors * nest.lanes
        self.filters = nest.filters(tile)
        self.input_all = nest.input.some(tile.channels, tile.first)
        self.input_pass = nest.input.some(min(nest.channels, tile.channels), tile.first)
        self.output = nest.output.some(tile.vectors)
        self.pixels = max(s.rows for s in self.cut)
        # The operands of a strip beside its input: filters of a pass as it reads them, bias, sums
        # written and read.
        self.decoded = FLOAT_BYTES / nest.problem.filter_bytes * self.filters
        self.read = self.decoded if nest.decoded else self.filters
        self.held = Runs(1, self.read / self.passes)
        self.bias = Runs(1, FLOAT_BYTES * self.tile_filters)
        self.apart = nest.sums > 0 and self.passes > 1
        self.strip_lost = self._strip_lost()

    def _written(self, pixels: int) -> Runs:
        """What most passes write of these neighbouring pixels."""
        return self._sums(pixels) if self.apart else self.output.pixels(pixels)

    def _sums(self, pixels: int) -> Runs:
        """Where their sums wait between passes, if not in the output."""
        return Runs(1, FLOAT_BYTES * self.tile_filters * pixels if self.apart else 0)

    @property
    def _all_sums(self) -> Runs:
        """The sums of all rows of a chunk."""
        plan = self.nest.plan
        return self._sums(plan.planes * plan.chunk * plan.row)

    def _results(self, pixels: int) -> tuple[Runs, ...]:
        return (self._written(pixels),) * min(self.passes, 2)

    def _strip_lost(self) -> float:
        """The share of the filters evicted from one strip to the next."""
        strip, results = self.input_pass.strip(self.pixels), self._results(self.pixels)
        return self.nest.lost(self.held, strip, self.bias, *results)

    def streamed(self) -> float:
        """Filters read again strip by strip: as they are stored, or decoded."""
        plan = self.nest.plan
        strips = plan.planes * plan.rows * self.strips - self.nest.chunks
        return strips * self.strip_lost * self.nest.met * self.read

    def input(self) -> float:
        """Input that comes in again for this tile."""
        nest, plan, some = self.nest, self.nest.plan, self.input_all
        again = self.tile.again / self.tile.channels * self._tile_lost() * nest.chunked(some)
        # By ever larger parts of the image whose neighbours share nothing.
        planes = plan.planes
        strips = self.strips * plan.rows * planes * some.covering(some.strip(self.pixels))
        rows = plan.rows * planes * some.covering(some.rows(1))
        chunks = nest.chunks * planes * some.covering(some.rows(plan.chunk))
        whole = nest.chunked(some)
        return (
            again
            + max(0.0, strips - rows) * self._column_lost()
            + max(0.0, rows - chunks) * self._row_lost()
            + max(0.0, chunks - whole) * self._plane_lost()
            + self._met_again()
        )

    def _met_again(self) -> float:
        """Lines that fall in so few sets that they are evicted from one step to the next."""
        nest, plan = self.nest, self.nest.plan
        share = brought_again(nest.input, self.pixels, self.tile_filters, nest.cache, nest.problem)
        if not share:
            return 0.0
        steps = self.tile.channels * math.prod(nest.problem.kernel) * nest.met
        pixels = plan.planes * plan.rows * sum(s.count * s.rows for s in self.cut)
        return share * steps * pixels * nest.cache.line

    def _column_lost(self) -> float:
        """The share of the input evicted from one strip to the next."""
        strip = self.input_pass.strip(self.pixels)
        return self.nest.lost(strip, self.held, self.bias, *self._results(self.pixels))

    def _row_lost(self) -> float:
        """The share of the input that is lost from one row to the next that reads it."""
        rows = min(self.nest.input.height.sharing, self.nest.plan.chunk)
        some, row = self.input_pass.rows(rows), self._written(rows * self.nest.plan.row)
        return self.nest.lost(some, self.held, row)

    def _plane_lost(self) -> float:
        """The share of the input that is lost from one plane to the next."""
        chunk = self.nest.plan.chunk
        row = self._written(chunk * self.nest.plan.row)
        return self.nest.lost(self.input_pass.rows(chunk), self.held, row)

    def _tile_lost(self) -> float:
        """The share of the input that is lost from one tile to the next."""
        chunk, filters = self.nest.plan.chunk, Runs(1, self.filters)
        image, output = self.input_all.sweep(chunk), self.output.sweep(chunk)
        return self.nest.lost(image, filters, output, self._all_sums)

    def band_lost(self) -> float:
        """The share of decoded rows evicted before those of the next chunk take their place."""
        return self._tile_lost()

    def halo_lost(self) -> float:
        """The share of the rows that two chunks read evicted from one to the other."""
        nest, chunk = self.nest, self.nest.plan.chunk
        if nest.problem.groups > 1:  # all the other groups come between
            filters, output = Runs(1, nest.all_filters), nest.output.sweep(chunk)
            return nest.lost(nest.input.sweep(chunk), filters, output)
        if nest.band or self.passes > 1 or nest.plan.planes > 1:
            return self._tile_lost()
        some, row = self.input_pass.rows(1), self.output.pixels(nest.plan.row)
        return nest.lost(some, self.held, self.held, row)

    def sums(self) -> float:
        """Output that comes in again: between passes, and lines that two strips share."""
        nest, passes = self.nest, 1 if self.apart else self.passes
        again = (passes - 1) * self._wait_lost(self.output.sweep(nest.plan.chunk))
        strip = self.input_pass.strip(self.pixels)
        straddled = nest.lost(self.output.pixels(self.pixels), self.held, strip)
        return again * self.output.bytes + passes * straddled * self.output.straddled(self.cut)

    def waiting(self) -> float:
        """Sums that come in again between passes, from a workspace."""
        sums = self._all_sums
        again = (self.passes - 1) * self._wait_lost(sums) if self.apart else 0.0
        return self.nest.chunks * again * sums.bytes

    def _wait_lost(self, sums: Runs) -> float:
        """The share of the sums under a chunk evicted from one pass to the next."""
        return self.nest.lost(sums, self.held, self.input_pass.sweep(self.nest.plan.chunk))

    def split_lost(self) -> float:
        """The share of output evicted from one tile to the next."""
        chunk, filters = self.nest.plan.chunk, Runs(1, self.filters)
        image, output = self.input_all.sweep(chunk), self.output.sweep(chunk)
        return self.nest.lost(output, filters, image, self._all_sums)
