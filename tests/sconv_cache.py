"""The lines that a sliced convolution touches, played through caches that replace the line unused
for longest: the oracle of `edgeconv.kernels.algorithms.sconv.traffic`."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence

from edgeconv.kernels.algorithms.sconv.shape import Shape, Window
from edgeconv.kernels.algorithms.sconv.slicing import Slicing
from edgeconv.target.cache import Cache

# Bits above which an operand's own addresses end.
OPERAND = 1 << 40
IMAGE, PANEL, FILTERS, OUTPUT = (n * OPERAND for n in range(1, 5))


def hierarchy(*sizes: int, line: int = 64) -> tuple[Cache, ...]:
    """Caches of so many KiB, the nearest first."""
    return tuple(Cache(n, size * 1024, line) for n, size in enumerate(sizes, 1))


def slice_first(
    shape: Shape,
    tiles: Iterable[tuple[int, int]],
    slicer: Callable[[Shape, int, int], Slicing],
) -> Slicing:
    """The slicing for the first of ``tiles``, pairs (n_win, n_f), of which one channel fits.

    ``slicer`` is `slice_convolution` with all but its first three arguments bound.  Raises
    ValueError when none fits, with the reason of the last.
    """
    reason = "no register tile given"
    for n_win, n_f in tiles:
        try:
            return slicer(shape, n_win, n_f)
        except ValueError as error:
            reason = str(error)
    raise ValueError(reason)


class LruCache:
    """``ways`` lines per set, all of the cache's with 0.  Counts the lines brought in and the
    changed lines that leave, by operand."""

    def __init__(self, cache: Cache, ways: int = 0) -> None:
        lines = cache.size // cache.line
        self.ways = ways or lines
        self.sets: list[dict[int, bool]] = [{} for _ in range(lines // self.ways)]
        self.misses = dict.fromkeys((IMAGE, PANEL, FILTERS, OUTPUT), 0)
        self.evicted = dict.fromkeys((IMAGE, PANEL, FILTERS, OUTPUT), 0)

    def touch(self, operand: int, line: int, changes: bool) -> None:
        """Read or change a line of an operand."""
        held = self.sets[line % len(self.sets)]
        key = operand + line
        was = held.pop(key, None)
        if was is None:
            self.misses[operand] += 1
            if len(held) == self.ways:
                oldest = next(iter(held))
                if held.pop(oldest):
                    self.evicted[oldest // OPERAND * OPERAND] += 1
        held[key] = changes or bool(was)

    def flush(self) -> None:
        """Let every changed line of the output leave."""
        for held in self.sets:
            for key, changed in held.items():
                operand = key // OPERAND * OPERAND
                self.evicted[operand] += changed and operand == OUTPUT


def simulate(
    slicing: Slicing, shape: Shape, caches: Sequence[Cache], ways: int = 0
) -> list[LruCache]:
    """Play the whole convolution through each of ``caches`` on its own.

    That each cache sees every access, not only the misses of the one in front of it, changes
    nothing about what is in it but the age of lines in both.
    """
    line = caches[0].line
    played = [LruCache(cache, ways) for cache in caches]
    for operand, at, changes in accesses(slicing, shape, line):
        for cache in played:
            cache.touch(operand, at, changes)
    for cache in played:
        cache.flush()
    return played


Access = tuple[int, int, bool]


def accesses(s: Slicing, shape: Shape, line: int) -> Iterator[Access]:
    """(operand, line, changes it) in the order of the loop nest of ``slicing``."""
    panel_step = s.in_bytes
    for first in range(0, shape.in_c, s.nc):
        nc = min(s.nc, shape.in_c - first)
        depth = nc * shape.taps * shape.element_bytes

        def pack(tile: int, slot: int, first: int = first, nc: int = nc) -> Iterator[Access]:
            return _pack(s, shape, line, tile, slot * panel_step, range(first, first + nc))

        def call(
            tile: int, slot: int, filters: int, first: int = first, depth: int = depth
        ) -> Iterator[Access]:
            at = first * shape.taps * shape.element_bytes * shape.out_c + filters * s.n_f * depth
            pixels = s.last_n_win if tile == s.in_tiles - 1 else s.n_win
            width = s.last_n_f if filters == s.filter_tiles - 1 else s.n_f
            yield from _panels(slot * panel_step, pixels * depth, at, width * depth, line)
            yield from _store(s, shape, line, tile, filters)

        stationary, streaming = s.stationary[0], s.streaming[0]
        for k3, k2 in itertools.product(range(0, stationary, s.k3), range(0, streaming, s.k2)):
            own = range(k3, min(k3 + s.k3, stationary))
            passing = range(k2, min(k2 + s.k2, streaming))
            if not s.input_stationary:
                for tile in passing:
                    yield from pack(tile, tile - k2)
            for start in range(own.start, own.stop, s.k1):
                group = range(start, min(start + s.k1, own.stop))
                if s.input_stationary:
                    for tile in group:
                        yield from pack(tile, tile - start)
                for stream, tile in itertools.product(passing, group):
                    if s.input_stationary:
                        yield from call(tile, tile - start, stream)
                    else:
                        yield from call(stream, stream - k2, tile)


def _pack(
    s: Slicing, shape: Shape, line: int, tile: int, at: int, channels: range
) -> Iterator[Access]:
    """Read the image under a tile channel by channel, write its panel."""
    size = shape.element_bytes
    pixels = range(tile * s.n_win, min((tile + 1) * s.n_win, shape.pixels))
    w = shape.window or Window((1, 1, shape.pixels), (1, 1, shape.pixels), (1, 1, 1))
    plane = w.in_size[0] * w.in_size[1] * w.in_size[2]
    pieces = [list(g) for _, g in itertools.groupby(pixels, key=lambda p: p // w.out_size[2])]
    for channel in channels:
        for kd, kh in itertools.product(range(w.kernel[0]), range(w.kernel[1])):
            for piece in pieces:
                rows, column = divmod(piece[0], w.out_size[2])
                z, y = divmod(rows, w.out_size[1])
                iz = z * w.strides[0] + kd * w.dilations[0] - w.pads[0]
                iy = y * w.strides[1] + kh * w.dilations[1] - w.pads[1]
                lo = column * w.strides[2] - w.pads[2]
                hi = lo + (len(piece) - 1) * w.strides[2] + w.reach[2]
                lo, hi = max(lo, 0), min(hi, w.in_size[2])
                if 0 <= iz < w.in_size[0] and 0 <= iy < w.in_size[1] and lo < hi:
                    row = channel * plane + (iz * w.in_size[1] + iy) * w.in_size[2]
                    for n in range((row + lo) * size // line, ((row + hi) * size - 1) // line + 1):
                        yield IMAGE, n, False
            written = w.kernel[2] * len(pixels) * size
            for n in range(at // line, (at + written - 1) // line + 1):
                yield PANEL, n, True
            at += written


def _panels(panel: int, panel_size: int, filters: int, size: int, line: int) -> Iterator[Access]:
    """Both panels of a micro-kernel side by side."""
    left = range(panel // line, (panel + panel_size - 1) // line + 1)
    right = range(filters // line, (filters + size - 1) // line + 1)
    steps = max(len(left), len(right))
    for step in range(steps):
        for operand, lines in ((PANEL, left), (FILTERS, right)):
            begin, end = step * len(lines) // steps, (step + 1) * len(lines) // steps
            for n in lines[begin:end]:
                yield operand, n, False


def _store(s: Slicing, shape: Shape, line: int, tile: int, filters: int) -> Iterator[Access]:
    """The rows of an output tile."""
    first, last = tile * s.n_win, min((tile + 1) * s.n_win, shape.pixels)
    for f in range(filters * s.n_f, min((filters + 1) * s.n_f, shape.out_c)):
        lo = (f * shape.pixels + first) * shape.element_bytes
        hi = (f * shape.pixels + last) * shape.element_bytes
        for n in range(lo // line, (hi - 1) // line + 1):
            yield OUTPUT, n, True
