"""Depthwise layers whose windows lie so close that a pair of numbers serves two of them: what
ec_int8_2x2.h computes, with what room and in how many cycles."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from edgeconv.ir.requantisation.scalings import right_of
from edgeconv.kernels.algorithms.integer.adjacent_windows import AdjacentWindows, is_column
from edgeconv.kernels.algorithms.integer.cycles import besides_of
from edgeconv.kernels.algorithms.integer.cycles_2x2 import Cycles2x2, cycles_2x2_of
from edgeconv.kernels.algorithms.integer.kernels import (
    DEPTHWISE_2X2,
    DEPTHWISE_2X2_TRANSPOSED,
    DEPTHWISE_3X1,
    DEPTHWISE_3X1_TRANSPOSED,
    DEPTHWISE_3X3_2X2,
    DEPTHWISE_3X3_6X2,
    IntegerKernel,
)
from edgeconv.kernels.algorithms.problem import ConvProblem
from edgeconv.target.targets import Target

ROWS = 2  # of the output that are computed together: EC_INT8_2X2_ROWS
ROWS_3X3, PAIRS_3X3 = 6, 4  # of 3x3, and the pairs that they read: EC_INT8_6X2_ROWS
ROWS_TALL = 8  # of windows of one column: EC_INT8_2X2_ROWS_TALL
ROWS_ALONE, ROWS_APART = 16, 12  # of a tensor of one column, the latter with dilation
FOUR, PAIR_BYTES = 4, 16  # channels, and the bytes of a pair of each
_ROW, _COLUMN = 1, 2  # axes


@dataclass(frozen=True, slots=True)
class Depthwise2x2:
    """How a layer is computed by pairs of rows.  ``problem``: with rows and columns exchanged where
    the kernel exchanges them, once for each of ``times`` rows."""

    kernel: IntegerKernel
    problem: ConvProblem
    times: int = 1

    @property
    def down(self) -> AdjacentWindows:
        return _beside(self.problem, _ROW)

    @property
    def across(self) -> AdjacentWindows:
        return _beside(self.problem, _COLUMN)

    @property
    def rows(self) -> int:
        """The rows of one remainder in a block of rows of the output."""
        if self.kernel.is_transposed:
            return self.problem.out_size[_ROW]
        if is_column(self.problem):
            return max(ROWS_ALONE // self.down.every, ROWS_APART)
        if self.kernel is DEPTHWISE_3X3_6X2:
            return ROWS_3X3
        return ROWS_TALL if self.problem.kernel[_COLUMN] == 1 else ROWS

    @property
    def _in_lines(self) -> bool:
        """Windows of three numbers that pass through registers: ec_int8_depthwise_3x1.h."""
        return self.kernel in (DEPTHWISE_3X1, DEPTHWISE_3X1_TRANSPOSED)

    @property
    def block(self) -> int:
        """Rows of the output of which all channels are read when some of them are written."""
        return self.rows * self.down.every

    def pairs(self, rows: int) -> int:
        """Pairs of input rows that so many rows of the output need."""
        return -(-(rows + rows % 2 + self.problem.kernel[_ROW] - 1) // 2)

    @property
    def panel_bytes(self) -> int:
        height, width = self.problem.out_size[1:]
        rows = min(self.rows, -(-height // self.down.every))
        columns = self.across.numbers(width, self.problem.kernel[_COLUMN])
        pairs = PAIRS_3X3 if self.kernel is DEPTHWISE_3X3_6X2 else self.pairs(rows)
        return PAIR_BYTES * pairs * (columns + 1)

    @property
    def keeps_channels(self) -> bool:
        """What it writes of the result are channels of which it has read all rows of a block:
        windows are those of one lattice, of a channel each."""
        return self.kernel.is_3x3 and self.down.every == self.across.every == 1

    def cycles(self, target: Target) -> float:
        """The cycles of an image whose results are int8."""
        facts = self.problem.sum_facts
        core = cycles_2x2_of(target, facts.scaling)
        more = besides_of(target, facts.scaling).six
        more += besides_of(target, "", bounded=facts.bounded).four
        return self.cycles_by(core, more)

    def cycles_by(self, core: Cycles2x2, more: float = 0.0) -> float:
        """The cycles of an image; ``more``: of four results, besides those of ``core``."""
        own = -(-self.problem.out_c // FOUR) * self._of_four(core, more)
        return self.times * (own + (core.transposed if self.kernel.is_transposed else 0.0))

    def _of_four(self, core: Cycles2x2, more: float) -> float:
        """The cycles of four channels.  A block whose last rows are missing counts as one."""
        height, width = self.problem.out_size[1:]
        down, across = self.down.every, self.across.every
        total = 0.0
        for rows, blocks in self._blocks(height):
            lattices = blocks * min(down, height) * min(across, width)
            columns = -(-width // across)
            pairs, taken_columns = self.pairs(rows), self._columns_taken
            if self._in_lines:
                lines = columns * (core.line_of_three + rows * (core.of_three + more / 2))
                own = core.any_kernel + core.call_of_three + 2 * lines
            elif self.kernel is DEPTHWISE_3X3_6X2:
                two_rows = -(-rows // 2)
                windows = FOUR * (core.channel_6x2 + two_rows * core.two_rows)
                window = rows // 2 * (core.window_6x2 + more)
                window += rows % 2 * (core.window_of_one + more / 2)
                windows += FOUR * -(-columns // 2) * window
                packs = -(-pairs // 2)
                own = core.four_6x2 + packs * (core.call_6x2 + taken_columns * core.column_6x2)
                own += windows
            elif self.kernel.is_3x3:
                windows = FOUR * (core.channel + -(-columns // 2) * (core.window + more))
                own = core.four + taken_columns * core.column + windows
            else:
                taps = self.problem.kernel[_COLUMN] * self.pairs(2)
                halves = 2 * -(-rows // 2) * columns
                along = is_column(self.problem)
                calls = 1 + rows % 2 if along else -(-rows // 2)
                windows = halves * (core.half + more + taps * core.tap) + calls * core.call
                parts = 1 + self._halves_outside if along else pairs
                taken = taken_columns * pairs * core.pair + parts * core.pairs
                own = core.any_kernel + taken + windows
            total += lattices * own
        return total

    @property
    def _columns_taken(self) -> float:
        """Columns of the input that are packed for a lattice, the mean over these."""
        problem, lattices = self.problem, min(self.across.every, self.problem.out_size[_COLUMN])
        columns = -(-problem.out_size[_COLUMN] // self.across.every)
        reach = problem.dilations[_COLUMN] * (
            (columns - 1) * self.across.stride + problem.kernel[_COLUMN]
        )
        starts = (x * problem.strides[_COLUMN] - problem.pads[_COLUMN] for x in range(lattices))
        apart, end = problem.dilations[_COLUMN], problem.in_size[_COLUMN]
        inside = (sum(0 <= at < end for at in range(x, x + reach, apart)) for x in starts)
        return sum(inside) / lattices

    @property
    def _halves_outside(self) -> int:
        """Pairs of all rows of a tensor of one column of which one lies outside of it."""
        problem, (down, apart) = self.problem, (self.down.every, self.problem.dilations[_ROW])
        if not self.kernel.is_transposed:
            return 0  # of most blocks
        pairs, end = self.pairs(-(-self.rows // down)), problem.in_size[_ROW]
        first = (2 * apart * i - problem.pads[_ROW] for i in range(pairs))
        return sum((0 <= at < end) != (0 <= at + apart < end) for at in first)

    def _blocks(self, height: int) -> tuple[tuple[int, float], ...]:
        """Rows of one remainder in a block, and how many blocks have as many."""
        whole, rest = divmod(height, self.block)
        found = [(self.rows, float(whole))] if whole else []
        if rest:
            found.append((-(-rest // self.down.every), 1.0))
        return tuple(found)

    @property
    def reads_of_constants(self) -> float:
        """How often an image's constants are read."""
        lattices = min(self.down.every, self.problem.out_size[_ROW]) * self.across.every
        blocks = self.times * lattices * math.ceil(self.problem.out_size[_ROW] / self.block)
        if self.kernel.is_3x3:
            return float(blocks)
        return blocks * self.rows / 2 * self.problem.out_size[_COLUMN]


