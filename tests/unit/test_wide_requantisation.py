"""Requantisation to 16 bits and of int16: forms that are proven to be what a model says."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from edgeconv.ir.requantisation import Sums
from edgeconv.ir.requantisation.linear import Line, floor_sum
from edgeconv.ir.requantisation.pair import Affine
from edgeconv.ir.requantisation.wide import LEAST, MOST, Wide, long, wide
from edgeconv.ir.requantisation.wide_pair import wide_pair

Integers = npt.NDArray[np.int64]
SCALES = st.floats(2.0**-18, 2.0**-4, width=32) | st.integers(-16, -2).map(lambda n: 2.0**n)


@given(st.integers(0, 40), st.integers(1, 50), st.integers(-100, 100), st.integers(-1000, 1000))
def test_sums_of_a_line(count: int, over: int, slope: int, start: int) -> None:
    plain = sum((slope * i + start) // over for i in range(count))
    assert floor_sum(count, over, slope, start) == plain


@given(st.integers(1, 30), st.integers(-90, 90), st.integers(1, 40), st.integers(-60, 60))
def test_of_a_line(slope: int, start: int, over: int, value: int) -> None:
    line, reach = Line(slope, start, over), range(-20, 30)
    first = line.first(value)
    assert line.at(first) >= value > line.at(first - 1)
    assert line.whole(-20, 29) == sum((slope * i + start) % over == 0 for i in reach)


LINES = st.builds(Line, st.integers(1, 60), st.integers(-300, 300), st.integers(1, 40))


@given(LINES, LINES, st.integers(-20, 5), st.integers(0, 40), st.integers(1, 9))
def test_equal_lines(one: Line, other: Line, first: int, count: int, times: int) -> None:
    """Of unlike slopes, which cross somewhere, and of the same numbers with others behind."""
    same = Line(one.slope * times, one.start * times + times - 1, one.over * times)
    for each in (other, same):
        numbers = range(first, first + count + 1)
        wanted = all(one.at(i) == each.at(i) for i in numbers)
        assert one.equals(each, first, first + count) == wanted


@st.composite
def layers(draw: st.DrawFn) -> tuple[Sums, Integers]:
    """Of two channels, with sums of up to 2^40, powers of two among the scales."""
    x, spacing = np.float32(draw(SCALES)), float(np.float32(draw(SCALES)))
    unit = np.array([float(x) * float(np.float32(draw(SCALES))) for _ in range(2)])
    bits = draw(st.sampled_from((8, 16)))
    low = draw(st.sampled_from((0, -(1 << (bits - 1)))))
    zero = draw(st.sampled_from((0, 0, 7, low)))
    whole = np.array([draw(st.integers(-(2**24), 2**24)) for _ in range(2)])
    rest = np.array([float(np.float32(draw(st.sampled_from((0.0, 0.0, 0.3))) * spacing))] * 2)
    reach = 1 << draw(st.integers(8, 40))
    high = (1 << (bits - 1)) - 1
    return Sums(unit, rest, whole - reach, whole + reach, spacing, zero, low, high), whole


def by_definition(sums: Sums, channel: int, value: int) -> int:
    """Rounded once, ties to even, in rationals."""
    real = Fraction(float(sums.unit[channel])) * value + Fraction(float(sums.bias[channel]))
    return min(max(round(real / Fraction(float(sums.spacing))) + sums.zero, sums.low), sums.high)


def near_edges(form: Wide, sums: Sums, whole: Integers, rng: np.random.Generator) -> Integers:
    """Sums of a kernel around the middle between steps, the first and the last, and any."""
    steps = rng.integers(sums.low, sums.high + 1, 60)
    at = ((steps - 0.5 - sums.zero) * sums.spacing - sums.bias[:, None]) / sums.unit[:, None]
    middle = np.clip(np.rint(at), -(2.0**62), 2.0**62).astype(np.int64) - whole[:, None]
    ends = np.stack([sums.least - whole, sums.most - whole], axis=1)
    spread = (middle[:, :, None] + np.arange(-2, 3)).reshape(2, -1)
    found = np.concatenate([spread, ends, rng.integers(ends.min(), ends.max(), (2, 60))], axis=1)
    bounded: Integers = np.clip(found, ends[:, :1], ends[:, 1:])
    return bounded


@given(layers(), st.integers(0, 2**32))
def test_is_what_the_model_says(layer: tuple[Sums, Integers], seed: int) -> None:
    sums, whole = layer
    form = wide(sums, whole)
    assume(form is not None)
    assert form is not None
    values = near_edges(form, sums, whole, np.random.default_rng(seed))
    plain = [
        [by_definition(sums, channel, int(value) + int(whole[channel])) for value in row]
        for channel, row in enumerate(values)
    ]
    assert np.array_equal(form.of(values), plain)


def test_powers_of_two_have_ties() -> None:
    """Which go to the even one, either way."""
    one = np.ones(1)
    sums = Sums(
        2.0**-9 * one, 0 * one, np.array([-(2**25)]), np.array([2**25]), 1.0, 0, -32768, 32767
    )
    form = wide(sums, np.zeros(1, np.int64))
    assert form is not None
    assert form.tie > 0
    values = np.array([[256, 768, 1280, -256, -768, 255, 257]])
    assert form.of(values).tolist() == [[0, 2, 2, 0, -2, 0, 1]]


def test_what_words_hold() -> None:
    one = np.ones(1)
    unit, spacing, reach = float(np.float32(1.7e-3)), float(np.float32(1.1)), np.array([2**25])
    sums = Sums(unit * one, 0 * one, -reach, reach, spacing, 5, -32768, 32767)
    form = wide(sums, np.array([30_000]))
    assert form is not None
    low, high, *offset = (int(word[0]) for word in form.words)
    assert high * 2**32 + low == form.multiplier[0]
    assert (offset[1] << 32) + (offset[0] & (2**32 - 1)) == form.offset[0]


@pytest.mark.parametrize("unit", [2.0**-18, 2.0**-15])
def test_sums_beyond_32_bits(unit: float) -> None:
    """Where these have results at the bounds alone, they may be cut."""
    one, reach = np.ones(1), np.array([2**36])
    form = wide(Sums(unit * one, 0 * one, -reach, reach, 1.0, 0, -32768, 32767), 0 * reach)
    if 2.0**15 / unit > 2.0**31:
        assert form is None
        return
    assert form is not None
    assert form.of(np.array([[LEAST - 5, -reach[0], MOST + 5, reach[0]]])).tolist() == [
        [-32768, -32768, 32767, 32767]
    ]


@given(SCALES, SCALES, SCALES, st.sampled_from((1, -1)), st.integers(0, 2**32))
def test_sums_of_two(a: float, b: float, y: float, sign: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    zeros = [int(rng.choice([0, 0, 7, -300])) for _ in range(3)]
    of_a, of_b, of_y = (
        Affine(float(np.float32(scale)) * own, zero)
        for scale, own, zero in zip((a, b, y), (1, sign, 1), zeros, strict=True)
    )
    form = wide_pair(of_a, of_b, of_y, -32768, 32767)
    assume(form is not None)
    assert form is not None
    i, j = rng.integers(-32768, 32768, (2, 60))
    i[:4], j[:4] = [-32768, 32767, -32768, 32767], [-32768, 32767, 32767, -32768]
    plain = [
        round(
            (
                (int(p) - of_a.zero) * Fraction(of_a.scale)
                + (int(q) - of_b.zero) * Fraction(of_b.scale)
            )
            / Fraction(of_y.scale)
        )
        + of_y.zero
        for p, q in zip(i, j, strict=True)
    ]
    assert form.of(i, j).tolist() == [min(max(each, -32768), 32767) for each in plain]


@given(
    SCALES,
    SCALES,
    SCALES,
    st.integers(8, 46),
    st.sampled_from((0, 5, -77, -32768)),
    st.integers(0, 2**32),
)
def test_long_sums(a: float, b: float, spacing: float, reach: int, zero: int, seed: int) -> None:
    """Of products of two int16, with powers of two among the scales."""
    unit, most = float(np.float32(a)) * float(np.float32(b)), 1 << reach
    y = float(np.float32(spacing))
    form = long(unit, y, zero, (-32768, 32767), (-most, most))
    assume(form is not None)
    assert form is not None
    rng = np.random.default_rng(seed)
    ratio, steps = Fraction(y) / Fraction(unit), rng.integers(-32768, 32768, 60)
    middles = [int((int(step) - zero + Fraction(1, 2)) * ratio) for step in steps]
    near = [middle + by for middle in middles for by in (-1, 0, 1)]
    near += [-most, most, *map(int, rng.integers(-most, most, 60))]
    sums = np.clip(np.array(near, np.int64), -most, most)
    wanted = [
        min(max(round(Fraction(unit) * int(value) / Fraction(y)) + zero, -32768), 32767)
        for value in sums
    ]
    assert form.of(sums[None, :])[0].tolist() == wanted
