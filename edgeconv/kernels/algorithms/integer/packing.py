"""Constants of integer layers in the order in which the loops of ec_int8_*.h read them."""

from __future__ import annotations

from typing import Any, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]
Words = npt.NDArray[np.int32]
Number = TypeVar("Number", bound=np.generic)
K_BLOCK = 4  # numbers of a filter that lie side by side
DEPTHWISE_CHANNELS = 4  # of a depthwise layer that are computed together
FOUR, SIXTEEN = 4, 16  # filters that Helium sums together, and their numbers that lie side by side
CHANNELS_1X8 = 8  # of its depthwise layers
SUMMED = 252  # int8 whose sum int16 holds, in k-blocks: EC_INT8_K_BLOCKS_SUMMED of ec_int8_panel.h
_COLUMN = 12  # int16 of a column of three rows and four channels
_PLACES = [0, 2, 1, 3]  # the order in which SXTB16 takes channels apart


class Worded(Protocol):
    """What a channel of a layer has besides its filter."""

    @property
    def words(self) -> tuple[Words, ...]:
        """For every channel what its sum starts with, then others."""
        ...


def padded(count: int, together: int) -> int:
    """``count``, and as many more as make whole ones of ``together``."""
    return -(-count // together) * together


def words_of(channels: int, taps: int, each: int = 2) -> int:
    """Words of so many channels of a depthwise layer: ``taps`` numbers of each, four bytes of two
    numbers or of four, and ``each`` of a channel: starts, multipliers ..."""
    return each * channels + 2 * taps


def by_group(filters: npt.NDArray[Number], groups: int, together: int) -> npt.NDArray[Number]:
    """Filters (first axis) of every one of ``groups`` with zeros behind, a multiple of
    ``together``."""
    parted = filters.reshape(groups, -1, *filters.shape[1:])
    missing = -parted.shape[1] % together
    whole = np.pad(parted, ((0, 0), (0, missing), *((0, 0),) * (filters.ndim - 1)))
    return whole.reshape(-1, *filters.shape[1:])


def sums_in(numbers: int) -> int:
    """Parts of a window of so many ``numbers`` whose sums lie behind it, where filters have zero
    points."""
    return -(-numbers // SUMMED)


def in_k_blocks(weights: Floats, together: int, behind: Floats | None = None) -> Floats:
    """Filters of shape (out_c, in_c, kernel_h, kernel_w), or (out_c, in_c), `together` at a time.

    K-block by k-block, of each filter four numbers.  Of a kernel come, row by row, columns and
    channels as far as they make whole k-blocks, then what is left of each row, then those
    ``behind``, of shape (out_c, number).  Zeros fill up.
    """
    images = weights.reshape(*weights.shape[:2], -1, weights.shape[-1] if weights.ndim > 2 else 1)
    out_c = len(images)
    rows = images.transpose(0, 2, 3, 1).reshape(out_c, images.shape[2], -1)
    side = rows.shape[2] // K_BLOCK * K_BLOCK
    parts = [rows[:, :, :side].reshape(out_c, -1), rows[:, :, side:].reshape(out_c, -1)]
    parts += [] if behind is None else [behind]
    flat = np.concatenate(parts, axis=1)
    missing = -out_c % together, -flat.shape[1] % K_BLOCK
    whole = np.pad(flat, ((0, missing[0]), (0, missing[1])))
    tiles = whole.reshape(-1, together, whole.shape[1] // K_BLOCK, K_BLOCK)
    return np.ascontiguousarray(tiles.transpose(0, 2, 1, 3)).reshape(-1)


def channel_words(
    form: Worded,
    together: int,
    groups: int = 1,
    by_sum: npt.NDArray[np.int64] | None = None,
    *,
    join: bool = False,
) -> Words:
    """Constants: for every ``together`` channels of a group the starts, then the multipliers, then
    what else the form has; behind those of a group what is ``by_sum`` of the inputs, one word per
    channel, if anything.  Zeros fill up.  ``join``: of the second of two channels 256 times its
    start and that of the first, in 32 bits."""
    each = len(form.words)
    words = np.stack(form.words).astype(np.int64).reshape(each, groups, -1)
    missing = -words.shape[2] % together
    whole = np.pad(words, ((0, 0), (0, 0), (0, missing)))
    if join:
        whole[0, :, 1::2] = whole[0, :, ::2] + 256 * whole[0, :, 1::2]
    own = whole.reshape(each, -1, together).transpose(1, 0, 2).reshape(groups, -1)
    if by_sum is not None:
        behind = np.pad(by_sum.reshape(groups, -1), ((0, 0), (0, missing)))
        own = np.concatenate([own, behind], axis=1)
    return own.reshape(-1).astype(np.int32)


def taps_words(filters: npt.NDArray[np.int64], form: Worded | None = None) -> Words:
    """Constants: for every four channels starts, filters of shape (channels, 1, kernel_h, kernel_w)
    as int16, and the rest of `channel_words`; filters alone without ``form``.

    Of channels 0, 2, 1 and 3 the pairs of two kernel rows each, column by column; then what a last
    row without another has, likewise.
    """
    rows, columns = filters.shape[2:]
    fours = by_group(filters, 1, DEPTHWISE_CHANNELS)
    fours = fours.reshape(-1, DEPTHWISE_CHANNELS, rows, columns)[:, _PLACES]
    tall = rows // 2 * 2
    pairs = fours[:, :, :tall].reshape(len(fours), DEPTHWISE_CHANNELS, -1, 2, columns)
    lone = fours[:, :, tall:].transpose(0, 3, 2, 1)
    parts = (pairs.transpose(0, 4, 2, 1, 3).reshape(len(fours), -1), lone.reshape(len(fours), -1))
    halves = np.ascontiguousarray(np.concatenate(parts, axis=1).astype("<i2")).view("<i4")
    return _around(halves, form)


def depthwise_words(filters: npt.NDArray[np.int64], form: Worded | None = None) -> Words:
    """Constants: for every four channels starts, filters of shape (channels, 1, 3, 3) as int16, and
    the rest of `channel_words`; filters alone without ``form``.

    Column by column, for channels 0 and 2, then 1 and 3: the first two rows of either, and of the
    third row the pair.
    """
    count = len(filters)
    rows = np.pad(filters.reshape(count, 3, 3), ((0, -count % DEPTHWISE_CHANNELS), (0, 0), (0, 0)))
    groups = rows.reshape(-1, 2, 2, 3, 3)  # channel / 2, channel % 2, kernel row, column
    first = groups[:, :, :, :2].transpose(0, 4, 2, 1, 3).reshape(len(groups), 3, 2, 4)
    third = groups[:, :, :, 2].transpose(0, 3, 2, 1)
    window = np.concatenate([first, third], axis=3).reshape(len(groups), 3 * _COLUMN)
    return _around(np.ascontiguousarray(window.astype("<i2")).view("<i4"), form)


def words_2x2(filters: npt.NDArray[np.int64], form: Worded | None = None) -> Words:
    """Constants: for every four channels, first 0 and 2, then 1 and 3: the starts; for every pair
    of rows of a window, column by column, filters of shape (channels, 1, kernel_h, kernel_w) as
    int16 under a window that begins with the first of a pair, then under one that begins with the
    second; the rest of `channel_words`; filters alone without ``form``."""
    rows, columns = filters.shape[2:]
    pairs = rows // 2 + 1
    fours = by_group(filters, 1, DEPTHWISE_CHANNELS).reshape(-1, 2, 2, rows, columns)
    after = 2 * pairs - rows
    rows_around = [(*((0, 0),) * 3, (before, after - before), (0, 0)) for before in (0, 1)]
    both = np.stack([np.pad(fours, around) for around in rows_around], axis=1)
    taps = both.reshape(len(fours), 2, 2, 2, pairs, 2, columns).transpose(0, 3, 6, 4, 1, 2, 5)
    words = np.ascontiguousarray(taps.astype("<i2")).view("<i4").reshape(len(fours), 2, -1)
    if form is None:
        return words.reshape(-1).astype(np.int32)
    halves = _by_four(form).reshape(len(fours), -1, 2, 2).transpose(0, 3, 1, 2)
    parts = [halves[:, :, 0], words, halves[:, :, 1:].reshape(len(fours), 2, -1)]
    return np.concatenate(parts, axis=2).reshape(-1).astype(np.int32)


def words_3x3_2x2(filters: npt.NDArray[np.int64], form: Worded) -> Words:
    """Constants: for every channel filters of shape (channels, 1, 3, 3) as int16, column by column
    those of rows 0 and 1, then 1 and 2; then its start and what else the form has, for whole
    fours."""
    columns = by_group(filters, 1, DEPTHWISE_CHANNELS)[:, 0].transpose(0, 2, 1)
    twice = np.ascontiguousarray(columns[:, :, [0, 1, 1, 2]].astype("<i2")).view("<i4")
    ends = _by_four(form).transpose(0, 2, 1).reshape(len(columns), -1)
    words = np.concatenate([twice.reshape(len(columns), -1), ends], axis=1)
    return words.reshape(-1).astype(np.int32)


def _by_four(form: Worded) -> Words:
    """By four channels the words of these, of shape (blocks, words, channel)."""
    return channel_words(form, DEPTHWISE_CHANNELS).reshape(-1, len(form.words), DEPTHWISE_CHANNELS)


def _around(filters: Words, form: Worded | None) -> Words:
    """Filters of every four channels between these channels' starts and their other words."""
    if form is None:
        return filters.reshape(-1).astype(np.int32)
    ends = channel_words(form, DEPTHWISE_CHANNELS).reshape(len(filters), -1)
    starts, others = np.split(ends, [DEPTHWISE_CHANNELS], axis=1)
    return np.concatenate([starts, filters, others], axis=1).reshape(-1).astype(np.int32)


def in_sixteens(weights: Floats) -> Floats:
    """Filters four at a time, of each 16 numbers, as `in_blocks`."""
    return in_blocks(weights, FOUR, SIXTEEN)


def in_blocks(weights: Floats, together: int, block: int) -> Floats:
    """Filters of shape (out_c, in_c, kernel_h, kernel_w), or (out_c, in_c), `together` at a time.

    Of each filter ``block`` numbers, kernel rows, columns and channels, then the next ones.  Zeros
    fill up.
    """
    flat = np.moveaxis(weights, 1, -1).reshape(len(weights), -1)
    whole = np.pad(flat, ((0, -len(flat) % together), (0, -flat.shape[1] % block)))
    tiles = whole.reshape(-1, together, whole.shape[1] // block, block)
    return np.ascontiguousarray(tiles.transpose(0, 2, 1, 3)).reshape(-1)


def words_1x8(
    filters: npt.NDArray[np.int64], form: Worded, stored: type[np.signedinteger[Any]] = np.int8
) -> Words:
    """Constants: for every eight channels the starts of the even ones and what else the form has of
    these, then of the odd ones, and the filters, of shape (channels, 1, kernel_h, kernel_w),
    ``stored`` as bytes or int16: column by column."""
    missing = -len(filters) % CHANNELS_1X8
    taps = by_group(filters, 1, CHANNELS_1X8).reshape(-1, CHANNELS_1X8, *filters.shape[2:])
    columns = taps.transpose(0, 3, 2, 1).astype(np.dtype(stored).newbyteorder("<"))
    bytes_ = np.ascontiguousarray(columns).reshape(len(columns), -1).view("<i4")
    each = len(form.words)
    ends = np.pad(np.stack(form.words), ((0, 0), (0, missing)))
    lanes = ends.reshape(each, -1, CHANNELS_1X8 // 2, 2).transpose(1, 3, 0, 2)
    return np.concatenate([lanes.reshape(len(columns), -1), bytes_], axis=1).reshape(-1)