def two_rows_of_sums(problem: ConvProblem) -> Depthwise2x2 | None:
    """The way of a layer whose sums are results, if windows in neighbouring rows have pairs in
    common; not of one row or column."""
    near = problem.kernel[_ROW] > 1 and _beside(problem, _ROW).stride == 1
    return Depthwise2x2(DEPTHWISE_2X2, problem) if near and not is_column(problem) else None


def _beside(problem: ConvProblem, axis: int) -> AdjacentWindows:
    return AdjacentWindows.of(problem.strides[axis], problem.dilations[axis])


def depthwise_2x2(problem: ConvProblem) -> tuple[Depthwise2x2, ...]:
    """The ways of a layer without a residual, if its windows lie side by side; that of least
    workspace last."""
    two = _by_two_rows(problem)
    if two is None:
        return ()
    tall = _rows_at_once(problem) > ROWS * two.down.every
    if two.kernel is DEPTHWISE_3X3_2X2 and tall:
        return replace(two, kernel=DEPTHWISE_3X3_6X2), two
    return (two,)


def _rows_at_once(problem: ConvProblem) -> int:
    """The most rows of the output that a call computes: of rings no more than these have room for,
    the input's for all that one row reads."""
    rows = problem.out_size[_ROW]
    rows = min(rows, problem.out_ring or rows)
    reach = (problem.kernel[_ROW] - 1) * problem.dilations[_ROW]
    return min(rows, problem.in_ring - reach) if problem.in_ring else rows


