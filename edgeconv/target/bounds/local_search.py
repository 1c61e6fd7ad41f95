"""Blockings from neighbouring ones: grow a size, or shrink one and grow another."""

from __future__ import annotations

from collections.abc import Iterator

from edgeconv.target.bounds.blocking import Blocking, footprint, words_moved
from edgeconv.target.bounds.patches import AxisBlock
from edgeconv.target.bounds.shape import ConvShape, Precision

# All sizes of a blocking, in this order: images, input channels, output channels, then by axis
# outputs, repeats and phases.
Sizes = tuple[int, ...]
FIXED, PER_AXIS = 3, 3


def limits_of(shape: ConvShape) -> Sizes:
    """The largest value of every size."""
    limits = [shape.batch, shape.group_in_c, shape.group_out_c]
    for axis in shape.axes:
        limits += [axis.out, axis.repeats, axis.phases]
    return tuple(limits)


def blocking_of(sizes: Sizes) -> Blocking:
    """The blocking with these sizes."""
    batch, in_c, out_c, *rest = sizes
    axes = (AxisBlock(*rest[first : first + PER_AXIS]) for first in range(0, len(rest), PER_AXIS))
    return Blocking(batch, in_c, out_c, tuple(axes))


def sizes_of(blocking: Blocking) -> Sizes:
    """The sizes of a blocking."""
    axes = ((block.out, block.repeats, block.phases) for block in blocking.axes)
    return (
        blocking.batch,
        blocking.in_c,
        blocking.out_c,
        *(size for axis in axes for size in axis),
    )


def replaced(sizes: Sizes, index: int, size: int) -> Sizes:
    """``sizes`` with another one at ``index``."""
    return (*sizes[:index], size, *sizes[index + 1 :])


class LocalSearch:
    """Better blockings of one convolution in a fast memory of so many words."""

    def __init__(self, shape: ConvShape, precision: Precision, memory_words: float) -> None:
        self.shape, self.precision, self.memory_words = shape, precision, memory_words
        self.limits = limits_of(shape)

    def fits(self, sizes: Sizes) -> bool:
        """Whether every block fits the fast memory."""
        return footprint(blocking_of(sizes), self.shape, self.precision) <= self.memory_words

    def words(self, sizes: Sizes) -> float:
        """Words moved in the best order of the loops."""
        return words_moved(blocking_of(sizes), self.shape, self.precision).words

    def blocks(self, sizes: Sizes, index: int) -> int:
        """How many blocks the size at ``index`` makes."""
        return -(-self.limits[index] // sizes[index])

    def even(self, sizes: Sizes, index: int, blocks: int) -> Sizes:
        """``sizes`` with the smallest size at ``index`` that makes at most so many ``blocks``."""
        return replaced(sizes, index, -(-self.limits[index] // blocks))

    def grown(self, sizes: Sizes) -> Sizes:
        """Grow the size whose growth to one block fewer saves most words, until nothing fits or
        saves.
        """
        best = self.words(sizes)
        while True:
            larger = (
                self.even(sizes, index, blocks - 1)
                for index in range(len(sizes))
                if (blocks := self.blocks(sizes, index)) > 1
            )
            candidates = [(self.words(entry), entry) for entry in larger if self.fits(entry)]
            words, chosen = min(candidates, default=(best, sizes))
            if words >= best:
                return sizes
            best, sizes = words, chosen

    def exchanged(self, sizes: Sizes) -> Sizes:
        """Shrink one size, grow another as far as it fits, then grow: the pair that saves most,
        again and again until none saves.
        """
        best = self.words(sizes)
        while True:
            neighbours = set(self._exchanges(sizes))
            candidates = [(self.words(entry), entry) for entry in neighbours]
            words, chosen = min(candidates, default=(best, sizes))
            if words >= best:
                return sizes
            sizes = self.grown(chosen)
            best = self.words(sizes)

    def _exchanges(self, sizes: Sizes) -> Iterator[Sizes]:
        for shrinking, size in enumerate(sizes):
            one_block_more = -(-self.limits[shrinking] // (self.blocks(sizes, shrinking) + 1))
            for smaller in {1, size // 2, one_block_more}:
                if 0 < smaller < size:
                    shrunk = replaced(sizes, shrinking, smaller)
                    for growing in range(len(sizes)):
                        if growing != shrinking and self.blocks(sizes, growing) > 1:
                            yield self._largest(shrunk, growing)

    def _largest(self, sizes: Sizes, index: int) -> Sizes:
        """``sizes``, which fit, with the largest one at ``index`` that does (by bisection)."""
        low, high = 1, self.blocks(sizes, index)
        while low < high:
            middle = (low + high) // 2
            if self.fits(self.even(sizes, index, middle)):
                high = middle
            else:
                low = middle + 1
        return self.even(sizes, index, low)


def refined_blocking(
    blocking: Blocking, shape: ConvShape, precision: Precision, memory_words: float
) -> Blocking:
    """A blocking in ``memory_words`` that moves no more words than ``blocking``, which fits.

    The linear program gives each array a third of the memory.  A matrix product moves fewest
    words when its outputs take nearly all of it, one input channel at a time: exchanging one size
    against another finds that.
    """
    search = LocalSearch(shape, precision, memory_words)
    return blocking_of(search.exchanged(search.grown(sizes_of(blocking))))
