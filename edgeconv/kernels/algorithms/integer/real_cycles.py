"""Cycles of layers whose sums become float32, and of operands that are packed at run time, by core.

Sources are those of `cycles`, whose rows are cycles of int8 results.
"""

from __future__ import annotations

from dataclasses import dataclass

from edgeconv.kernels.algorithms.integer.cycles import of_core
from edgeconv.target.targets import DSP, DUAL_ISSUE, HELIUM, THUMB_1, Target


@dataclass(frozen=True, slots=True)
class RealCycles:
    """Cycles of layers whose sums become float32 (ec_int8_real.h).  ``tile``: of the six sums of a
    tile, and ``four``: of those of four filters, beside their products; ``around``: of the latter,
    where filters have zero points, besides.  Of a depthwise layer ``window`` and ``tap`` of four
    channels, ``lone`` and ``lone_tap`` of one; where columns are taken apart as for int8 results
    ``nine`` sums of four channels, and ``taps`` of another kernel besides what `Cycles` has of its
    taps; by pairs of rows ``half`` of the sums of two channels of two rows besides their products,
    as `Cycles2x2` has it of results.  ``result``: of a sum that becomes float32 and is stored, the
    epilogue aside.

    The least with which no layer of some fifteen, of each kind and of odd sizes, takes more than is
    predicted, as counted under QEMU: cycles of the manuals of Cortex-M0 and M4, of a Cortex-M7 and
    M55 instructions as `lowering.loops.PerCore` counts them.
    """

    tile: float
    four: float
    window: float
    tap: float
    lone: float
    lone_tap: float
    result: float
    around: float = 20.0
    nine: float = 0.0
    taps: float = 0.0
    half: float = 0.0


_REAL_SINGLE = RealCycles(40, 54, 0, 22, 0, 13, 17, nine=66, taps=48, half=32)
_REAL_DUAL = RealCycles(40, 45, 0, 19.2, 0, 8.5, 5, nine=37, taps=22, half=18)
_REAL_HELIUM = RealCycles(0, 26, 0, 15, 0, 9, 10)
_REAL_THUMB_2 = RealCycles(60, 60, 20, 30, 15, 15, 320)
_REAL_THUMB_1 = RealCycles(101, 1170, 40, 86, 100, 10, 320)
_REAL_PORTABLE = RealCycles(60, 40, 30, 24, 20, 10, 8)


def real_cycles_of(target: Target) -> RealCycles:
    """The cycles of the core that ``target`` is."""
    rows = {
        THUMB_1: _REAL_THUMB_1,
        HELIUM: _REAL_HELIUM,
        DUAL_ISSUE: _REAL_DUAL,
        DSP: _REAL_SINGLE,
    }
    return of_core(target, rows, _REAL_THUMB_2) if target.is_scalar else _REAL_PORTABLE


@dataclass(frozen=True, slots=True)
class Packed:
    """What it takes to pack an operand that is computed at run time as filters are: a ``column``,
    and each ``number`` of it.  Counted under QEMU as `RealCycles` are."""

    column: float
    number: float


_PACKED_SINGLE, _PACKED_DUAL = Packed(80, 7), Packed(50, 4)
_PACKED_HELIUM, _PACKED_THUMB_1 = Packed(60, 5), Packed(150, 15)


def pack_cycles(target: Target) -> Packed:
    """The cycles of the core that ``target`` is."""
    rows = {THUMB_1: _PACKED_THUMB_1, HELIUM: _PACKED_HELIUM, DUAL_ISSUE: _PACKED_DUAL}
    return of_core(target, rows, _PACKED_SINGLE)
