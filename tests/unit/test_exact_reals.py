"""Whole numbers times factors, rounded as rationals are."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeconv.ir.requantisation.exact import Sums, requantised
from edgeconv.ir.requantisation.exact_reals import (
    Real,
    Term,
    UndecidedError,
    in_units,
    joined,
    multiples,
    numbers,
    rounded,
)

scales = st.one_of(
    st.integers(-12, 4).map(lambda power: 2.0**power),  # whose ties are exact
    st.floats(2.0**-12, 16.0, width=32),
)
wholes = st.lists(st.integers(-(2**31), 2**31), min_size=1, max_size=6)


@given(wholes, st.lists(scales, min_size=1, max_size=3), scales, st.integers(-128, 127))
def test_as_rationals_round(
    values: list[int], factors: list[float], spacing: float, zero: int
) -> None:
    real = multiples(np.array(values, np.int64), *factors)
    product = Fraction(1)
    for factor in factors:
        product *= Fraction(factor)
    wanted = [round(value * product / Fraction(spacing)) + zero for value in values]
    got = rounded(real, spacing, zero, -128, 127)
    assert got.tolist() == [min(max(value, -128), 127) for value in wanted]


@given(st.integers(-300, 300), st.integers(-300, 300), scales, scales, scales, st.integers(1, 50))
def test_sums_and_quotients_are_exact(
    a: int, b: int, of_a: float, of_b: float, spacing: float, over: int
) -> None:
    terms = (
        Term(np.array([a], np.int64), (np.array(of_a),), over),
        Term(np.array([b], np.int64), (np.array(of_b),)),
    )
    exact = Fraction(a, over) * Fraction(of_a) + b * Fraction(of_b)
    wanted = min(max(round(exact / Fraction(spacing)), -1000), 1000)
    assert rounded(Real(terms), spacing, 0, -1000, 1000).tolist() == [wanted]


@given(
    st.lists(st.integers(-5000, 5000), min_size=1, max_size=50),
    scales,
    scales,
    st.integers(-4000, 4000),
    st.integers(-128, 127),
)
def test_as_thresholds_have_it(
    values: list[int], unit: float, spacing: float, bias: int, zero: int
) -> None:
    """Two ways to the same integers, which share no arithmetic."""
    sums = np.array([values], np.int64)
    bound = np.full(1, 5000, np.int64)
    model = Sums(
        np.array([unit]), np.array([bias * spacing / 8]), -bound, bound, spacing, zero, -128, 127
    )
    real = Real(
        (
            Term(sums, (np.array(unit),)),
            Term(np.full_like(sums, bias), (np.array(spacing), np.array(1 / 8))),
        )
    )
    assert rounded(real, spacing, zero, -128, 127).tolist() == requantised(model, sums).tolist()


@given(st.lists(st.floats(-1e6, 1e6, width=32), min_size=1, max_size=8))
def test_floats_are_what_they_are(values: list[float]) -> None:
    real = numbers(np.array(values, np.float32))
    assert real.near().tolist() == values
    assert [real.terms[0].at((i,)) for i in range(len(values))] == list(map(Fraction, values))


def test_a_function_near_a_tie_is_not_decided() -> None:
    real = Real(numbers(np.array([0.5 + 1e-13])).terms, 1e-12)
    with pytest.raises(UndecidedError):
        rounded(real, 1.0, 0, -8, 7)
    assert rounded(real, 0.3, 0, -8, 7).tolist() == [2]


def test_biases_in_units() -> None:
    unit = np.array([0.1, 0.1, 0.25])
    count, rest = in_units(np.array([np.float32(0.7), 0.77, -0.5], np.float64), unit)
    assert count.tolist() == [7, 0, -2]
    assert rest.tolist() == [0.0, 0.77, 0.0]


def test_joined_keeps_one_scale_where_all_have_it() -> None:
    a, b = np.array([[1, 2]], np.int64), np.array([[3]], np.int64)
    same = joined([multiples(a, 0.5), multiples(b, 0.5)], 1)
    assert same.terms[0].factors[0].shape == ()
    other = joined([multiples(a, 0.5), multiples(b, 0.25)], 1)
    assert other.near().tolist() == [[0.5, 1.0, 0.75]]
