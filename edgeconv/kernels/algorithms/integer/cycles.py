"""Cycles that the loops of ec_int8_*.h take on a core, reckoned from their instructions.

Cortex-M3 and M4: Arm, Cortex-M4 Technical Reference Manual, Table 3-1: a load of n registers takes
1 + n cycles, of one register 2, and 1 behind another; a store likewise; a taken branch 3; all else
here 1.  Memory without wait states.
Cortex-M33: Arm publishes no timing.  As the Cortex-M4, whose model it has in LLVM 19,
ARMProcessors.td.
Cortex-M7: Arm publishes no timing.  LLVM 19, ARMScheduleM7.td: two instructions at a time, in
order, one of them a multiplication, one that takes bytes apart; loads take 2 cycles.  As llvm-mca
-mcpu=cortex-m7 has the body of each loop, with a branch of one cycle; it fails for the loop of
fully connected layers, which was reckoned by hand.
Cortex-M55: Arm, Cortex-M55 Technical Reference Manual: a vector instruction takes two beats of a
cycle each, and overlaps with one of another unit.  LLVM 19, ARMScheduleM55.td, as llvm-mca
-mcpu=cortex-m55 has the body of each loop.
Cortex-M0 and M3, whose loops are in C: what GCC 12 makes of them, counted under QEMU with the
cycles of their manuals (Cortex-M0: Table 3-1; Cortex-M3: Table 3-1, as the Cortex-M4) and fitted to
some fifty layers each, of which none is off by more than 5 %; so are the parts of `Windows` on all
but the Cortex-M7, which begins an instruction of them in a cycle here.
    python bench/firmware_cycles.py MODEL.onnx --board microbit --layers
prints both numbers of a network's layers.
RV32IMC: instructions so counted, of the MLPerf Tiny networks, each of a cycle.
Portable C on cores of other kinds: reckoned for 16 registers and a product a cycle.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

from edgeconv.ir.requantisation.scalings import OFFSETS, OWN_SHIFT, TIES, right_of
from edgeconv.target.targets import DSP, DUAL_ISSUE, RISCV, THUMB_1, Target

Row = TypeVar("Row")


def of_core(target: Target, rows: Mapping[str, Row], other: Row) -> Row:
    """The row, by features, of ``rows``: the first that the core of ``target`` has; else the
    ``other``."""
    return next((row for feature, row in rows.items() if feature in target.features), other)


@dataclass(frozen=True, slots=True)
class Windows:
    """What it takes beside a load and a store of every number to bring windows to where they are
    multiplied.  ``pixel``: of one whose channels are its window.  Of another window: ``whole``,
    each ``row`` of it, and each number ``beyond`` whole k-blocks of a row.  Of those that reach
    over an edge: ``edge_row``, or where pixels are no whole k-blocks ``edge_tap`` and
    ``edge_number``, or ``copied`` and ``copied_number`` of one that is copied first.
    """

    pixel: float = 0.0
    whole: float = 0.0
    row: float = 0.0
    beyond: float = 0.0
    edge_row: float = 0.0
    edge_tap: float = 0.0
    edge_number: float = 0.0
    three: float = 0.0
    three_row: float = 0.0
    three_beyond: float = 0.0
    copied: float = 0.0
    copied_number: float = 0.0


@dataclass(frozen=True, slots=True)
class Run:
    """What it takes beside a load and a store of every number where panels are packed one behind
    the other by the function that multiplies them: a ``panel``, each ``row`` of its windows, and
    each ``number`` beyond whole k-blocks of a row; a ``call`` for a row of the output, and a window
    ``alone`` beside what `Windows` has of it.  ``of_27``: a panel of windows of three rows of nine
    numbers."""

    panel: float
    row: float
    number: float
    call: float
    alone: float
    of_27: float


@dataclass(frozen=True, slots=True)
class Summed:
    """What it takes to sum the numbers of a window, by which zero points of filters count:
    ``each`` k-block of them, of Helium 16, and what is around."""

    each: float = 0.0
    whole: float = 0.0


@dataclass(frozen=True, slots=True)
class Cycles:
    """Cycles of the loops of ec_int8_*.h.  ``tile``: of 24 products, four numbers of three pixels
    by two filters; ``tile_results``: of the six results of a tile.  ``widened``: of four numbers of
    a pixel that are packed, and what ``windows`` take besides.  ``window``, ``column``: of four
    channels of a depthwise layer 36 products and their results, and twelve numbers that are packed.
    ``dot``, ``dot_results``: of 16 products of a fully connected layer, and of four results;
    ``dot_rest``: what products of fewer than four numbers, the last ones, take besides.
    ``added``: of a result that a residual is added to.  Of four channels of a depthwise layer of
    another kernel: ``taps`` of a window's results, ``pair_tap`` and ``lone_tap`` of the products of
    a column of two rows and of one, ``pair_column`` and ``lone_column`` of the numbers of these
    that are packed.  ``row_of_four`` and ``row_of_taps``: of four channels of a row of either;
    ``rows_of_taps``: of some rows of a tensor of one column.  ``few``: of windows whose channels
    are no whole k-blocks, where they take something else; ``threes`` and ``few_threes``: the same
    of layers some of whose windows are packed three at a time, where that is done.  Of filters with
    zero points: ``summed``; of a fully connected layer ``dot_sum`` and ``dot_around`` in place of
    ``dot`` and ``dot_results``.  With filters joined in pairs ``joined`` and ``joined_results`` in
    place of ``tile`` and ``tile_results``, ``dot_joined`` and ``dot_joined_results`` of ``dot`` and
    ``dot_results``.  By four filters and two pixels ``joined_2x4`` of 32 products, ``loop_2x4`` of
    sixteen k-blocks of a loop, ``joined_2x4_results`` of eight; where pixels are packed there
    ``pixel_2x4`` of one and ``widened_2x4`` of its k-block; of a pixel that is left over ``alone``,
    ``joined_1x4`` of 16 products and ``joined_1x4_results`` of four.  Of four channels of a 3x3
    depthwise layer with strides, where they lie: ``window_apart``, and ``edge_apart`` of one that
    is copied, some columns of which lie outside; ``row_apart`` of a row of them.  ``rest``: of a
    panel's last filter where their number is odd.  Of a depthwise layer with a residual, which is
    added row by row: ``summed_apart`` of a result, ``row_of_sums`` more of four channels of a row,
    whose sizes are no constants there; 0 on cores whose loops are in C, where what is reckoned of
    windows is as much too long."""

    tile: float
    tile_results: float
    widened: float
    window: float
    column: float
    dot: float
    dot_results: float
    added: float
    taps: float
    pair_tap: float
    lone_tap: float
    pair_column: float
    lone_column: float
    row_of_four: float = 0.0
    row_of_taps: float = 0.0
    rows_of_taps: float = 0.0
    windows: Windows = Windows()
    few: Windows | None = None
    threes: Windows | None = None
    few_threes: Windows | None = None
    run: Run | None = None
    summed: Summed = Summed()
    dot_rest: float = 0.0
    dot_sum: float = 0.0
    dot_around: float = 0.0
    joined: float = 0.0
    joined_results: float = 0.0
    dot_joined: float = 0.0
    dot_joined_results: float = 0.0
    joined_2x4: float = 0.0
    loop_2x4: float = 0.0
    joined_2x4_results: float = 0.0
    pixel_2x4: float = 0.0
    widened_2x4: float = 0.0
    alone: float = 0.0
    joined_1x4: float = 0.0
    joined_1x4_results: float = 0.0
    window_apart: float = 0.0
    edge_apart: float = 0.0
    row_apart: float = 0.0
    rest: float = 0.0
    summed_apart: float = 0.0
    row_of_sums: float = 0.0


# 20 instructions, four of them LDRD, and a quarter of the loop's end; 43; LDR, two SXTB16, STRD and
# half of the loop's end; 85, among them 36 LDR by six and two LDM; three LDR, 16; 20, one an LDM;
# 39.  Of other kernels: 52; LDM of four and two LDRD by four SMLAD, two LDRD by four, either with a
# quarter of the loop's end; two LDR, 14; LDR, five, STRD.
# With filters joined in pairs: 22, eight of them loads, and a quarter of the loop's end; 53; 19,
# five of them loads; 48.  Of two pixels by four filters: 28, eight of them loads in two groups; 3
# at the loop's end; 63; of two pixels 25 and 11 of each k-block; of one
# pixel 18, six of them loads in two groups, and a quarter of the loop's end; 40.
_SINGLE = Cycles(
    *(29.5, 63, 8.5, 108, 24, 26, 50, 24, 74, 16, 11, 20, 12, 75, 250, 560),
    windows=Windows(62, 260, 50, 8, 115, 48, 16),
    few=Windows(62, 310, 18, 9, 70, 5, 23, copied=300, copied_number=15),
    threes=Windows(58, 87, 41, 8, 67, 48, 16, 41, 5, 0.5),
    few_threes=Windows(58, 31, 16, 6, 32, 3.5, 14.5, 110, 5, 0.5, copied=300, copied_number=15),
    run=Run(130, 14, 13, 170, 175, 60),
    summed=Summed(9, 40),
    dot_sum=29,
    dot_around=110,
    joined=25,
    joined_results=63,
    dot_joined=21.5,
    dot_joined_results=56,
    joined_2x4=30,
    loop_2x4=6,
    joined_2x4_results=76,
    pixel_2x4=16,
    widened_2x4=6.5,
    alone=150,
    joined_1x4=21,
    joined_1x4_results=46,
    window_apart=127,
    edge_apart=253,
    row_apart=85,
    rest=420,
    summed_apart=24,
    row_of_sums=300,
)
_DUAL = Cycles(
    *(17.5, 38, 4.5, 64, 17, 18.5, 34, 12, 43, 8.5, 6.5, 15, 6, 50, 160, 360),
    windows=Windows(45, 150, 37, 8, 78, 36, 13),
    few=Windows(45, 190, 14, 7, 55, 4, 18, copied=170, copied_number=7),
    threes=Windows(28, 55, 28, 8, 47, 36, 13, 27, 3.5, 0.5),
    few_threes=Windows(28, 22, 12, 5, 25, 2.5, 11, 27, 3.5, 0.5, copied=170, copied_number=7),
    run=Run(45, 7, 8, 100, 90, 15),
    summed=Summed(6, 30),
    dot_sum=20,
    dot_around=80,
    joined=12.75,
    joined_results=46,
    dot_joined=12.75,
    dot_joined_results=38,
    window_apart=74,
    edge_apart=154,
    row_apart=50,
    rest=240,
    summed_apart=12,
    row_of_sums=190,
)
_THUMB_2 = Cycles(
    *(61, 122, 14, 205, 32, 57, 75, 28, 214, 55, 38, 44, 14),
    *(30, 420, 420),
    Windows(75, 265, 30, 9, 62, 45, 15),
    summed=Summed(12, 40),
    dot_rest=40,
    dot_sum=57,
    dot_around=120,
)
# What differs from a Cortex-M3.
_RISCV = replace(_THUMB_2, tile=76, window=182, dot=61, dot_sum=61)
_THUMB_1 = Cycles(
    *(225, 476, 25, 440, 60, 179, 300, 150, 525, 87, 60, 89, 45),
    *(300, 810, 150),
    Windows(115, 440, 30, 22, 95, 84, 22),
    summed=Summed(25, 60),
    dot_sum=179,
    dot_around=700,
    joined=105,
    joined_results=330,
    dot_joined=75,
    dot_joined_results=420,
)
_PORTABLE = Cycles(
    *(96, 84, 16, 286, 48, 83, 56, 30, 80, 64, 34, 32, 16),
    summed=Summed(8, 16),
    dot_sum=83,
    dot_around=72,
)

# Of Helium: 16 numbers by four filters, five loads that overlap four VMLADAVA, and the four results
# of filters with zero points (`helium_tiles` has the others); a pixel of these, and of fewer than
# four filters; of windows that are copied together a row, and all; of each a vector of a row, and a
# row that reaches over an edge; a window of eight channels, nine times two VMULL and two VADD, and
# their results, as llvm-mca -mcpu=cortex-m55 has them; a pixel's column that is copied, and a row
# of eight channels.  Of other depthwise kernels: the results, a tap, a pixel of a row that is
# copied, a row of eight channels; of either a window of fewer.  What is around the loops is
# counted, an instruction a cycle.
BLOCK_1X4, RESULTS_1X4, PIXEL_1X4, LAST_1X4 = 10.0, 22.0, 90.0, 60.0
ROWS_1X4, WINDOWS_1X4, VECTOR_1X4, EDGE_1X4 = 50.0, 190.0, 5.0, 25.0
WINDOW_1X8, COLUMN_1X8, AROUND_3X3_1X8 = 80.0, 12.0, 105.0
SUMMED_1X4, AROUND_1X4 = Summed(4.0, 20.0), 6.0  # of filters with zero points
TAPS_1X8, TAP_1X8, ROW_1X8, AROUND_1X8, LAST_1X8 = 26.0, 9.0, 6.0, 140.0, 100.0


@dataclass(frozen=True, slots=True)
class Besides:
    """What a scaling with words besides multipliers takes more: of a tile's six results, and of
    four of another kernel's.  Counted in the assembly of ec_int8_scaling_*.h, two cycles a load;
    of Cortex-M0 and M3 in what GCC 12 makes of the C."""

    six: float = 0.0
    four: float = 0.0


_NOTHING = Besides()
# Of bounds other than those of int8, which kernels in assembly leave to C: four bytes at a time, as
# counted under QEMU.  What is in C has all bounds anyway.
_BOUNDS: Mapping[str, Besides] = {"single": Besides(22, 25), "dual": Besides(12, 14)}
_HELIUM: Mapping[str, float] = {OFFSETS: 3.0, TIES: 12.0}  # of four results
_BESIDES: Mapping[str, Mapping[str, Besides]] = {
    OFFSETS: {"single": Besides(4, 8), "dual": Besides(2, 4), "c": Besides(24, 16)},
    TIES: {"single": Besides(20, 24), "dual": Besides(14, 16), "c": Besides(72, 48)},
}


def cycles_of(target: Target, scaling: str = "", *, bounded: bool = False) -> Cycles:
    """The cycles of the core that ``target`` is; ``scaling``: of sums; ``bounded``: results have
    other bounds than int8."""
    more = besides_of(target, scaling, bounded=bounded)
    core = _shifting(_plain(target), scaling, _kind(target))
    return replace(
        core,
        tile_results=core.tile_results + more.six,
        window=core.window + more.four,
        window_apart=core.window_apart + more.four,
        edge_apart=core.edge_apart + more.four,
        dot_results=core.dot_results + more.four,
        joined_results=core.joined_results + more.six,
        joined_2x4_results=core.joined_2x4_results + more.six * 4 / 3,
        dot_joined_results=core.dot_joined_results + more.four,
        taps=core.taps + more.four,
    )


# What loops in assembly take less where all results are shifted by as much, which SSAT does, too,
# and what those of joined filters take more where a layer has a shift of its own.  Of a Cortex-M4
# counted in instructions; of a Cortex-M7 as llvm-mca has results.
_SHIFTS: Mapping[str, Mapping[str, float]] = {
    "single": {
        "tile_results": -6,
        "window": -4,
        "window_apart": -6,
        "edge_apart": -6,
        "dot_results": -4,
        "taps": -4,
        "joined_results": -8,
        "joined_2x4_results": -13,
        "dot_joined_results": -8,
    },
    "dual": {
        "tile_results": -4,
        "window": -2,
        "window_apart": -4,
        "edge_apart": -4,
        "dot_results": -2,
        "taps": -2,
        "joined_results": -8,
        "dot_joined_results": -6,
    },
}
_OWN_SHIFTS: Mapping[str, Mapping[str, float]] = {
    "single": {
        "joined_results": 6,
        "joined_2x4_results": 4,
        "joined_1x4_results": 3,
        "dot_joined_results": 3,
    },
    "dual": {"joined_results": 3, "dot_joined_results": 2},
}


def _shifting(core: Cycles, scaling: str, kind: str) -> Cycles:
    """``core`` where results are shifted as ``scaling`` says."""
    rows = _SHIFTS if right_of(scaling) else _OWN_SHIFTS if scaling == OWN_SHIFT else {}
    return replace(
        core, **{name: getattr(core, name) + by for name, by in rows.get(kind, {}).items()}
    )


def _kind(target: Target) -> str:
    return of_core(target, {DUAL_ISSUE: "dual", DSP: "single"}, "c") if target.is_scalar else "c"


def besides_of(target: Target, scaling: str, *, bounded: bool = False) -> Besides:
    """What a scaling, and bounds, take more on the core that ``target`` is."""
    scaled = _BESIDES.get(scaling, {}).get(_kind(target), _NOTHING)
    bounds = _BOUNDS.get(_kind(target), _NOTHING) if bounded else _NOTHING
    return Besides(scaled.six + bounds.six, scaled.four + bounds.four)


def helium_besides(scaling: str) -> float:
    """What four results take more on Helium."""
    return _HELIUM.get(scaling, 0.0)


def _plain(target: Target) -> Cycles:
    rows = {THUMB_1: _THUMB_1, DUAL_ISSUE: _DUAL, DSP: _SINGLE, RISCV: _RISCV}
    return of_core(target, rows, _THUMB_2) if target.is_scalar else _PORTABLE


def plain_cycles_of(target: Target, scaling: str = "") -> Cycles:
    """The cycles of what is computed in C, whatever the core multiplies integers by."""
    without = replace(target, features=target.features - {DSP, DUAL_ISSUE})
    return cycles_of(without, scaling)
