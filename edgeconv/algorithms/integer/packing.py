"""Constants of integer layers in the order in which the loops of ec_int8_*.h read them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from edgeconv.requantisation import Fixed

Floats = npt.NDArray[np.float32]
Words = npt.NDArray[np.int32]
QUAD = 4  # numbers of a filter that lie side by side
DEPTHWISE_CHANNELS, DEPTHWISE_WORDS = 4, 26
FOUR, SIXTEEN = 4, 16  # filters that Helium sums together, and their numbers that lie side by side
EIGHTS_CHANNELS, EIGHTS_WORDS = 8, 34  # of its depthwise layers
_COLUMN = 12  # int16 of a column of three rows and four channels


def in_quads(weights: Floats, together: int) -> Floats:
    """Filters of shape (out_c, in_c, kernel_h, kernel_w), or (out_c, in_c), `together` at a time.

    Quad by quad, of each filter four numbers.  Of a kernel come, row by row, columns and channels
    as far as they make whole quads, and then what is left of each row.  Zeros fill up.
    """
    images = weights.reshape(*weights.shape[:2], -1, weights.shape[-1] if weights.ndim > 2 else 1)
    out_c = len(images)
    rows = images.transpose(0, 2, 3, 1).reshape(out_c, images.shape[2], -1)
    whole = rows.shape[2] // QUAD * QUAD
    parts = (rows[:, :, :whole].reshape(out_c, -1), rows[:, :, whole:].reshape(out_c, -1))
    flat = np.concatenate(parts, axis=1)
    missing = -out_c % together, -flat.shape[1] % QUAD
    padded = np.pad(flat, ((0, missing[0]), (0, missing[1])))
    tiles = padded.reshape(-1, together, padded.shape[1] // QUAD, QUAD)
    return np.ascontiguousarray(tiles.transpose(0, 2, 1, 3)).reshape(-1)


def channel_words(form: Fixed, together: int) -> Words:
    """Of every ``together`` channels the starts, then the multipliers; zeros fill up."""
    pair = np.stack([form.start, form.multiplier])
    padded = np.pad(pair, ((0, 0), (0, -pair.shape[1] % together)))
    return padded.reshape(2, -1, together).transpose(1, 0, 2).reshape(-1).astype(np.int32)


def depthwise_words(filters: npt.NDArray[np.int64], form: Fixed) -> Words:
    """Of every four channels starts, filters of shape (channels, 1, 3, 3) as int16, multipliers.

    Column by column, for channels 0 and 2, then 1 and 3: the first two rows of either, and of the
    third row the pair.
    """
    count = len(filters)
    rows = np.pad(filters.reshape(count, 3, 3), ((0, -count % DEPTHWISE_CHANNELS), (0, 0), (0, 0)))
    groups = rows.reshape(-1, 2, 2, 3, 3)  # channel / 2, channel % 2, kernel row, column
    first = groups[:, :, :, :2].transpose(0, 4, 2, 1, 3).reshape(len(groups), 3, 2, 4)
    third = groups[:, :, :, 2].transpose(0, 3, 2, 1)
    window = np.concatenate([first, third], axis=3).reshape(len(groups), 3 * _COLUMN)
    halves = np.ascontiguousarray(window.astype("<i2")).view("<i4")
    ends = channel_words(form, DEPTHWISE_CHANNELS).reshape(-1, 2, DEPTHWISE_CHANNELS)
    return np.concatenate([ends[:, 0], halves, ends[:, 1]], axis=1).reshape(-1).astype(np.int32)


def in_sixteens(weights: Floats) -> Floats:
    """Filters of shape (out_c, in_c, kernel_h, kernel_w), or (out_c, in_c), four at a time.

    Of each filter 16 numbers, kernel rows, columns and channels, then the next 16.  Zeros fill up.
    """
    flat = np.moveaxis(weights, 1, -1).reshape(len(weights), -1)
    padded = np.pad(flat, ((0, -len(flat) % FOUR), (0, -flat.shape[1] % SIXTEEN)))
    tiles = padded.reshape(-1, FOUR, padded.shape[1] // SIXTEEN, SIXTEEN)
    return np.ascontiguousarray(tiles.transpose(0, 2, 1, 3)).reshape(-1)


def eights_words(filters: npt.NDArray[np.int64], form: Fixed) -> Words:
    """Of every eight channels the starts of the even ones, then of the odd ones, the multipliers
    likewise, and the filters, of shape (channels, 1, 3, 3), as bytes: column by column."""
    missing = -len(filters) % EIGHTS_CHANNELS
    taps = np.pad(filters.reshape(-1, 3, 3), ((0, missing), (0, 0), (0, 0)))
    columns = taps.reshape(-1, EIGHTS_CHANNELS, 3, 3).transpose(0, 3, 2, 1).astype(np.int8)
    bytes_ = np.ascontiguousarray(columns).reshape(len(columns), -1).view("<i4")
    ends = np.pad(np.stack([form.start, form.multiplier]), ((0, 0), (0, missing)))
    lanes = ends.reshape(2, -1, EIGHTS_CHANNELS // 2, 2).transpose(1, 0, 3, 2)
    return np.concatenate([lanes.reshape(len(columns), -1), bytes_], axis=1).reshape(-1)
