"""Constants of a depthwise layer in the order in which ec_conv_depthwise_int8.h reads them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from edgeconv.algorithms.int8_depthwise.rows import DotRow, channel_order, together
from edgeconv.algorithms.problem import ConvProblem
from edgeconv.requantisation import Form

PAIR = 2
Words = npt.NDArray[np.int32]


def words_of(kernel: tuple[int, int, int], row: DotRow, each: int = 2) -> int:
    """Words of a channel: what its sum starts with, its multiplier, ``each`` such in all, and its
    filter."""
    return each + kernel[2] * sets_of(kernel, row)


def word_count(problem: ConvProblem, row: DotRow, lanes: int, each: int = 2, *, four: bool) -> int:
    """Words of all channels, of whole vectors, of which ``four`` go together where they can."""
    channels = -(-problem.in_c // lanes) * lanes
    if not has_zero_points(problem, row):
        return channels * words_of(problem.kernel, row, each)
    ones = len(together(problem.in_c, lanes, four=four)) * lanes * sets_of(problem.kernel, row)
    return channels * words_of(problem.kernel, row, each + 1) + ones


def has_zero_points(problem: ConvProblem, row: DotRow) -> bool:
    """What is multiplied are filters with zero points: int16 holds them less these."""
    return problem.asymmetric and row.element == "int8"


def sets_of(kernel: tuple[int, int, int], row: DotRow) -> int:
    """Of kernel rows that make a word."""
    return -(-kernel[0] * kernel[1] // row.rows)


def channel_words(
    filters: npt.NDArray[np.int64],
    form: Form,
    row: DotRow,
    lanes: int,
    *,
    four: bool,
    zeros: npt.NDArray[np.int64] | None = None,
) -> Words:
    """Stretch by stretch starts, multipliers, what else the form has, and filters by kernel columns
    and sets of ``row.rows`` kernel rows.

    ``filters`` has the shape (channels, 1, kernel ...); ``four`` vectors of channels go together
    where they can.  With ``zeros``, one per channel, these are stored more, and in front of them,
    negative; words of ones end a stretch, zeros where rows are missing.
    """
    count, kernel = len(filters), filters.shape[2:]
    start = form.start - row.shift * filters.reshape(count, -1).sum(axis=1)
    around = [] if zeros is None else [-zeros]
    missing = -count % lanes
    ends = np.pad(np.stack([start, *form.words[1:], *around]), ((0, 0), (0, missing)))
    stored = filters if zeros is None else filters + zeros.reshape(-1, *(1,) * (filters.ndim - 1))
    sets = _sets(np.pad(stored, ((0, missing), *((0, 0),) * (filters.ndim - 1))), row)
    ones = _sets(np.ones((lanes, 1, *kernel[:-1], 1), np.int64), row)
    behind = [] if zeros is None else [_words(ones, row, lanes)]
    parts: list[Words] = []
    first = 0
    for stretch in together(count, lanes, four=four):
        order = first + np.array(channel_order(stretch, lanes))
        words = _words(sets[order], row, lanes)
        parts += [ends[:, order].reshape(-1).astype(np.int32), words, *behind]
        first += stretch
    return np.concatenate(parts)


def _sets(filters: npt.NDArray[np.int64], row: DotRow) -> npt.NDArray[np.int64]:
    """Filters by channel, kernel column, set of rows and row of that; zeros fill up."""
    count, columns = len(filters), filters.shape[-1]
    taps = filters.reshape(count, -1, columns)
    whole = np.pad(taps, ((0, 0), (0, -taps.shape[1] % row.rows), (0, 0)))
    return whole.reshape(count, -1, row.rows, columns).transpose(0, 3, 1, 2)


def _words(sets: npt.NDArray[np.int64], row: DotRow, lanes: int) -> Words:
    """By kernel column, set and vector of channels words, or pairs of all of them."""
    vectors = sets.reshape(-1, lanes, *sets.shape[1:])
    halves = vectors.reshape(*vectors.shape[:-1], -1, PAIR if row.pairs else row.rows)
    elements = halves.transpose(2, 3, 0, 4, 1, 5).astype(row.element)
    return np.ascontiguousarray(elements).reshape(-1).view(np.int32)
