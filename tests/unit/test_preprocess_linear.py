"""Tables of bytes' results as linear functions."""

from __future__ import annotations

import numpy as np
import pytest

from edgeconv.kernels.ops.preprocess_linear import linear

VALUES = np.arange(256)


@pytest.mark.parametrize(
    ("slopes", "starts", "low", "high"),
    [
        ((1.0, 1.0), (-128.0, -128.0), -128, 127),
        ((0.917, 0.932, 0.928), (-110.3, -101.7, -90.0), -128, 127),
        ((-0.3713,), (64.0,), -128, 127),
        ((3.0,), (-300.0,), 0, 127),
        ((128.417, 128.417, 130.1), (-16000.7, -16000.0, 9.57), -32768, 32767),
        ((0.001,), (5.0,), -128, 127),
    ],
)
def test_every_number_of_a_table(
    slopes: tuple[float, ...], starts: tuple[float, ...], low: int, high: int
) -> None:
    rows = [VALUES * slope + start for slope, start in zip(slopes, starts, strict=True)]
    table = np.clip(np.rint(rows), low, high).astype(np.int64)
    found = linear(table, slopes)
    assert found
    for row, factor, offset in zip(table, found.factor, found.offset, strict=True):
        sums = VALUES * factor + offset
        assert np.abs(sums).max() < 1 << 31
        assert np.array_equal(np.clip(sums >> found.shift, found.low, found.high), row)


def test_the_shift_is_the_smallest() -> None:
    found = linear((VALUES - 127)[None], [1.0])
    assert found
    assert (found.alike, found.shift) == ((1, -127), 0)


def test_what_is_not_linear() -> None:
    table = np.rint(127 * np.tanh((VALUES - 128) / 64)).astype(np.int64)
    assert linear(table[None], [2.0]) is None
    halves = np.rint((VALUES - 128) / 2).astype(np.int64)  # to even: not alike on both sides
    assert linear(halves[None], [0.5]) is None
