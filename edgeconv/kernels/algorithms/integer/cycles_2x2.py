"""Cycles of depthwise layers by pairs of rows (ec_int8_2x2.h), by core; sources are those of
`cycles`."""

from __future__ import annotations

from dataclasses import dataclass, replace

from edgeconv.ir.requantisation.scalings import right_of
from edgeconv.target.targets import DUAL_ISSUE, Target


@dataclass(frozen=True, slots=True)
class Cycles2x2:
    """Cycles of depthwise layers by pairs of rows (ec_int8_2x2.h), for four channels of a lattice.
    Of a kernel of 3x3: ``four``; ``column`` of four rows that is packed; of one channel
    ``channel``, and ``window`` of two columns and rows.  Of another: ``any_kernel``; ``pair`` of
    rows of a column that is packed, and ``pairs`` of those of all columns; ``call`` of the windows
    of two rows; of two channels of a window ``half``, and ``tap`` of a pair; ``transposed`` of a
    row of an image.  Of a kernel of three numbers: ``call_of_three``; of two channels
    ``line_of_three`` of a line of windows, and ``of_three`` of one of them.  Of six rows of 3x3:
    ``four_6x2``; ``call_6x2`` of four rows that are packed, and ``column_6x2`` of their columns; of
    one channel ``channel_6x2``, ``two_rows`` of the windows of two rows, and ``window_6x2`` of two
    columns of these, ``window_of_one`` of a row alone."""

    four: float
    column: float
    channel: float
    window: float
    any_kernel: float
    pair: float
    pairs: float
    call: float
    half: float
    tap: float
    transposed: float
    call_of_three: float
    line_of_three: float
    of_three: float
    four_6x2: float
    call_6x2: float
    column_6x2: float
    channel_6x2: float
    two_rows: float
    window_6x2: float
    window_of_one: float


# 26 instructions, four of them loads and eight stores; 55, four of them LDRD and one LDM of three;
# 17; 36; 6, LDRD and LDM of four among them, with an eighth of the loop's end.  Of three numbers 16
# instructions with a third of the loop's end, two loads of an address and two stores among them.
# Of six rows: 24 instructions, four of them loads; 26 with a branch; 54, seven of them loads and
# three LDRD, and half of the loop's end; of a row alone 36.
_SINGLE_ISSUE_2X2 = Cycles2x2(
    *(75, 36, 45, 69.5, 80, 20, 45, 110, 50, 12.4, 1200, 130, 46, 21.3),
    *(140, 45, 31, 28, 28, 66.5, 48),
)
_DUAL_ISSUE_2X2 = Cycles2x2(
    *(50, 24, 20, 46, 50, 15, 28, 65, 32, 6.3, 700, 85, 32, 13.7),
    *(80, 28, 24, 14, 15, 45, 33),
)


def cycles_2x2_of(target: Target, scaling: str) -> Cycles2x2:
    """The cycles of the core with DSP that ``target`` is; ``scaling``: of sums."""
    is_dual = DUAL_ISSUE in target.features
    core = _DUAL_ISSUE_2X2 if is_dual else _SINGLE_ISSUE_2X2
    if not right_of(scaling):
        return core
    window, half = (4, 2) if is_dual else (5, 4)
    return replace(
        core,
        window=core.window - window,
        window_6x2=core.window_6x2 - window,
        window_of_one=core.window_of_one - window / 2,
        half=core.half - half,
    )
