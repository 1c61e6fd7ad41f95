"""Windows of an input as panels of pixels (ec_int8_panel.h): how many, and cycles to pack them."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from edgeconv.ir.requantisation.scalings import OWN_SHIFT, right_of
from edgeconv.kernels.algorithms.axis import axes_of
from edgeconv.kernels.algorithms.integer.cycles import Cycles, Summed, Windows, cycles_of
from edgeconv.kernels.algorithms.integer.joined import joins
from edgeconv.kernels.algorithms.integer.kernels import (
    CONVOLVE,
    CONVOLVE_JOINED,
    CONVOLVE_JOINED_2X4,
    CONVOLVE_JOINED_DUAL_ISSUE,
    IntegerKernel,
)
from edgeconv.kernels.algorithms.integer.packing import FOUR, K_BLOCK, sums_in
from edgeconv.kernels.algorithms.problem import ConvProblem
from edgeconv.target.targets import DSP, DUAL_ISSUE, Target

PIXELS = 3  # of a panel
_COPIED = 128  # numbers of a window: EC_INT8_COPIED
LOOP = 16  # k-blocks of a loop of two pixels by four filters: EC_INT8_JOINED_2X4_K_BLOCKS


def panels_of(problem: ConvProblem, each: int = PIXELS) -> tuple[int, int]:
    """Panels of an input's windows, ``each`` of so many, and how many windows are packed for them.

    A panel has neighbours, those of a row alone where the result is a ring of rows.  Fewer than it
    has are computed one by one, as panels of that pixel alone.
    """
    pixels = math.prod(problem.out_size)
    together = problem.out_size[2] if problem.out_ring else pixels
    rows = problem.batch * pixels // together
    if together < each:
        return rows * together, each * rows * together
    return rows * -(-together // each), rows * together


def panel_k_blocks(problem: ConvProblem, numbers: int) -> int:
    """K-blocks of a window of so many ``numbers`` in a panel, its sums behind it."""
    return -(-(numbers + (sums_in(numbers) if problem.asymmetric else 0)) // K_BLOCK)


def kernel_of(problem: ConvProblem, target: Target) -> IntegerKernel:
    """The kernel that multiplies panels by filters.  Rows of an image that are computed by
    themselves have that of the whole one, since it depends on their width alone: three pixels are
    one panel, or two with one left over, which takes longer where that is computed as two."""
    if not joins(problem, target):
        return CONVOLVE
    if DUAL_ISSUE in target.features:
        return CONVOLVE_JOINED_DUAL_ISSUE
    in_threes = problem.out_size[2] == PIXELS and not _leaves_one(problem, CONVOLVE_JOINED_2X4)
    if DSP not in target.features or in_threes:
        return CONVOLVE_JOINED
    k_blocks = panel_k_blocks(problem, problem.in_c * math.prod(problem.kernel))
    core, ways = (
        cycles_of(target, problem.sum_facts.scaling),
        (CONVOLVE_JOINED_2X4, CONVOLVE_JOINED),
    )
    return min(ways, key=lambda way: panel_cycles(problem, core, way, k_blocks) / way.pixels)


def tiles_cycles(
    problem: ConvProblem, core: Cycles, kernel: IntegerKernel, *, apart: bool
) -> float:
    """What a layer takes whose panels are multiplied by so many filters of a ``kernel`` at a time;
    ``apart`` as in `packing_cycles`."""
    k_blocks = panel_k_blocks(problem, problem.in_c * math.prod(problem.kernel))
    panels, packed = panels_of(problem, kernel.pixels)
    cycles = panels * panel_cycles(problem, core, kernel, k_blocks)
    if _leaves_one(problem, kernel) and (rows := _odd_rows(problem)):
        fours, tile = problem.out_c // FOUR, k_blocks * core.joined_1x4 + core.joined_1x4_results
        cycles += rows * (core.alone + fours * tile)
        cycles -= rows * panel_cycles(problem, core, kernel, k_blocks)
    if kernel.pointwise and _in_runs(problem, kernel, apart=apart) == 1 and is_pointwise(problem):
        return cycles + packed * (core.pixel_2x4 + k_blocks * core.widened_2x4)
    return cycles + packing_cycles(problem, core, kernel, apart=apart)


def _leaves_one(problem: ConvProblem, kernel: IntegerKernel) -> bool:
    """Whether a pixel that panels of two leave over is computed by itself: `alone` of
    ec_int8_tile.h, for filters in whole fours whose results are all shifted alike."""
    alike = bool(right_of(problem.sum_facts.scaling)) or problem.sum_facts.scaling == OWN_SHIFT
    return kernel.filters == FOUR and alike and problem.out_c % FOUR == 0


def _odd_rows(problem: ConvProblem) -> int:
    """How often a pixel is left over: once, or where the result is a ring of rows once in each."""
    pixels = math.prod(problem.out_size)
    together = problem.out_size[2] if problem.out_ring else pixels
    return problem.batch * pixels // together * (together % 2)


def panel_cycles(problem: ConvProblem, core: Cycles, kernel: IntegerKernel, k_blocks: int) -> float:
    """What a panel takes under all filters of a layer."""
    if kernel.filters == FOUR:
        ends = -(-k_blocks // LOOP) * core.loop_2x4
        tile = k_blocks * core.joined_2x4 + ends + core.joined_2x4_results
    elif kernel.joined:
        tile = k_blocks * core.joined + core.joined_results
    else:
        tile = k_blocks * core.tile + core.tile_results
    alone = core.rest if kernel.filters < FOUR and problem.out_c % kernel.filters else 0.0
    return -(-problem.out_c // kernel.filters) * tile + alone


def is_pointwise(problem: ConvProblem) -> bool:
    """Windows are the input's pixels, whole k-blocks."""
    return problem.is_pointwise and problem.in_c % K_BLOCK == 0


