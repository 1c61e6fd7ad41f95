"""Functions of integers of 16 bits: forms that are proven to be what a model says."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import numpy.typing as npt
from hypothesis import assume, given
from hypothesis import strategies as st

from edgeconv.ir.encoding import INT8, INT16, Encoding, int16
from edgeconv.ir.requantisation import Sums
from edgeconv.ir.requantisation.curve import ARGUMENTS, curve
from edgeconv.ir.requantisation.wide import Wide, wide
from edgeconv.kernels.algorithms.wide_functions import (
    wide_averages,
    wide_line,
    wide_product,
    wide_sides,
)

Integers = npt.NDArray[np.int64]
SCALES = st.floats(2.0**-18, 2.0**-4, width=32) | st.integers(-16, -2).map(lambda n: 2.0**n)


@st.composite
def encodings(draw: st.DrawFn) -> Encoding:
    """Of 16 bits or eight, zero point 0 and others."""
    kind = draw(st.sampled_from((INT16, INT16, INT8)))
    zero = draw(st.sampled_from((0, 0, 3, kind.low, kind.high)))
    return replace(kind, scale=(draw(SCALES),), zero=(zero,))


def stored(real: Fraction, y: Encoding) -> int:
    return min(max(round(real / Fraction(y.scale[0])) + y.zero[0], y.low), y.high)


def whole(x: Encoding) -> Integers:
    ends = [x.low, x.low + 1, x.zero[0], x.high - 1, x.high]
    rng = np.random.default_rng(x.zero[0] & 1023)
    return np.concatenate([ends, rng.integers(x.low, x.high + 1, 40)]).astype(np.int64)


def of(form: Wide, values: Integers, channel: int = 0) -> Integers:
    channels = len(form.multiplier)
    made: Integers = form.of(np.broadcast_to(values, (channels, len(values))))[channel]
    return made


@given(encodings(), encodings(), SCALES)
def test_lines_and_sides(x: Encoding, y: Encoding, factor: float) -> None:
    values, unit = whole(x), Fraction(x.scale[0])
    line, sides = wide_line(x, y, y.low, y.high), wide_sides(x, y, y.low, y.high, factor)
    real = [(int(q) - x.zero[0]) * unit for q in values]
    if line:
        assert of(line, values).tolist() == [stored(each, y) for each in real]
    if sides:
        slopes = [1 if each >= 0 else Fraction(factor) for each in real]
        both = [of(sides, values, channel) for channel in (0, 1)]
        made = np.where(values < x.zero[0], both[1], both[0])
        wanted = [stored(each * slope, y) for each, slope in zip(real, slopes, strict=True)]
        assert made.tolist() == wanted


@given(encodings(), encodings(), encodings())
def test_products(a: Encoding, b: Encoding, y: Encoding) -> None:
    form = wide_product(a, b, y, y.low, y.high)
    assume(form is not None)
    assert form is not None
    unit = Fraction(a.scale[0]) * Fraction(b.scale[0])
    pairs = [
        (int(p) - a.zero[0], int(q) - b.zero[0])
        for p, q in zip(whole(a), whole(b)[::-1], strict=True)
    ]
    made = of(form, np.array([p * q for p, q in pairs]))
    assert made.tolist() == [stored(p * q * unit, y) for p, q in pairs]


@given(encodings(), encodings(), st.lists(st.integers(1, 49), min_size=1, max_size=4, unique=True))
def test_averages(x: Encoding, y: Encoding, counts: list[int]) -> None:
    form = wide_averages(tuple(counts), x, y, y.low, y.high)
    assume(form is not None)
    assert form is not None
    for channel, count in enumerate(counts):
        sums = np.random.default_rng(count).integers(x.low * count, x.high * count + 1, 40)
        unit = Fraction(x.scale[0]) / count
        wanted = [stored((int(total) - count * x.zero[0]) * unit, y) for total in sums]
        assert of(form, sums, channel).tolist() == wanted


@given(st.lists(st.integers(1, 49), min_size=1, max_size=4, unique=True), st.integers(0, 99))
def test_averages_with_halves_away_from_0(counts: list[int], seed: int) -> None:
    """Halves of even counts, and what lies beside them."""
    grid = int16(2.0**-10, 0)
    form = wide_averages(tuple(counts), grid, grid, grid.low, grid.high, away=True)
    assert form is not None
    for channel, count in enumerate(counts):
        whole = np.random.default_rng(seed).integers(grid.low, grid.high, 40)
        sums = np.concatenate([whole * count + count // 2 + by for by in (-1, 0, 1)])
        halves = (abs(int(total)) + count // 2 for total in sums)
        wanted = [
            (1 if total > 0 else -1) * (half // count)
            for total, half in zip(sums, halves, strict=True)
        ]
        assert of(form, sums, channel).tolist() == wanted


@given(st.floats(0.1, 3.0), st.floats(-1.0, 1.0), st.floats(0.2, 1.0))
def test_curves_are_their_results(slope: float, bend: float, share: float) -> None:
    """Of results that change smoothly, saturated ends among them."""
    x = np.linspace(-4.0, 4.0, ARGUMENTS)
    results = np.rint(32767 * share * (np.tanh(slope * x) + bend * np.cos(x)))
    results = np.clip(results, -32768, 32767).astype(np.int64)
    found = curve(results)
    assume(found is not None)
    assert found is not None
    assert np.array_equal(found.of(np.arange(ARGUMENTS) - ARGUMENTS // 2), results)
    assert 4 * found.words.size <= 24 * 1024


def test_a_jump_is_no_curve() -> None:
    assert curve(np.where(np.arange(ARGUMENTS) < 40, -9, 9)) is None


def test_results_beyond_32_bits_before_they_are_bounded() -> None:
    """A sum of 2^31 units of 2^9 steps would be 2^40 of them: kernels have 32 bits for that."""
    sums = Sums(
        np.ones(1), np.zeros(1), np.array([-(2**31)]), np.array([2**31 - 1]), 2.0**-9, 0, -128, 127
    )
    assert wide(sums, np.zeros(1, np.int64)) is None
