"""Windows under blocks of four filters with Helium: ec_int8_helium_tiles.h.

Cycles of a Cortex-M55: of loops as llvm-mca 19 -mcpu=cortex-m55 has their bodies, of all else the
instructions that QEMU counts, each of a cycle.
"""

from __future__ import annotations

import math

from edgeconv.kernels.algorithms.integer.packing import FOUR, SIXTEEN
from edgeconv.kernels.algorithms.problem import ConvProblem

HELD = 64  # the most numbers of a window that registers hold: EC_INT8_LONG_1X4
TILE = 3  # windows that are multiplied together where they are short, or too long
BEYOND = 16  # numbers beyond the last filter that are read: EC_INT8_BEYOND_1X4
_COPIED, _COPIED_LONG = 256, 2048  # EC_INT8_COPIED_1X4, EC_INT8_COPIED_LONG_1X4

# Of four filters: a window's vector, and what is around, of one that registers hold, of one of
# three short ones, of one of three long ones, and of a long one alone.
_VECTOR, _AROUND_HELD, _AROUND_SHORT, _AROUND_LONG = 8.0, 13.0, 10.4, 22.4
_VECTOR_ALONE, _AROUND_ALONE = 10.0, 17.0
# Of a tile, and of a call for tiles.
_TILE, _CALL = 22.0, 75.0


def is_held(numbers: int) -> bool:
    """Registers hold a window of so many numbers."""
    return numbers <= HELD


def tile_of(numbers: int) -> int:
    """Windows of so many ``numbers`` that are multiplied together."""
    return TILE if numbers <= SIXTEEN or not is_held(numbers) else 1


def reads_of(numbers: int, filters: int, windows: int) -> int:
    """How often a window of so many ``numbers`` is read: once where registers hold it, by each two
    ``filters`` in tiles of long ones, else by each four."""
    fours = -(-filters // FOUR)
    return 1 if is_held(numbers) else 2 * fours if windows >= TILE else fours


def sets_of(numbers: int, windows: int) -> int:
    """How often filters are read: by each tile."""
    return sum(divmod(windows, tile_of(numbers)))


def windows_together(problem: ConvProblem) -> int:
    """Windows that are copied to the workspace at a time: ec_int8_windows_1x4."""
    if not is_copied(problem):
        return 1
    one = problem.in_c * math.prod(problem.kernel)
    tile = TILE if TILE * one <= _COPIED_LONG else 1
    return min(max(_COPIED // one, tile), problem.out_size[2])


def is_copied(problem: ConvProblem) -> bool:
    """Windows are no pixels of the input."""
    return not problem.reads_pixels


def call_cycles(numbers: int, windows: int, filters: int, more: float) -> float:
    """Cycles of a call for so many windows, one behind the other, of ``numbers`` each; ``more``:
    what four results take besides."""
    fours, vectors, tile = -(-filters // FOUR), -(-numbers // SIXTEEN), tile_of(numbers)
    tiles, alone = divmod(windows, tile)
    if not is_held(numbers):
        each = fours * (_VECTOR * vectors + _AROUND_LONG + more) * TILE + _TILE
        lone = fours * (_VECTOR_ALONE * vectors + _AROUND_ALONE + more) + _TILE
    else:
        lone = fours * (_VECTOR * vectors + _AROUND_HELD + more) + _TILE
        each = fours * (_VECTOR + _AROUND_SHORT + more) * TILE + _TILE if tile > 1 else lone
    return tiles * each + alone * lone + _CALL * ((tiles > 0) + (alone > 0))