def packing_cycles(
    problem: ConvProblem, core: Cycles, kernel: IntegerKernel, *, apart: bool
) -> float:
    """What it takes to bring all windows to panels of a ``kernel``; ``apart``: between the channels
    of two pixels lie others."""
    _, packed = panels_of(problem, kernel.pixels)
    height, beyond = problem.kernel[1], problem.kernel[2] * problem.in_c % K_BLOCK
    k_blocks = panel_k_blocks(problem, problem.in_c * math.prod(problem.kernel))
    whole = apart or problem.in_c % K_BLOCK == 0
    windows = (None if whole else core.few) or core.windows
    in_threes = 0.0 if apart else _in_threes(problem)
    among = core.threes if whole else core.few_threes
    run, in_runs = core.run, _in_runs(problem, kernel, apart=apart)
    if run is not None and in_runs:
        panel = run.panel + height * (run.row + beyond * run.number)
        panel = run.of_27 if _are_27(problem) else panel
        alone = replace(among or windows, three=0.0, three_row=0.0, three_beyond=0.0)
        around = in_runs * (panel / kernel.pixels + run.call / problem.out_size[2])
        if in_runs < 1:
            around += gathering(problem, alone, apart=apart, in_threes=in_runs)
            around += (1 - in_runs) * run.alone
    elif among is not None and in_threes:
        around = gathering(problem, among, apart=apart, in_threes=in_threes)
    else:
        around = gathering(problem, windows, apart=apart)
    each = k_blocks * core.widened + around
    each += summing(problem, K_BLOCK, core.summed) if problem.asymmetric else 0.0
    return packed * each


