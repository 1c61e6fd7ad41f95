"""Bytes that a sliced convolution moves between neighbouring levels of memory.

Apart from the paper's cost model, which chooses a schedule: that one divides in real numbers,
takes packed tiles for the input, and leaves outputs out.  This one counts whole tiles with their
remainders, and decides by reuse distance what is still in a cache when it is wanted again: a cache
that replaces the line unused for longest holds an item exactly if the distinct bytes touched since
fit into it.  Conflicts between lines are left out.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from edgeconv.ir.work import CacheTraffic
from edgeconv.kernels.algorithms.sconv.search import ceil_div
from edgeconv.kernels.algorithms.sconv.shape import Shape
from edgeconv.kernels.algorithms.sconv.slicing import Slicing
from edgeconv.target.cache import Cache


def traffic(
    slicing: Slicing, shape: Shape, caches: Sequence[Cache], groups: int = 1, batch: int = 1
) -> tuple[CacheTraffic, ...]:
    """Cache traffic behind each of ``caches``, nearest first, for ``groups`` such convolutions of
    each of ``batch`` images, one after the other in the same packed tiles."""
    return tuple(
        _cache_traffic(slicing, shape, cache, groups, batch)
        for cache in sorted(caches, key=lambda c: c.level)
    )


def _cache_traffic(
    slicing: Slicing, shape: Shape, cache: Cache, groups: int, batch: int
) -> CacheTraffic:
    full = slicing.channel_sets - 1
    sets = [(full, _Set(slicing, shape, cache, slicing.nc))] if full else []
    sets.append((1, _Set(slicing, shape, cache, slicing.last_nc)))
    rounds = groups * batch
    packed = [(rounds * times * s.packed_bytes * slicing.packs, s) for times, s in sets]
    packed_total = sum(size for size, _ in packed)
    cold = min(slicing.workspace, packed_total)
    again = 1 - cold / packed_total
    first = sets[0][1]
    passes = 1 + full * first.lost(first.across_set())
    output = passes * first.output_of_set()
    # Filters come in again for the next image unless everything has fitted.
    image = groups * shape.compulsory_bytes + slicing.workspace
    # Tiles come in as they are stored, and are decoded to where the micro-kernel finds them near.
    stored = shape.filter_element / shape.element_bytes
    images = 1 + (batch - 1) * (image > cache.size)
    return CacheTraffic(
        level=cache.level,
        input=rounds * sum(times * s.input() for times, s in sets),
        packed=cold
        + sum(again * size * s.repacks_lost() for size, s in packed)
        + rounds * sum(times * s.packed_reads() for times, s in sets),
        filters=stored * groups * images * sum(times * s.filters() for times, s in sets),
        output_reads=rounds * (output - shape.output_bytes),
        packed_writes=sum(size * s.packed_lost() for size, s in packed),
        output_writes=rounds * output,
    )


@dataclass(frozen=True, slots=True)
class _Set:
    """One channel set of ``channels`` behind one cache; all results are bytes per set."""

    slicing: Slicing
    shape: Shape
    cache: Cache
    channels: int

    # Sizes

    @property
    def panel(self) -> int:
        """Packed bytes of one pixel or of one filter."""
        return self.channels * self.shape.taps * self.shape.element_bytes

    @property
    def packed_bytes(self) -> int:
        """Every packed input tile once."""
        return self.shape.pixels * self.panel

    @property
    def all_filters(self) -> int:
        return self.shape.out_c * self.panel

    def some_packed(self, tiles: int) -> int:
        """Packed input tiles."""
        return min(tiles * self.slicing.n_win * self.panel, self.packed_bytes)

    def some_filters(self, tiles: int) -> int:
        """Filter tiles."""
        return min(tiles * self.slicing.n_f * self.panel, self.all_filters)

    @property
    def in_tile(self) -> int:
        return self.some_packed(1)

    @property
    def filter_tile(self) -> int:
        return self.some_filters(1)

    @property
    def row(self) -> int:
        """Output pixels of a row."""
        return self.shape.window.out_size[2] if self.shape.window else self.shape.pixels

    def unpacked(self, pixels: float) -> float:
        """The lines of the unpacked image under neighbouring output pixels."""
        run = min(max(round(pixels), 1), self.shape.pixels)
        return self.channels * self.shape.run_bytes(run, self.cache.line)

    def out(self, in_tiles: float, filter_tiles: int) -> float:
        """Lines of the output under neighbouring tiles."""
        pixels = min(in_tiles * self.slicing.n_win, self.shape.pixels)
        filters = min(filter_tiles * self.slicing.n_f, self.shape.out_c)
        return filters * (pixels * self.shape.out_element + self.slack(pixels))

    def slack(self, run: float) -> int:
        """Bytes of other runs in the lines of a run of output pixels, on average."""
        size, line = self.shape.out_element, self.cache.line
        return line - math.gcd(round(run) * size, self.shape.pixels * size, line)

    # Reuse distances: the distinct bytes touched between two uses

    def across_group(self) -> float:
        """The reuse distance of the streaming tile, from one stationary tile of a group to the
        next."""
        return self.in_tile + self.filter_tile + self.out(1, 1)

    def across_stream(self) -> tuple[float, float]:
        """The reuse distances of a stationary tile, from one streaming tile to the next: its first
        and last line.

        With several tiles in the group, all of the streaming tile has passed and, towards the last
        line, more and more of the next one.
        """
        s = self.slicing
        if s.input_stationary:
            held, passing = self.some_packed(s.k1) + self.out(s.k1, 1), self.filter_tile
        else:
            held, passing = self.some_filters(s.k1) + self.out(1, s.k1), self.in_tile
        return held + passing, held + min(s.k1, 2) * passing

    def across_groups(self) -> float:
        """The reuse distances of a streaming tile, from one group of stationary tiles to the
        next."""
        s = self.slicing
        if s.input_stationary:
            held = self.some_packed(s.k1) + self.some_filters(s.k2) + self.out(s.k1, s.k2)
            return held + self.unpacked(s.k1 * s.n_win)
        return self.some_filters(s.k1) + self.some_packed(s.k2) + self.out(s.k2, s.k1)

    def across_chunk(self) -> float:
        """The reuse distance of what a chunk of streaming tiles passes over, until the next chunk
        does."""
        s = self.slicing
        if s.input_stationary:
            held = (
                self.some_packed(s.packed_tiles)
                + 2 * self.some_filters(s.k2)
                + self.out(s.k3, s.k2)
            )
            return held + self.unpacked(s.k3 * s.n_win)
        held = self.some_packed(s.packed_tiles) + self.some_filters(s.k3) + self.out(s.k2, s.k3)
        return held + self.unpacked(s.k2 * s.n_win)

    def across_stationary_chunk(self) -> float:
        """The reuse distance of the streaming operand, from one chunk of stationary tiles to the
        next."""
        s = self.slicing
        if s.input_stationary:
            held = (
                self.some_packed(s.packed_tiles) + self.all_filters + self.out(s.k3, s.filter_tiles)
            )
            return held + self.unpacked(s.k3 * s.n_win)
        held = (
            self.some_packed(s.packed_tiles)
            + 2 * self.some_filters(s.k3)
            + self.out(s.in_tiles, s.k3)
        )
        return held + self.unpacked(self.shape.pixels)

    def across_rows(self) -> float:
        """Input stationary: of an input row, from the packing for one output row to the next."""
        s = self.slicing
        tiles = max(s.k1, self.row / s.n_win)
        held = self.some_packed(s.packed_tiles) + self.some_filters(s.k2) + self.out(tiles, s.k2)
        return held + self.unpacked(tiles * s.n_win)

    def across_set(self) -> float:
        """The reuse distances of the output, from one channel set to the next.

        The filters that every group passes are touched in both sets, the rest in one or the other.
        """
        s, share = self.slicing, self.shape.in_c / self.slicing.channel_sets / self.channels
        if s.input_stationary:
            filters = self.all_filters + self.some_filters(s.k2)
        else:
            filters = self.all_filters + (self.some_filters(s.k3) if s.streaming_chunks > 1 else 0)
        passing = share * (self.unpacked(self.shape.pixels) + filters)
        return passing + self.some_packed(s.packed_tiles) + self.shape.output_bytes

    def lost(self, least: float, most: float | None = None) -> float:
        """The share of lines evicted when reuse distances run from ``least`` to ``most``."""
        room, most = self.cache.size - least, max(least, most or least)
        if room < 0 or least + room >= most:
            return float(room < 0)
        return 1 - room / (most - least)

    # Traffic

    def filters(self) -> float:
        """Filters read."""
        s = self.slicing
        if s.input_stationary:
            return self._streamed() * self.all_filters
        within = (s.in_tiles - s.streaming_chunks) * self.lost(*self.across_stream())
        between = (s.streaming_chunks - 1) * self.lost(self.across_chunk())
        return (1 + within + between) * self.all_filters

    def _streamed(self) -> float:
        """How often the streaming operand comes in, the first time included."""
        s = self.slicing
        groups = ceil_div(s.stationary[0], s.k1)
        chunks = s.stationary_chunks if s.streaming_chunks > 1 else 1
        return (
            1
            + (s.stationary[0] - groups) * self.lost(self.across_group())
            + (groups - chunks) * self.lost(self.across_groups())
            + (chunks - 1) * self.lost(self.across_stationary_chunk())
        )

    def packed_lost(self) -> float:
        """The share of packed lines that are evicted in use or before they are packed anew."""
        s = self.slicing
        used = self.across_stream() if s.input_stationary else (self.across_groups(),)
        return max(self.lost(*used), self.repacks_lost() if s.channel_sets * s.packs > 1 else 0)

    def packed_reads(self) -> float:
        """Packed tiles read again after they were evicted."""
        s = self.slicing
        if s.input_stationary:
            return s.filter_tiles * self.lost(*self.across_stream()) * self.packed_bytes
        groups = ceil_div(s.filter_tiles, s.k1)
        within = (s.filter_tiles - groups) * self.lost(self.across_group())
        return (within + groups * self.lost(self.across_groups())) * self.packed_bytes

    def repacks_lost(self) -> float:
        """The share of the packed tiles' memory that is evicted before it is packed anew.

        In between, less of the last micro-kernels' operands and more of the image is touched the
        further back a line lies.
        """
        s = self.slicing
        image = self.unpacked(s.packed_tiles * s.n_win)
        if s.input_stationary:
            both = self.filter_tile if s.k1 > 1 else 0
            held = both + self.some_packed(s.k1) + self.out(s.k1, 1)
            passing = float(self.filter_tile - both)
        else:
            held = float(self.some_packed(s.k2) + self.some_filters(s.k1))
            passing = self.out(s.k2, s.k1)
        return self.lost(held + min(passing, image), held + max(passing, image))

    def input(self) -> float:
        """Unpacked image read."""
        s = self.slicing
        group = s.packed_tiles * s.n_win
        # Runs of pixels whose packing reads what they share but once, if the distance fits.
        scopes = [(min(group, self.row), self.in_tile + self.unpacked(s.n_win))]
        if group > self.row:
            tiles = self.row / s.n_win
            scopes.append((group, self.unpacked(self.row) + tiles * self.in_tile))
        if s.input_stationary:
            chunk = self.shape.pixels if s.streaming_chunks == 1 else s.k3 * s.n_win
            scopes += [(self.row, self.across_groups()), (chunk, self.across_rows())]
            again = self.across_chunk()
        else:
            scopes.append((self.shape.pixels, self.across_chunk()))
            again = self.across_stationary_chunk()
        runs = [s.n_win, *(run for run, distance in scopes if not self.lost(distance))]
        once = max(self.unpacked(self.shape.pixels), min(map(self._in_runs, runs)))
        return once * (1 + (s.packs - 1) * self.lost(again))

    def _in_runs(self, run: int) -> float:
        """The unpacked image, in runs of output pixels that share nothing between them."""
        whole, rest = divmod(self.shape.pixels, run)
        return whole * self.unpacked(run) + (self.unpacked(rest) if rest else 0)

    def output_of_set(self) -> float:
        """Output lines touched by one set."""
        s = self.slicing
        if s.input_stationary:
            scopes = [(s.k1, self.across_group()), (s.in_tiles, self.across_groups())]
        else:
            scopes = [(s.k2, self.across_stream()[1]), (s.in_tiles, self.across_chunk())]
        held = [1, *(tiles for tiles, distance in scopes if not self.lost(distance))]
        return min(map(self._out_runs, held))

    def _out_runs(self, tiles: int) -> float:
        """The output, in runs of ``tiles`` pixel tiles that share no line."""
        run = min(tiles * self.slicing.n_win, self.shape.pixels)
        runs = ceil_div(self.shape.pixels, run)
        slack = self.slack(run) if runs > 1 else 0
        return self.shape.output_bytes + self.shape.out_c * runs * slack
