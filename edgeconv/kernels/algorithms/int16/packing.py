"""Constants of layers with int16 in the order in which the loops of ec_int16_*.h read them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from edgeconv.ir.requantisation.wide import Wide
from edgeconv.kernels.algorithms.filter_order import FilterOrder
from edgeconv.kernels.algorithms.int16.candidate import EIGHT, FILTERS, FOUR, K_BLOCK, Int16Plan
from edgeconv.kernels.algorithms.integer.packing import by_group, in_blocks

Floats = npt.NDArray[np.float32]
Words = npt.NDArray[np.int32]
_PLACES = [0, 2, 1, 3]  # of a k-block's numbers as bytes, which SXTB16 makes pairs of


def in_pairs(weights: Floats, groups: int) -> Floats:
    """Filters (out_c, in_c, kernel ...) of every group two at a time, k-block by k-block: of either
    the numbers 0, 2, 1 and 3, by kernel row, column and channel.  Zeros fill up."""
    flat = in_blocks(by_group(weights, groups, FILTERS), FILTERS, K_BLOCK)
    return np.ascontiguousarray(flat.reshape(-1, K_BLOCK)[:, _PLACES]).reshape(-1)


def in_k_blocks_of_eight(weights: Floats, groups: int) -> Floats:
    """The filters four at a time, of each eight numbers in their order."""
    return in_blocks(by_group(weights, groups, FOUR), FOUR, EIGHT)


def channel_words(form: Wide) -> Words:
    """Lower words of the multipliers of all channels, upper ones, and those of the offsets."""
    return np.concatenate(form.words)


def in_words(numbers: Floats) -> Words:
    """Numbers of float32, bit by bit."""
    return numbers.astype(np.float32).view(np.int32)


def row_order(plan: Int16Plan, out_c: int, groups: int, lanes: int) -> FilterOrder:
    """Filters of whole windows as a micro-kernel reads them; ``out_c`` of a group."""
    assert plan.row is not None
    total = -(-out_c // lanes) - plan.last
    last = (plan.last * lanes,) if plan.last else ()
    return FilterOrder(
        groups=groups,
        out_c=out_c,
        in_c=plan.numbers,
        taps=1,
        widths=((plan.vectors * lanes,) * (total // plan.vectors) + last),
        nc=plan.numbers,
        block=plan.numbers,
        k=plan.row.k,
        interleaves=plan.row.interleaves,
    )


def widened_rows(
    filters: npt.NDArray[np.integer[Any]], order: FilterOrder
) -> npt.NDArray[np.int16]:
    """Filters (out_c, in_c, kernel ...) in that order."""
    flat = np.moveaxis(filters, 1, -1).reshape(len(filters), -1)
    whole = np.pad(flat, ((0, 0), (0, order.in_c - flat.shape[1])))
    return order.pack(whole[:, :, None].astype(np.int16))


def taps_first(filters: npt.NDArray[np.integer[Any]]) -> npt.NDArray[np.int16]:
    """Filters (channels, 1, kernel ...) of a depthwise layer: of every kernel position all
    channels, and one more where their number is odd."""
    flat = filters.reshape(len(filters), -1).T.astype(np.int16).reshape(-1)
    return np.pad(flat, (0, flat.size % 2))