def summing(problem: ConvProblem, together: int, summed: Summed) -> float:
    """What it takes to sum the numbers of a window, so many ``together``."""
    numbers = problem.group_in_c * math.prod(problem.kernel)
    return summed.whole + summed.each * -(-numbers // together)


def gathering(
    problem: ConvProblem, windows: Windows, *, apart: bool, in_threes: float = 0.0
) -> float:
    """What a window takes beside a load and a store of each of its numbers, the mean over all, of
    which some are packed three at a time."""
    channels, (height, width) = problem.in_c, problem.kernel[1:]
    if problem.is_pointwise and channels % K_BLOCK == 0:
        return windows.pixel
    beside = apart or problem.dilations[2] > 1  # pixels are taken one by one
    inside = 0.0 if beside else within(problem)
    beyond = width * channels % K_BLOCK
    row = windows.row + beyond * windows.beyond
    edge_row = height * (windows.edge_row + beyond * windows.beyond)
    if channels % K_BLOCK:  # columns outside are told pixel by pixel, rows outside as such
        columns = 0.0 if beside else axes_of(problem)[2].within
        pixels = height * width * (windows.edge_tap + channels * windows.edge_number)
        over = (columns - inside) * edge_row + (1 - columns) * pixels
    else:
        over = (1 - inside) * edge_row
    if windows.copied and not beside and _is_copied(problem):
        over = (1 - inside) * (windows.copied + height * width * channels * windows.copied_number)
    alone = windows.whole * (1 - in_threes) + max(inside - in_threes, 0.0) * height * row + over
    own = windows.three + height * (windows.three_row + beyond * windows.three_beyond)
    return alone + in_threes * own


def _in_threes(problem: ConvProblem) -> float:
    """The share of the windows that are packed three at a time: neighbours that lie in the
    input."""
    if problem.dilations[2] > 1:
        return 0.0
    rows, columns = (_are_inside(problem, axis) for axis in (1, 2))
    width, count = len(columns), len(rows) * len(columns)
    y, x = np.divmod(np.arange(0, max(count - PIXELS + 1, 0), PIXELS), width)
    last = np.minimum(x + PIXELS - 1, width - 1)
    found = rows[y] & columns[x] & columns[last] & (x + PIXELS <= width)
    return PIXELS * int(found.sum()) / count


def _in_runs(problem: ConvProblem, kernel: IntegerKernel, *, apart: bool) -> float:
    """The share of the windows that are in runs of panels (ec_int8_run of ec_int8_tile.h), which a
    ``kernel`` packs itself."""
    whole = problem.out_c >= FOUR if kernel.pointwise else problem.out_c % kernel.filters == 0
    if not kernel.runs or not whole:
        return 0.0
    if is_pointwise(problem) and not (problem.in_ring or problem.out_ring):
        return float(math.prod(problem.out_size) >= kernel.pixels)
    if apart or problem.dilations[2] > 1:
        return 0.0
    rows, columns = (_are_inside(problem, axis) for axis in (1, 2))
    together = int(columns.sum()) // kernel.pixels * kernel.pixels
    return float(rows.mean()) * together / len(columns)


def _are_27(problem: ConvProblem) -> bool:
    """Windows have three rows of nine numbers: ec_int8_is_27 of ec_int8_dsp_tile.h."""
    return problem.kernel[1] == 3 and problem.kernel[2] * problem.in_c == 9


def _is_copied(problem: ConvProblem) -> bool:
    """Windows some of whose rows or columns lie outside are copied first."""
    numbers = math.prod(problem.kernel) * problem.in_c
    return bool(problem.in_c % K_BLOCK) and numbers <= _COPIED


def _are_inside(problem: ConvProblem, axis: int) -> npt.NDArray[np.bool_]:
    """By place of the output whether its window lies in the input."""
    first = np.arange(problem.out_size[axis]) * problem.strides[axis] - problem.pads[axis]
    reach = (problem.kernel[axis] - 1) * problem.dilations[axis]
    inside: npt.NDArray[np.bool_] = (first >= 0) & (first + reach < problem.in_size[axis])
    return inside


def columns_inside(problem: ConvProblem) -> int:
    """Windows of a row all of whose columns lie in the input."""
    return int(_are_inside(problem, 2).sum())


def within(problem: ConvProblem) -> float:
    """The share of the windows that lie in the input."""
    return math.prod(axis.within for axis in axes_of(problem))
