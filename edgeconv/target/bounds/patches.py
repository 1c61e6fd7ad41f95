"""The input under the blocks of one spatial dimension, counted to the element.

Neighbouring blocks share input: the halo of neighbouring outputs, and neighbouring taps over the
same outputs.  How much, for any order of the loops, follows from a few sums over pairs of blocks.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from functools import lru_cache

from edgeconv.target.bounds.shape import Axis


@dataclass(frozen=True, slots=True)
class AxisBlock:
    """Block sizes along one axis: outputs, and the filter split tap = period * q + r.

    ``repeats`` is the number of neighbouring q (the paper's b_wF'), ``phases`` that of r (b_wF'').
    """

    out: int = 1
    repeats: int = 1
    phases: int = 1


class Move(Enum):
    """What a loop does from one block of the whole nest to the next."""

    STAY = "the same iteration, for each of them"
    NEXT = "from one iteration to the next, for each but the last"
    WRAP = "from the last iteration to the first"


def pairs(count: int, move: Move) -> list[tuple[int, int]]:
    """The iterations before and after, for every way a loop of ``count`` can make ``move``."""
    if move is Move.STAY:
        return [(index, index) for index in range(count)]
    if move is Move.NEXT:
        return [(index, index + 1) for index in range(count - 1)]
    return [(count - 1, 0)]


@lru_cache(maxsize=1 << 12)
def tap_blocks(axis: Axis, block: AxisBlock) -> tuple[tuple[int, ...], ...]:
    """The taps of each block in order, those that only meet padding left out; never empty."""
    live = set(axis.live)
    found = []
    for q in range(0, axis.repeats, block.repeats):
        for r in range(0, axis.phases, block.phases):
            taps = (
                axis.period * repeat + phase
                for repeat in range(q, min(q + block.repeats, axis.repeats))
                for phase in range(r, min(r + block.phases, axis.phases))
            )
            found.append(tuple(tap for tap in taps if tap in live))
    return tuple(taps for taps in found if taps) or ((),)


@lru_cache(maxsize=1 << 12)
def out_blocks(axis: Axis, block: AxisBlock) -> int:
    """The number of blocks that the outputs are cut into."""
    return -(-axis.out // block.out)


@lru_cache(maxsize=1 << 10)
def _patches(axis: Axis, block: AxisBlock) -> tuple[tuple[int, ...], ...]:
    """By block of outputs and block of taps: the input positions read (see Axis.positions)."""
    return tuple(
        tuple(
            axis.positions(first, min(block.out, axis.out - first), taps)
            for taps in tap_blocks(axis, block)
        )
        for first in range(0, axis.out, block.out)
    )


@lru_cache(maxsize=1 << 12)
def largest_patch(axis: Axis, block: AxisBlock) -> int:
    """The most input positions under one block."""
    return max(patch.bit_count() for row in _patches(axis, block) for patch in row)


@lru_cache(maxsize=1 << 14)
def shared(axis: Axis, block: AxisBlock, out: Move, taps: Move) -> int:
    """Input positions under a block and its successor both, summed over all pairs of them."""
    patches = _patches(axis, block)
    # The patch of one block of outputs starts so many positions after that of the one before.
    shift = axis.stride * block.out
    return sum(
        (
            _aligned(patches[before][left], shift * (after - before)) & patches[after][right]
        ).bit_count()
        for before, after in pairs(len(patches), out)
        for left, right in pairs(len(patches[0]), taps)
    )


def _aligned(positions: int, shift: int) -> int:
    """Bits counted from so many positions later on."""
    return positions >> shift if shift >= 0 else positions << -shift
