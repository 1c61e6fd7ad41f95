"""States at the beginning of an arena, so that they can lie apart from the rest of it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import pairwise

from edgeconv.search.memory.blocks import Block
from edgeconv.search.memory.offsets import Packing, packings_above


def kept_first(blocks: Sequence[Block], packing: Packing, kept: Collection[int]) -> Packing:
    """``packing`` with the blocks ``kept`` below all others, where that takes no more bytes;
    otherwise ``packing`` itself.

    Of the others those alone lie below the end of the kept ones that do so with all their bytes:
    over a kept block that is not in use throughout, as is a window of which a part is the state.
    """
    if not kept:
        return packing
    tops = [max(rect.high for rect in block) for block in blocks]
    first, below = dict[int, int](), 0
    for i in sorted(kept, key=lambda i: packing.bases[i]):
        first[i], below = below, below + tops[i]
    closed = _closed_up(packing, tops, first)
    if closed is not None:
        return closed
    for found in packings_above(blocks, first):
        if found.height <= packing.height:
            return found
    return packing


def _closed_up(packing: Packing, tops: Sequence[int], first: dict[int, int]) -> Packing | None:
    """``packing`` with the blocks ``first`` at the bases given, and what was above one of them as
    much further down; None where anything lies neither above nor below, another one of ``first``
    included, which may share bytes that are not in use throughout."""
    below = sum(tops[i] for i in first)
    ranges = sorted((packing.bases[i], packing.bases[i] + tops[i]) for i in first)
    if any(begin < end for (_, end), (begin, _) in pairwise(ranges)):
        return None
    bases = []
    for i, (base, top) in enumerate(zip(packing.bases, tops, strict=True)):
        if i not in first and any(base < end and begin < base + top for begin, end in ranges):
            return None
        above = sum(end - begin for begin, end in ranges if base >= end)
        bases.append(first.get(i, base - above + below))
    return Packing(tuple(bases), packing.height)
