"""Flyte and int8: what encoding does to every value, by properties and by definition."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeconv.base.errors import EdgeconvError
from edgeconv.kernels.storage import formats, whole
from edgeconv.kernels.storage.base import StorageFormat
from tests import stored_values

Array = npt.NDArray[Any]

BITS = {"flyte24": 24, "flyte16": 16, "flyte8": 8}
FLYTES = [formats()[name] for name in BITS]
WHOLE = [formats()["int8"], formats()["int4"]]
REDUCED = [*FLYTES, *WHOLE]
wholes = pytest.mark.parametrize("entry", WHOLE, ids=lambda f: f.name)
flytes = pytest.mark.parametrize("entry", FLYTES, ids=lambda f: f.name)
reduced = pytest.mark.parametrize("entry", REDUCED, ids=lambda f: f.name)
both_ways = pytest.mark.parametrize("truncate", [False, True], ids=["nearest", "truncated"])

# Any bits there are, and around each power of two, where neighbours and halfways lie.
_any_bits = st.integers(0, 2**32 - 1)
_near = st.builds(
    lambda sign, exponent, step: (sign << 31 | exponent << 23) + step & 0xFFFFFFFF,
    st.integers(0, 1), st.integers(0, 255), st.integers(-300, 300),
)  # fmt: skip
bit_patterns = st.one_of(_any_bits, _near)
words = st.lists(bit_patterns, min_size=1, max_size=40)


def of_bits(bits: list[int]) -> Array:
    return np.array(bits, np.uint32).view(np.float32)


def finite(bits: list[int]) -> Array:
    values = of_bits(bits)
    return values[np.isfinite(values)]


def bits_of(values: Array) -> Array:
    return np.ascontiguousarray(values, np.float32).view(np.uint32)


@both_ways
@flytes
def test_every_upper_half_by_definition(entry: StorageFormat, truncate: bool) -> None:
    """The same patterns as the C headers meet, the same definition."""
    pattern, bits = stored_values.patterns(), BITS[entry.name]
    encode = entry.truncate if truncate else entry.encode
    assert encode is not None
    want = stored_values.stored(pattern, bits, truncate=truncate)
    wanted = stored_values.as_bytes(want, entry.encoding.element_bytes)
    assert encode(pattern.view(np.float32)) == wanted


@flytes
def test_decoding_appends_zeros(entry: StorageFormat) -> None:
    bits = BITS[entry.name]
    code = np.unique(stored_values.patterns() >> np.uint32(32 - bits))
    got = entry.decode(stored_values.as_bytes(code, entry.encoding.element_bytes))
    np.testing.assert_array_equal(bits_of(got), stored_values.appended(code, bits))


@reduced
@given(bits=words)
def test_what_was_stored_stays(entry: StorageFormat, bits: list[int]) -> None:
    """Encoding, by either rounding, keeps every value that decoding gives."""
    values = finite(bits) if entry in WHOLE else of_bits(bits)
    assert entry.truncate is not None
    for encode in (entry.encode, entry.truncate):
        data = encode(values)
        assert len(data) == entry.encoding.bytes_of(values.size)
        assert entry.encode(entry.decode(data)) == data
        assert entry.truncate(entry.decode(data)) == data


@both_ways
@reduced
@given(bits=words)
def test_order_is_kept(entry: StorageFormat, truncate: bool, bits: list[int]) -> None:
    values = np.sort(finite(bits))
    assert (np.diff(entry.rounded(values, truncate=truncate).astype(np.float64)) >= 0).all()


@both_ways
@reduced
@given(bits=words)
def test_errors_are_bounded_and_signs_kept(
    entry: StorageFormat, truncate: bool, bits: list[int]
) -> None:
    values = finite(bits)
    got = entry.rounded(values, truncate=truncate)
    assert np.isfinite(got).all()
    lowest = -entry.largest - (entry in WHOLE)  # integers have one more below zero
    assert ((got >= lowest) & (got <= entry.largest)).all()
    size = np.abs(values.astype(np.float64))
    within = (size >= entry.smallest) & (size <= entry.largest)
    limit = entry.truncation_error if truncate else entry.relative_error
    error = np.abs(got.astype(np.float64) - values)
    assert (error[within] <= limit * size[within]).all()
    ends = np.where(values < 0, lowest, entry.largest)
    assert (got[size > entry.largest + 1] == ends[size > entry.largest + 1]).all()
    if truncate:
        assert (np.abs(got) <= size).all()
    if entry not in WHOLE:
        np.testing.assert_array_equal(np.signbit(got), np.signbit(values))


@flytes
def test_error_bounds_are_tight(entry: StorageFormat) -> None:
    """Some number meets them, so that nothing smaller would do."""
    values = stored_values.patterns().view(np.float32)
    values = values[np.isfinite(values)]
    size = np.abs(values.astype(np.float64))
    values = values[(size >= entry.smallest) & (size <= entry.largest)]
    for truncate, limit in ((False, entry.relative_error), (True, entry.truncation_error)):
        got = entry.rounded(values, truncate=truncate).astype(np.float64)
        error = np.abs(got - values) / np.abs(values.astype(np.float64))
        assert 0.98 * limit <= error.max() <= limit


@both_ways
@pytest.mark.parametrize("name", ["flyte24", "flyte16"])
@given(payload=st.integers(1, 2**23 - 1), sign=st.integers(0, 1))
def test_special_values(name: str, truncate: bool, payload: int, sign: int) -> None:
    """NaN stays NaN and becomes quiet, even where only lower bits say so; the rest is exact."""
    nan = sign << 31 | stored_values.INFINITY | payload
    others = [sign << 31, sign << 31 | stored_values.INFINITY]
    got = formats()[name].rounded(of_bits([nan, *others]), truncate=truncate)
    assert np.isnan(got[0])
    kept = nan >> (32 - BITS[name]) << (32 - BITS[name])
    np.testing.assert_array_equal(bits_of(got), [kept | 0x00400000, *others])


@both_ways
def test_flyte8_has_neither_infinity_nor_nan(truncate: bool) -> None:
    values = np.array([np.inf, -np.inf, np.nan, 0.0, -0.0], np.float32)
    got = formats()["flyte8"].rounded(values, truncate=truncate)
    np.testing.assert_array_equal(got, [2.0**127, -(2.0**127), 2.0**127, 0.0, -0.0])
    np.testing.assert_array_equal(np.signbit(got), [False, True, False, False, True])


def test_flyte8_takes_the_nearer_power() -> None:
    """Halfway, at 1.25 and 5, the code of 2 is the even one."""
    values = np.array([0.5, 1.24, 1.25, 2.0, 4.99, 5.0, 5.01, -3.0, 1e-40], np.float32)
    got = formats()["flyte8"].rounded(values)
    np.testing.assert_array_equal(got, [0.5, 0.5, 2.0, 2.0, 2.0, 2.0, 8.0, -2.0, 0.0])


@reduced
def test_shape_is_kept(entry: StorageFormat) -> None:
    values = np.asfortranarray(np.arange(6, dtype=np.float32).reshape(2, 3))
    got = entry.rounded(values)
    assert got.shape == (2, 3)
    np.testing.assert_allclose(got, values, rtol=entry.relative_error)
    assert entry.rounded(np.zeros((0, 2), np.float32)).shape == (0, 2)


def test_exact_formats_have_no_truncation() -> None:
    values = np.array([0.1, -7e-41], np.float32)
    np.testing.assert_array_equal(formats()["float32"].rounded(values, truncate=True), values)


weights = st.builds(
    lambda seed, channels, size, spread: (
        np.random.default_rng(seed).normal(size=(channels, size))
        * np.exp2(np.random.default_rng(seed + 1).uniform(-spread, spread, (channels, 1)))
    ).astype(np.float32),
    st.integers(0, 2**20), st.integers(1, 5), st.integers(1, 30), st.floats(0, 60),
)  # fmt: skip


@wholes
@given(w=weights, power_of_two=st.booleans(), axis=st.integers(-2, 1))
def test_integers_with_scales_are_within_half_a_step(
    entry: StorageFormat, w: Array, power_of_two: bool, axis: int
) -> None:
    scales = whole.channel_scales(w, int(entry.largest), axis, power_of_two=power_of_two)
    shaped = scales.astype(np.float64).reshape((-1, 1) if axis in (0, -2) else (1, -1))
    stored = entry.rounded(w / shaped)
    assert (np.abs(stored * shaped - w) <= shaped * 0.500001).all()
    if power_of_two:
        assert (np.frexp(scales)[0] == 0.5).all()
    else:
        assert (np.abs(stored).max(axis=1 if axis in (0, -2) else 0) == entry.largest).all()


def test_scales_of_zeros_and_of_tiny_weights() -> None:
    tiny = np.array([[0.0, 0.0], [1e-45, -1e-44], [254.0, 1.0]], np.float32)
    for power_of_two in (False, True):
        scales = whole.channel_scales(tiny, 127, power_of_two=power_of_two)
        assert scales[0] == 1.0
        assert scales[2] == 2.0
        assert (scales >= np.finfo(np.float32).tiny).all()
        assert np.isfinite(tiny / scales[:, None]).all()


@pytest.mark.parametrize("name", ["int8", "int4", "flyte8"])
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_units_of_what_is_not_finite(name: str, bad: float) -> None:
    units = formats()[name].units
    assert units is not None
    with pytest.raises(EdgeconvError, match="cannot be scaled"):
        units(np.array([[1.0, bad]], np.float32))


def test_int8_saturates_and_refuses_nan() -> None:
    values = np.array([127.4, -127.6, 1e9, -np.inf, 0.5, 1.5, -2.5], np.float32)
    entry = formats()["int8"]
    assert entry.encode(values) == bytes([127, 128, 127, 128, 0, 2, 254])
    assert entry.truncate is not None
    assert entry.truncate(values) == bytes([127, 129, 127, 128, 0, 1, 254])
    with pytest.raises(EdgeconvError, match="NaN cannot be stored"):
        entry.encode(np.array([np.nan], np.float32))


def test_int4_puts_the_first_of_two_into_the_lower_half() -> None:
    entry = formats()["int4"]
    assert entry.encode(np.array([1.0, -1.0, 7.6, -9.0, 2.5])) == bytes([0xF1, 0x87, 0x02])
    np.testing.assert_array_equal(entry.decode(bytes([0xF1, 0x97, 0x82])), [1, -1, 7, -7, 2, -8])
    assert (entry.encoding.bytes_of(5), entry.encoding.bytes_of(6)) == (3, 3)
    with pytest.raises(ValueError, match="4 bits"):
        _ = entry.encoding.element_bytes


def squared_error(w: Array, units: Array) -> Array:
    """Of each row in flyte8 in these units."""
    shaped = units.astype(np.float64)[:, None]
    errors: Array = np.square(formats()["flyte8"].rounded(w / shaped) * shaped - w).sum(axis=1)
    return errors


@given(w=weights, seed=st.integers(0, 2**20))
def test_no_unit_of_flyte8_has_a_smaller_squared_error(w: Array, seed: int) -> None:
    best = formats()["flyte8"].units
    assert best is not None
    units = best(w)
    assert units.dtype == np.float32
    assert ((units >= 1) & (units < 4)).all()
    least = squared_error(w, units)
    for others in np.random.default_rng(seed).uniform(1, 4, (40, len(w))):
        assert (least <= squared_error(w, others) * (1 + 1e-5)).all()


def test_units_of_flyte8_are_found_again() -> None:
    """Of weights that are multiples of some unit: their error is zero."""
    rng = np.random.default_rng(1)
    units = rng.uniform(1, 4, 5).astype(np.float32)
    powers = np.exp2(2 * rng.integers(-4, 3, (5, 30)) + 1.0) * rng.choice([-1, 0, 1], (5, 30))
    best = formats()["flyte8"].units
    assert best is not None
    np.testing.assert_allclose(best((powers * units[:, None]).astype(np.float32)), units, rtol=1e-6)
    np.testing.assert_array_equal(best(np.zeros((2, 3), np.float32)), [1, 1])
