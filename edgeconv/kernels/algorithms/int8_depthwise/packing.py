"""Constants of a depthwise layer in the order in which ec_conv_depthwise_int8.h reads them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from edgeconv.ir.requantisation import Form
from edgeconv.kernels.algorithms.int8_depthwise.stretches import channel_order, together
from edgeconv.kernels.algorithms.int8_depthwise.words import WordShape
from edgeconv.kernels.algorithms.problem import ConvProblem
from edgeconv.target.dot_row import DotRow

Words = npt.NDArray[np.int32]


def words_of(kernel: tuple[int, int, int], shape: WordShape, each: int = 2) -> int:
    """Words of a channel: what its sum starts with, its multiplier, ``each`` such in all, and its
    filter."""
    return each + shape.count(kernel)


def word_count(
    problem: ConvProblem,
    row: DotRow,
    shape: WordShape,
    lanes: int,
    each: int = 2,
    *,
    four: bool,
) -> int:
    """Words of all channels, of whole vectors, of which ``four`` go together where they can;
    ``problem``: as it is computed."""
    channels = -(-problem.in_c // lanes) * lanes
    if not has_zero_points(problem, row):
        return channels * words_of(problem.kernel, shape, each)
    stretches = len(together(problem.in_c, lanes, four=four))
    ones = stretches * lanes * shape.count(problem.kernel)
    return channels * words_of(problem.kernel, shape, each + 1) + ones


def has_zero_points(problem: ConvProblem, row: DotRow) -> bool:
    """What is multiplied are filters with zero points: int16 holds them less these."""
    return problem.asymmetric and row.element == "int8"


def channel_words(
    filters: npt.NDArray[np.int64],
    form: Form,
    row: DotRow,
    shape: WordShape,
    lanes: int,
    *,
    four: bool,
    zeros: npt.NDArray[np.int64] | None = None,
) -> Words:
    """Stretch by stretch starts, multipliers, what else the form has, and filters, vector by
    vector, by sets of kernel rows and the words across them.

    ``filters`` has the shape (channels, 1, kernel ...); ``four`` vectors of channels go together
    where they can.  With ``zeros``, one per channel, these are stored more, and in front of them,
    negative; a filter of ones for one vector ends a stretch.
    """
    count = len(filters)
    start = form.start - row.shift * filters.reshape(count, -1).sum(axis=1)
    around = [] if zeros is None else [-zeros]
    missing = -count % lanes
    ends = np.pad(np.stack([start, *form.words[1:], *around]), ((0, 0), (0, missing)))
    stored = filters if zeros is None else filters + zeros.reshape(-1, *(1,) * (filters.ndim - 1))
    taps = np.pad(_taps(stored, row, shape), ((0, missing), *((0, 0),) * 4))
    ones = _taps(np.ones((lanes, *filters.shape[1:]), np.int64), row, shape)
    behind = [] if zeros is None else [_words(ones, row, lanes)]
    found: list[Words] = []
    first = 0
    for stretch in together(count, lanes, four=four):
        vector = stretch if row.grouped else lanes
        order = first + np.array(channel_order(stretch, vector))
        words = _words(taps[order], row, vector)
        found += [ends[:, order].reshape(-1).astype(np.int32), words, *behind]
        first += stretch
    return np.concatenate(found)


def _taps(filters: npt.NDArray[np.int64], row: DotRow, shape: WordShape) -> npt.NDArray[np.int64]:
    """Filters by channel, set, word of a row, pair or whole of it, and element; zeros fill up."""
    count, columns = len(filters), filters.shape[-1]
    taps = filters.reshape(count, -1, columns)
    missing = -taps.shape[1] % shape.down, -columns % shape.across
    taps = np.pad(taps, ((0, 0), *((0, more) for more in missing)))
    words = taps.reshape(count, -1, shape.down, taps.shape[2] // shape.across, shape.across)
    elements = words.transpose(0, 1, 3, 2, 4)  # rows and columns of a word last
    return elements.reshape(*elements.shape[:3], -1, row.together)


def _words(taps: npt.NDArray[np.int64], row: DotRow, lanes: int) -> Words:
    """By vector, set and word of a row words, or pairs of all channels of the vector."""
    vectors = taps.reshape(-1, lanes, *taps.shape[1:])
    words = np.ascontiguousarray(vectors.transpose(0, 2, 3, 4, 1, 5), row.element)
    return words.reshape(-1).view(np.int32)
