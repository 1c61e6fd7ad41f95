"""Constants of a depthwise layer in the order in which ec_conv_depthwise_int8.h reads them."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from edgeconv.algorithms.int8_depthwise.rows import DotRow, channel_order, together
from edgeconv.requantisation import Form

PAIR = 2
Words = npt.NDArray[np.int32]


def words_of(kernel: tuple[int, int, int], row: DotRow, each: int = 2) -> int:
    """Words of a channel: what its sum starts with, its multiplier, ``each`` such in all, and its
    filter."""
    return each + kernel[2] * -(-kernel[0] * kernel[1] // row.rows)


def word_count(
    channels: int, kernel: tuple[int, int, int], row: DotRow, lanes: int, each: int = 2
) -> int:
    """Words of all channels, of whole vectors."""
    return -(-channels // lanes) * lanes * words_of(kernel, row, each)


def channel_words(
    filters: npt.NDArray[np.int64], form: Form, row: DotRow, lanes: int, *, four: bool
) -> Words:
    """Stretch by stretch starts, multipliers, what else the form has, and filters by kernel columns
    and sets of ``row.rows`` kernel rows.

    ``filters`` has the shape (channels, 1, kernel ...); ``four`` vectors of channels go together
    where they can.
    """
    count, columns = len(filters), filters.shape[-1]
    rows = math.prod(filters.shape[2:-1])
    missing = -count % lanes, -rows % row.rows
    start = form.start - row.shift * filters.reshape(count, -1).sum(axis=1)
    ends = np.pad(np.stack([start, *form.words[1:]]), ((0, 0), (0, missing[0])))
    taps = np.pad(filters.reshape(count, rows, columns), ((0, missing[0]), (0, missing[1]), (0, 0)))
    # channel, kernel column, set, row of the set
    sets = taps.reshape(len(taps), -1, row.rows, columns).transpose(0, 3, 1, 2)
    parts: list[Words] = []
    first = 0
    for stretch in together(count, lanes, four=four):
        order = first + np.array(channel_order(stretch, lanes))
        vectors = sets[order].reshape(-1, lanes, columns, sets.shape[2], row.rows)
        # kernel column, set, vector, then words or pairs of all of them
        halves = vectors.reshape(*vectors.shape[:-1], -1, PAIR if row.pairs else row.rows)
        elements = halves.transpose(2, 3, 0, 4, 1, 5).astype(row.element)
        words = np.ascontiguousarray(elements).reshape(-1).view(np.int32)
        parts += [ends[:, order].reshape(-1).astype(np.int32), words]
        first += stretch
    return np.concatenate(parts)
