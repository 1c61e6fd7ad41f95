"""A blocked convolution, and the exact number of words that it moves.

The blocks of a nest (groups outermost) are executed one after the other in lexicographic order.  A
block needs its input patch, its filters and its outputs in fast memory.  What the next block does
not need is dropped, outputs are stored; then what is missing is loaded.  So an element stays when
two blocks in succession need it, which includes the halo between neighbouring patches.  An output
is not loaded for its first block: its sum begins there.  Taps that meet only padding are no part
of any block.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import permutations, product
from typing import NamedTuple

from edgeconv.target.bounds.patches import (
    AxisBlock,
    Move,
    largest_patch,
    out_blocks,
    pairs,
    shared,
    tap_blocks,
)
from edgeconv.target.bounds.shape import ConvShape, Precision


class Loop(NamedTuple):
    """A loop over the blocks of one dimension: "batch", "in_c", "out_c", "out" or "taps"."""

    over: str
    axis: int = 0


Order = tuple[Loop, ...]  # outermost first

BATCH, IN_C, OUT_C = Loop("batch"), Loop("in_c"), Loop("out_c")
_FILTER_LOOPS = frozenset({"in_c", "out_c", "taps"})
_OUTPUT_LOOPS = frozenset({"batch", "out_c", "out"})


@dataclass(frozen=True, slots=True)
class Blocking:
    """Sizes of a block; channels are those of one group.  One ``AxisBlock`` per axis."""

    batch: int
    in_c: int
    out_c: int
    axes: tuple[AxisBlock, ...]


@dataclass(frozen=True, slots=True)
class Moved:
    """Words between fast and slow memory, by array, with the loops in the given order."""

    input: float
    filter: float
    output: float
    order: Order

    @property
    def words(self) -> float:
        """All of them."""
        return self.input + self.filter + self.output


def footprint(blocking: Blocking, shape: ConvShape, precision: Precision) -> float:
    """Words of fast memory that hold any one block."""
    axes = list(zip(shape.axes, blocking.axes, strict=True))
    patch = blocking.batch * blocking.in_c * math.prod(largest_patch(*pair) for pair in axes)
    taps = math.prod(max(len(taps) for taps in tap_blocks(*pair)) for pair in axes)
    pixels = blocking.batch * math.prod(block.out for block in blocking.axes)
    return (
        precision.input * patch
        + precision.filter * blocking.in_c * blocking.out_c * taps
        + precision.partial * blocking.out_c * pixels
    )


def trips(blocking: Blocking, shape: ConvShape) -> dict[Loop, int]:
    """The iterations of every loop over the blocks of one group."""
    counts = {
        BATCH: -(-shape.batch // blocking.batch),
        IN_C: -(-shape.group_in_c // blocking.in_c),
        OUT_C: -(-shape.group_out_c // blocking.out_c),
    }
    for index, pair in enumerate(zip(shape.axes, blocking.axes, strict=True)):
        counts[Loop("out", index)] = out_blocks(*pair)
        counts[Loop("taps", index)] = len(tap_blocks(*pair))
    return counts


def orders(blocking: Blocking, shape: ConvShape) -> Iterator[Order]:
    """The loop orders worth trying, without the loops of one iteration.

    An array stays where the innermost loops do not index it.  So the pixels, the input channels
    with the taps, and the filters each stay together, in every order of the three; within them
    the axes in both directions, and the taps inside the input channels or around them.
    """
    counts = trips(blocking, shape)
    forward = range(len(shape.axes))
    seen = set()
    for axes, channels_first in product((forward, forward[::-1]), (True, False)):
        taps = tuple(Loop("taps", axis) for axis in axes)
        pixels = (BATCH, *(Loop("out", axis) for axis in axes))
        reduction = (IN_C, *taps) if channels_first else (*taps, IN_C)
        for classes in permutations((pixels, reduction, (OUT_C,))):
            order = tuple(loop for loops in classes for loop in loops if counts[loop] > 1)
            if order not in seen:
                seen.add(order)
                yield order


def words_moved(
    blocking: Blocking, shape: ConvShape, precision: Precision, order: Order | None = None
) -> Moved:
    """The words that this blocking moves, in ``order`` or the best one of ``orders``.

    ``order`` names at least the loops of more than one iteration.
    """
    counts = trips(blocking, shape)
    if order is None:
        chosen = orders(blocking, shape)
    else:
        chosen = iter((tuple(loop for loop in order if counts[loop] > 1),))
    moved = (_moved(blocking, shape, precision, loops, counts) for loops in chosen)
    return min(moved, key=lambda entry: entry.words)


def _moved(
    blocking: Blocking,
    shape: ConvShape,
    precision: Precision,
    order: Order,
    counts: dict[Loop, int],
) -> Moved:
    filter_loads = _times(order, counts, _FILTER_LOOPS)
    # Every pass over the outputs stores them, all but the first one load them: the last store
    # writes results, what comes before moves sums.
    sums_moved = 2 * (_times(order, counts, _OUTPUT_LOOPS) - 1)
    words_per_output = precision.output + sums_moved * precision.partial
    return Moved(
        input=precision.input * shape.groups * _input_loads(blocking, shape, order, counts),
        filter=precision.filter * shape.filter_touched * filter_loads,
        output=shape.output_elements * words_per_output,
        order=order,
    )


def _times(order: Order, counts: dict[Loop, int], indexing: frozenset[str]) -> int:
    """How often an array is gone through, whose blocks the loops in ``indexing`` select.

    Once for every iteration of the other loops that lie around one of those.
    """
    times, inside = 1, False
    for loop in reversed(order):
        if loop.over not in indexing:
            times *= counts[loop] if inside else 1
        elif counts[loop] > 1:
            inside = True
    return times


def _input_loads(
    blocking: Blocking, shape: ConvShape, order: Order, counts: dict[Loop, int]
) -> int:
    """Input elements that one group loads: those of all blocks, less those still there.

    A block's successor comes from one loop that steps, while the loops around it stay and those
    inside wrap.
    """
    loads = _shared_input(blocking, shape, counts, {})
    for position, stepping in enumerate(order):
        moves = dict.fromkeys(order[position + 1 :], Move.WRAP)
        moves[stepping] = Move.NEXT
        loads -= _shared_input(blocking, shape, counts, moves)
    return loads


def _shared_input(
    blocking: Blocking, shape: ConvShape, counts: dict[Loop, int], moves: dict[Loop, Move]
) -> int:
    """Input elements common to a block and its successor, summed over all pairs of them that
    ``moves`` describes (loops not named stay); without moves, the elements of all blocks.
    """
    for loop in (BATCH, IN_C):
        # Blocks of images and of channels have nothing in common.
        if counts[loop] > 1 and loop in moves:
            return 0
    elements = len(pairs(counts[OUT_C], moves.get(OUT_C, Move.STAY)))
    elements *= shape.batch * shape.group_in_c
    for index, (axis, block) in enumerate(zip(shape.axes, blocking.axes, strict=True)):
        out = moves.get(Loop("out", index), Move.STAY)
        taps = moves.get(Loop("taps", index), Move.STAY)
        elements *= shared(axis, block, out, taps)
    return elements
