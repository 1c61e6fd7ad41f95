"""SPACE_TO_BATCH_ND and BATCH_TO_SPACE_ND: blocks of rows and columns as images of their own."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from edgeconv.model.frontend.tflite.elements import zero_points
from edgeconv.model.frontend.tflite.writing import UnsupportedError, Writing
from edgeconv.model.tflite import Operator


def blocks_and_pairs(
    out: Writing, operator: Operator, what: str
) -> tuple[list[int], list[tuple[int, int]]]:
    """Sizes of blocks, and what is padded or cut in front of and behind each dimension that has
    them."""
    block, given = out.whole(operator, 1, "a block"), out.whole(operator, 2, what)
    rank = len(out.tensor(operator, 0).shape)
    if len(given) != 2 * len(block) or not 0 < len(block) < rank or min([*block, *given]) < 0:
        raise UnsupportedError(f"block {block}, {what} {given} of {rank} dimensions")
    if not all(block):
        raise UnsupportedError(f"block {block}")
    return block, list(zip(given[0::2], given[1::2], strict=True))


def space_to_batch(out: Writing, operator: Operator) -> None:
    """SPACE_TO_BATCH_ND: an image for each place in a block, in front of the batch.  What is padded
    stands for 0, as LiteRT's kernels have it."""
    block, pads = blocks_and_pairs(out, operator, "padding")
    tensor, count = out.tensor(operator, 0), len(block)
    batch, *sizes = tensor.shape
    y = out.stored(operator, 0)
    if any(map(sum, pads)):
        rest = [0] * (len(sizes) - count)
        begins, ends = ([0, *(pair[end] for pair in pads), *rest] for end in (0, 1))
        zero = zero_points(tensor)[0] if tensor.scale else 0
        if zero:
            out.differs(operator, "padded with the zero point; TensorFlow Lite Micro pads with 0")
        y = out.add(
            "Pad", [y, out.value([*begins, *ends]), out.value(zero, np.dtype(tensor.dtype))]
        )
    padded = [size + sum(pair) for size, pair in zip(sizes, pads, strict=False)]
    if tensor.free or any(size % edge for size, edge in zip(padded, block, strict=True)):
        raise UnsupportedError(f"blocks of {block} in {padded}")
    parts = [
        part for size, edge in zip(padded, block, strict=True) for part in (size // edge, edge)
    ]
    y = out.add("Reshape", [y, out.value([batch, *parts, *sizes[count:]])])
    rows, places = range(1, 2 * count, 2), range(2, 2 * count + 1, 2)
    left = range(2 * count + 1, 2 * count + 1 + len(sizes) - count)
    y = out.transposed(y, (*places, 0, *rows, *left))
    shape = [batch * math.prod(block), *parts[0::2], *sizes[count:]]
    out.move(operator, out.add("Reshape", [y, out.value(shape)], main=True))


def batch_to_space(out: Writing, operator: Operator) -> None:
    """BATCH_TO_SPACE_ND: the same back, and less at the edges."""
    block, cuts = blocks_and_pairs(out, operator, "crops")
    tensor, count = out.tensor(operator, 0), len(block)
    batch, *sizes = tensor.shape
    if tensor.free or batch % math.prod(block):
        raise UnsupportedError(f"blocks of {block} of a batch of {batch}")
    batch //= math.prod(block)
    y = out.add("Reshape", [out.stored(operator, 0), out.value([*block, batch, *sizes])])
    order = [axis for i in range(count) for axis in (count + 1 + i, i)]
    y = out.transposed(y, (count, *order, *range(2 * count + 1, count + 1 + len(sizes))))
    whole = [size * edge for size, edge in zip(sizes, block, strict=False)]
    y = out.add("Reshape", [y, out.value([batch, *whole, *sizes[count:]])], main=True)
    out.move(operator, _cut(out, y, whole, cuts))


def _cut(out: Writing, name: str, sizes: Sequence[int], cuts: Sequence[tuple[int, int]]) -> str:
    if not any(map(sum, cuts)):
        return name
    begins = [begin for begin, _ in cuts]
    ends = [size - end for size, (_, end) in zip(sizes, cuts, strict=True)]
    axes = range(1, 1 + len(cuts))
    return out.add("Slice", [name, *map(out.value, (begins, ends, axes))])
