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
cycle each, and overlaps with one of another unit.
Others: instructions of what GCC 12 makes of the loops in C for a Cortex-M0.
"""

from __future__ import annotations

from dataclasses import dataclass

from edgeconv.targets import DSP, DUAL_ISSUE, Target


@dataclass(frozen=True, slots=True)
class Cycles:
    """``tile``: of 24 products, four numbers of three pixels by two filters; ``tile_results``: of
    the six results of a tile.  ``widened``: of four numbers of a pixel that are packed.
    ``window``, ``column``: of four channels of a depthwise layer 36 products and their results, and
    twelve numbers that are packed.  ``dot``, ``dot_results``: of 16 products of a fully connected
    layer, and of four results.  ``added``: of a result that a residual is added to.
    Of four channels of a depthwise layer of another kernel: ``taps`` of a window's results,
    ``pair_tap`` and ``lone_tap`` of the products of a column of two rows and of one,
    ``pair_column`` and ``lone_column`` of the numbers of these that are packed.
    """

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


# 20 instructions, four of them LDRD, and a quarter of the loop's end; 43; LDR, two SXTB16, STRD and
# half of the loop's end; 61, among them 14 LDM; three LDR, ten, STM of six; 20, one an LDM; 39.  Of
# other kernels: 52; LDM of four and two LDRD by four SMLAD, two LDRD by four, either with a quarter
# of the loop's end; two LDR, 13, two STRD; LDR, five, STRD.
_SINGLE = Cycles(29.5, 63, 8.5, 112, 26, 26, 50, 17, 74, 16, 11, 24, 12)
_DUAL = Cycles(17.5, 42, 5.5, 64, 17, 18.5, 34, 12, 43, 8.5, 6.5, 15, 6)
_PLAIN = Cycles(96, 84, 16, 286, 48, 83, 56, 30, 80, 64, 34, 32, 16)

# Of Helium: 16 numbers by four filters, five loads that overlap four VMLADAVA; the four results;
# a window of eight channels, nine times two VMULL and two VADD, and their results; a pixel's column
# that is copied.  Of other depthwise kernels: the results, a tap, a pixel of a row that is copied.
FOURS_BLOCK, FOURS_RESULTS, EIGHTS_WINDOW, EIGHTS_COLUMN = 10.0, 22.0, 98.0, 12.0
EIGHTS_TAPS, EIGHTS_TAP, EIGHTS_ROW = 30.0, 9.0, 9.0


def cycles_of(target: Target) -> Cycles:
    """Those of the core that ``target`` is."""
    if DSP not in target.features:
        return _PLAIN
    return _DUAL if DUAL_ISSUE in target.features else _SINGLE
