"""Bytes that the direct convolution moves between neighbouring levels of memory.

The loop nest of its template: chunks of output rows; tiles of filters; passes over the input
channels; rows of the chunk; strips.  Each operand's reuse is decided by reuse distance: the
distinct bytes that the loops inside touch before they come back to it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from edgeconv.algorithms.direct.plan import (
    DirectPlan,
    channels_per_pass,
    filter_tiles,
    make_plan,
    visits,
)
from edgeconv.algorithms.problem import ConvProblem
from edgeconv.algorithms.traffic import Crossing, lost
from edgeconv.cache import Cache
from edgeconv.targets import Target

FLOAT_BYTES = 4


def traffic(problem: ConvProblem, target: Target) -> tuple[Crossing, ...]:
    """What crosses behind each of the target's caches, nearest first, for the whole batch."""
    plan = make_plan(problem, target)
    return tuple(
        _Nest.of(problem, plan, target, cache).crossing().times(problem.batch)
        for cache in sorted(target.caches, key=lambda cache: cache.level)
    )


@dataclass(frozen=True, slots=True)
class _Nest:
    """One image; sizes in bytes.  ``share`` of the channels pass at a time."""

    cache: Cache
    tiles: int
    chunks: int
    passes: int
    visits: int  # strips under one tile of filters in one chunk
    filters: float  # all of them
    input: float  # what one chunk of rows reads, all channels
    output: float  # all of it
    rows_input: float  # what one output row reads, all channels
    reads_all: bool  # every tile of filters reads every input channel
    whole_input: float  # what the image reads, once

    @staticmethod
    def of(problem: ConvProblem, plan: DirectPlan, target: Target, cache: Cache) -> _Nest:
        """The loops of ``plan``."""
        tiles = filter_tiles(problem, plan, target)
        taps = math.prod(problem.kernel)
        filters = sum((t.c1 - t.c0) * taps * t.vectors * target.lanes for t in tiles)
        channels = channels_per_pass(problem, plan, target.lanes) or problem.in_c
        chunks = -(-plan.rows // plan.chunk)
        one, chunk = (_rows_read(problem, plan, rows) for rows in (1, plan.chunk))
        whole = _rows_read(problem, plan, plan.rows)
        return _Nest(
            cache=cache,
            tiles=len(tiles),
            chunks=chunks,
            passes=-(-problem.in_c // channels),
            visits=visits(plan, plan.segments or plan.tail_segments),
            filters=FLOAT_BYTES * filters,
            input=chunk,
            output=FLOAT_BYTES * problem.out_c * math.prod(problem.out_size),
            rows_input=one,
            reads_all=problem.groups == 1,
            whole_input=whole,
        )

    @property
    def tile_filters(self) -> float:
        """Filters of one tile in one pass."""
        return self.filters / self.tiles / self.passes

    @property
    def chunk_output(self) -> float:
        """Output of one tile in one chunk."""
        return self.output / self.tiles / self.chunks

    @property
    def pass_input(self) -> float:
        """Input of one chunk in one pass, as one tile reads it."""
        return self.input / self.passes / (1 if self.reads_all else self.tiles)

    def crossing(self) -> Crossing:
        """What crosses behind the cache."""
        again = 2 * self.output * (self.passes - 1) * self._sums_leave()
        return Crossing(
            level=self.cache.level,
            input=self._input(),
            packed=0.0,
            filters=self._filters(),
            output_reads=again / 2,
            packed_writes=0.0,
            output_writes=self.output + again / 2,
        )

    def _lost(self, touched: float) -> bool:
        return lost(touched, self.cache.size)

    def _sums_leave(self) -> bool:
        """Partial sums are evicted between two passes over the channels."""
        return self._lost(self.tile_filters + self.pass_input + self.chunk_output)

    def _filters(self) -> float:
        strip = (self.pass_input + self.chunk_output) / max(self.visits, 1)
        if self._lost(self.tile_filters + strip):  # they stream past every strip
            return self.filters * self.visits * self.chunks
        everything = self.filters + self.input + self.chunk_output * self.tiles
        return self.filters * (self.chunks if self._lost(everything) else 1)

    def _input(self) -> float:
        held = self.tile_filters * self.passes + self.chunk_output
        sweeps = self.tiles if self.reads_all and self._lost(self.input + held) else 1
        everything = self.filters + self.input + self.chunk_output * self.tiles
        # The rows that two chunks share come again unless they are still there.
        once = self.input * self.chunks if self._lost(everything) else self.whole_input
        if sweeps == 1:
            return max(once, self.whole_input)
        return sweeps * self.input * self.chunks


def _rows_read(problem: ConvProblem, plan: DirectPlan, rows: int) -> float:
    """Bytes of the input that ``rows`` neighbouring output rows of every plane read.

    Rows that no kernel position meets are left out; columns between those that are read lie in the
    same lines as they do, blocked channels fill lines of their own.
    """
    if problem.is_pointwise:
        pixels = rows * plan.row * plan.planes
        return FLOAT_BYTES * problem.in_c * float(pixels)
    (in_d, in_h, in_w), (_, kernel_h, kernel_w) = problem.in_size, problem.kernel
    (_, stride_h, stride_w), (_, dilation_h, _) = problem.strides, problem.dilations
    dense = (rows - 1) * stride_h + (kernel_h - 1) * dilation_h + 1
    read = min(dense, rows * kernel_h, in_h)
    wide = problem.in_layout.block * FLOAT_BYTES >= 64  # a pixel's channels fill whole lines
    columns = min(in_w, plan.row * kernel_w) if wide and stride_w > kernel_w else in_w
    return FLOAT_BYTES * problem.in_c * float(in_d * read * columns)
