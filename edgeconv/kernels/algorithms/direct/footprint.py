"""The memory under the loops of a direct convolution, as runs of neighbouring bytes."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from edgeconv.ir.encoding import FLOAT32
from edgeconv.ir.layout import Order
from edgeconv.kernels.algorithms.axis import Axis, axes_of
from edgeconv.kernels.algorithms.direct.tiles import FLOAT_BYTES, DirectPlan
from edgeconv.kernels.algorithms.problem import ConvProblem
from edgeconv.kernels.algorithms.strips import Segment
from edgeconv.kernels.algorithms.traffic import Runs, lost
from edgeconv.target.cache import Cache
from edgeconv.target.targets import Target


def _axes(problem: ConvProblem, plan: DirectPlan) -> tuple[Axis, Axis, Axis]:
    """Planes, rows and columns; pointwise ones as the plan has regrouped them."""
    if not problem.is_pointwise:
        return axes_of(problem)
    d, h, w = (Axis(n, n, 1, 1, 1, 0) for n in (plan.planes, plan.rows, plan.row))
    return d, h, w


@dataclass(frozen=True, slots=True)
class Input:
    """The input channels of a pass: ``blocks`` of them lie apart, ``pixel`` bytes of each block
    belong to one pixel, ``element`` bytes to one channel of it; ``pixel_pitch`` bytes from a pixel
    to the next.  ``packed``: pixels follow each other without a gap."""

    blocks: float
    pixel: int
    element: int
    packed: bool
    line: int
    depth: Axis
    height: Axis
    width: Axis
    pixel_pitch: int

    @staticmethod
    def of(problem: ConvProblem, plan: DirectPlan, line: int) -> Input:
        """All channels."""
        last = problem.in_layout.order is Order.CHANNELS_LAST
        block = problem.in_c if last else problem.in_layout.block
        depth, height, width = _axes(problem, plan)
        blocks = -(-problem.in_c // block)
        size = problem.in_bytes
        pixel = size * block
        return Input(blocks, pixel, size, True, line, depth, height, width, pixel)

    def some(self, channels: float, first: int = 0) -> Input:
        """``channels`` of them from ``first`` on."""
        block = self.pixel // self.element
        if self.blocks == 1 and channels < block:  # part of every pixel
            return replace(self, pixel=self.element * round(channels), packed=False)
        return replace(self, blocks=(first % block + channels + block - 1) // block)

    def strip(self, pixels: int) -> Runs:
        """Under one strip."""
        rows = self.height.read_by(1) / self.height.out
        return self._stack(self._planes, rows, self._columns(pixels))

    def channel(self, pixels: int) -> Runs:
        """The lines under one channel of each of ``pixels`` pixels: those that follow each other in
        memory as one run, others as they lie apart."""
        apart = self.pixel_pitch * self.width.stride
        if apart <= self.line:
            return Runs(1, (pixels - 1) * apart + self.element)
        return Runs(pixels, self.line, apart)

    def rows(self, count: int) -> Runs:
        """Under ``count`` output rows of one plane."""
        return self._stack(self._planes, self._rows(count), self._columns(self.width.out))

    def sweep(self, count: int) -> Runs:
        """Under ``count`` output rows of every plane."""
        columns = self._columns(self.width.out)
        return self._stack(self.depth.all_read, self._rows(count), columns)

    def covering(self, runs: Runs) -> float:
        """Bytes of the lines of ``runs``, which begin at any pixel or row."""
        rows = runs.size >= self.width.size * self.pixel
        unit = self.pixel * (self.width.size if rows and self.packed else 1)
        return runs.groups * runs.count * (runs.size + self.line - math.gcd(unit, self.line))

    @property
    def _pitch(self) -> int:
        """Bytes from one block to the next."""
        return self.depth.size * self.height.size * self.width.size * self.pixel

    @property
    def _planes(self) -> float:
        """Read by one output plane, on average."""
        return self.depth.read_by(1) / self.depth.out

    def _rows(self, count: int) -> float:
        """Read by ``count`` output rows, on average."""
        return self.height.read_by(count) / -(-self.height.out // count)

    def _columns(self, pixels: int) -> Runs:
        """The runs of one row, under ``pixels`` neighbouring outputs: whole lines unless they lie
        apart."""
        w = self.width
        span = min((pixels - 1) * w.stride + (w.kernel - 1) * w.dilation + 1, w.size)
        read = min(w.read(max(0, (w.out - pixels) // 2), pixels), span)
        if self.packed and span * self.pixel < read * (self.line + self.pixel):
            return Runs(1, span * self.pixel)
        return Runs(read, self.pixel)

    def _stack(self, planes: float, rows: float, columns: Runs) -> Runs:
        """The runs of these columns of so many planes and rows of every block; what touches is one
        run."""
        h, d = self.height, self.depth
        whole_rows = columns.size == self.width.size * self.pixel and self.packed
        dense = h.dilation == 1 and h.stride <= h.kernel
        if not whole_rows or not dense:
            return Runs(self.blocks, columns.size, self._pitch, planes * rows * columns.count)
        if rows < h.size or planes < d.size:
            return Runs(self.blocks, rows * columns.size, self._pitch, planes)
        return Runs(1, self.blocks * planes * rows * columns.size)


def brought_again(
    source: Input, pixels: int, filters: int, cache: Cache, problem: ConvProblem
) -> float:
    """The share of the lines under a strip that every step brings into the cache again.

    A step reads a channel of each of ``pixels`` pixels and as many ``filters``, and the next one
    the channels beside them, mostly in the same lines.  Pixels a multiple of a power of two apart
    share a few sets: with more of them than ways, no line stays from one step to the next.  What is
    decoded comes in by whole vectors.
    """
    steps = min(source.line, source.pixel) / source.element
    if steps <= 1 or (problem.in_as != FLOAT32 and source.element != FLOAT_BYTES):
        return 0.0
    read = Runs(1, filters * problem.filter_bytes)
    return (1 - 1 / steps) * lost(cache, source.channel(pixels), read)


@dataclass(frozen=True, slots=True)
class Output:
    """The output under a tile of ``vectors`` of filters, each ``lane_bytes`` of elements of
    ``element`` bytes.  ``last``: channels are innermost, ``pixel`` bytes of all filters."""

    vectors: int
    filters: int
    lane_bytes: int
    element: int
    last: bool
    line: int
    planes: int
    height: int
    row: int
    pixel: int

    @staticmethod
    def of(problem: ConvProblem, plan: DirectPlan, target: Target, line: int) -> Output:
        """Under all filters."""
        last = problem.out_layout.order is Order.CHANNELS_LAST
        vectors = -(-problem.out_c // target.lanes)
        filters = problem.out_c if last else vectors * target.lanes
        size = problem.out_bytes
        walked = plan.planes, plan.rows, plan.row
        lanes = size * target.lanes
        return Output(vectors, filters, lanes, size, last, line, *walked, size * filters)

    def some(self, vectors: int) -> Output:
        """Under ``vectors`` of them."""
        filters = min(self.filters, vectors * self.lane_bytes // self.element)
        return replace(self, vectors=vectors, filters=filters)

    @property
    def bytes(self) -> int:
        """All of it."""
        return self.element * self.filters * self.planes * self.height * self.row

    def pixels(self, count: int) -> Runs:
        """``count`` neighbouring pixels of a row."""
        if self.last:
            return self._apart(count)
        return Runs(self.vectors, count * self.lane_bytes, self._pitch)

    @property
    def _pitch(self) -> int:
        """Bytes from one vector of filters to the next."""
        return self.planes * self.height * self.row * self.lane_bytes

    def sweep(self, rows: int) -> Runs:
        """``rows`` rows of every plane."""
        pixels = rows * self.row
        if self.last:
            return self._apart(self.planes * pixels)
        if rows >= self.height:
            return Runs(1, self.bytes)
        return Runs(self.vectors, pixels * self.lane_bytes, self._pitch, self.planes)

    def _apart(self, pixels: int) -> Runs:
        """So many of them with channels last: side by side, but where these are not all filters."""
        if self.element * self.filters < self.pixel:
            return Runs(pixels, self.element * self.filters, self.pixel)
        return Runs(1, pixels * self.pixel)

    def straddled(self, cut: tuple[Segment, ...]) -> float:
        """Bytes of the lines that two strips of a row share, over the whole output."""
        step = self.element * self.filters if self.last else self.lane_bytes
        if self.last:
            return 0.0  # tiles share lines there rather than strips
        apart = self.line - math.gcd(*(s.rows * step for s in cut), self.line)
        strips = sum(s.count for s in cut)
        return self.vectors * self.planes * self.height * (strips - 1) * float(apart)

    def split(self, tile: int) -> float:
        """Bytes of the lines that two tiles of ``tile`` filters share, over the whole output."""
        if not self.last:
            return 0.0
        apart = self.line - math.gcd(self.element * tile, self.line)
        pixels = self.planes * self.height * self.row
        return (-(-self.filters // tile) - 1) * pixels * float(apart)