def _by_two_rows(problem: ConvProblem) -> Depthwise2x2 | None:
    if problem.kernel[_ROW] == 1 and problem.kernel[_COLUMN] > 1:
        flat = not problem.pads[_ROW] and _last_row(problem) < problem.in_size[_ROW]
        if not flat or _beside(problem, _COLUMN).stride != 1:
            return None
        turned = _transposed(problem)
        kernel = DEPTHWISE_3X1_TRANSPOSED if _is_three(turned) else DEPTHWISE_2X2_TRANSPOSED
        return Depthwise2x2(kernel, turned, problem.out_size[_ROW])
    if _beside(problem, _ROW).stride != 1:
        return None
    nine = problem.is_depthwise and problem.kernel[1:] == (3, 3)
    if nine and _beside(problem, _COLUMN).stride == 1:
        return Depthwise2x2(DEPTHWISE_3X3_2X2, problem)
    return Depthwise2x2(DEPTHWISE_3X1 if _is_three(problem) else DEPTHWISE_2X2, problem)


def _is_three(problem: ConvProblem) -> bool:
    """Windows of three numbers of a column, one behind the other, whose results are all shifted
    alike."""
    plain = problem.is_depthwise and not (problem.in_ring or problem.out_ring)
    near = problem.strides[_ROW] == problem.strides[_COLUMN] == 1 and not problem.pads[_COLUMN]
    fits = problem.kernel[1:] == (3, 1) and problem.out_c >= FOUR
    return plain and near and fits and bool(right_of(problem.sum_facts.scaling))


def _last_row(problem: ConvProblem) -> int:
    return (problem.out_size[_ROW] - 1) * problem.strides[_ROW]


def _transposed(problem: ConvProblem) -> ConvProblem:
    """A row as a tensor of one column."""
    return replace(
        problem,
        in_size=(1, problem.in_size[_COLUMN], 1),
        out_size=(1, problem.out_size[_COLUMN], 1),
        kernel=(1, problem.kernel[_COLUMN], 1),
        strides=(1, problem.strides[_COLUMN], 1),
        dilations=(1, problem.dilations[_COLUMN], 1),
        pads=(0, problem.pads[_COLUMN], 0),
        in_ring=0,
        out_ring=0,
    )
