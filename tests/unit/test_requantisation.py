"""Requantisation: what a model says of a sum, and forms that are proven to be it."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeconv.ir.requantisation import (
    Sums,
    fixed,
    requantised,
    thresholds,
)


def sums_of(
    unit: float, bias: float, spacing: float, zero: int, bounds: tuple[int, int], reach: int
) -> Sums:
    """Of one channel, with scales of float32."""
    return Sums(
        np.array([np.float32(unit)], np.float64),
        np.array([np.float32(bias)], np.float64),
        np.array([-reach]),
        np.array([reach + 3]),
        float(np.float32(spacing)),
        zero,
        *bounds,
    )


@st.composite
def layers(draw: st.DrawFn, reach: int = 3000) -> Sums:
    """Small sums, powers of two as scales and biases between two units among them."""
    plain = st.floats(2.0**-20, 2.0**4, width=32)
    scales = plain | st.integers(-18, 3).map(lambda n: 2.0**n)
    unit, steps = draw(scales), draw(scales | st.integers(1, 50).map(float))
    zero, low = draw(st.integers(-128, 127)), draw(st.integers(-128, 126))
    bounds = low, draw(st.integers(low + 1, 127))
    bias = draw(st.integers(-4000, 4000)) * unit * draw(st.sampled_from((1.0, 0.3, 0.5)))
    spacing = min(unit * steps * 2.0 ** draw(st.integers(0, 8)), 2.0**60)
    return sums_of(unit, bias, spacing, zero, bounds, reach)


def by_definition(sums: Sums, value: int) -> int:
    """Rounded once, ties to even, in rationals."""
    unit, bias = Fraction(float(sums.unit[0])), Fraction(float(sums.bias[0]))
    whole = round((unit * value + bias) / Fraction(float(sums.spacing))) + sums.zero
    return min(max(whole, sums.low), sums.high)


@given(layers(reach=300))
def test_thresholds_are_the_definition(sums: Sums) -> None:
    values = np.arange(sums.least[0], sums.most[0] + 1)
    assert requantised(sums, values[None])[0].tolist() == [
        by_definition(sums, int(value)) for value in values
    ]


@given(layers())
def test_the_form_is_the_definition_for_every_sum(sums: Sums) -> None:
    values = np.arange(sums.least[0], sums.most[0] + 1)[None]
    wanted = requantised(sums, values)
    form = fixed(sums)
    assert form is None or np.array_equal(form.of(values), wanted), form


@pytest.mark.parametrize("reach", [2**18, 2**24, 2**29])
def test_bias_between_units_and_far_sums(reach: int) -> None:
    """There is a form where the bias is a whole number of units, and none that is wrong."""
    found = []
    for fraction in (0.0, 0.37, 0.5):
        sums = sums_of(0.00131 / reach * 2**18, 0.0, 1.1, -128, (-128, 127), reach)
        sums.bias[:] = (1000 + fraction) * sums.unit
        edges = thresholds(sums)[0]
        values = np.unique(np.clip([edges - 1, edges, edges + 1], sums.least, sums.most))[None]
        form = fixed(sums)
        assert form is None or np.array_equal(form.of(values), requantised(sums, values))
        found.append(form is not None)
    assert found[0]


def test_ties_go_to_the_even_step() -> None:
    """Steps of three and five sums in turn around an odd zero point, which no form has."""
    sums = sums_of(0.25, 0.0, 1.0, 3, (-128, 127), 1000)
    values = np.array([[-10, -6, -2, 2, 6, 10]])
    assert requantised(sums, values)[0].tolist() == [1, 1, 3, 3, 5, 5]
    assert fixed(sums) is None


def test_what_no_form_is_proven_for() -> None:
    """Ties that are no multiples of a power of two: no line of even steps goes between them."""
    sums = sums_of(1.0, 0.0, 6.0, 0, (-128, 127), 2000)
    assert fixed(sums) is None


def test_channels_that_hardly_count() -> None:
    """Units of all sizes."""
    unit = np.array([1e-3, 1e-6, 2e-11, 3e-3]).astype(np.float32).astype(np.float64)
    reach = np.full(4, 500_000)
    sums = Sums(unit, np.zeros(4), -reach, reach, 0.25, -128, -128, 127)
    values = np.linspace(-500_000, 500_000, 4001).astype(np.int64)[None].repeat(4, axis=0)
    form = fixed(sums)
    assert form
    assert np.array_equal(form.of(values), requantised(sums, values))


def test_a_single_sum_leaves_bits_to_others() -> None:
    """A channel whose filters are all zero, in units so small that its bias is almost 2^30 of them,
    begins with no more than the others reach: Winograd's sums are 2^6 times as large."""
    unit = np.array([2e-4, 3e-10, 3e-10, 3e-10]).astype(np.float32).astype(np.float64)
    alone = np.array([-1_051_099_492, 1_051_099_492, 12])
    least, most = np.concatenate([[-300_000], alone]), np.concatenate([[300_000], alone])
    for low, zero in ((-128, -128), (-128, 3), (-20, 40)):
        sums = Sums(unit, np.zeros(4), least, most, 0.01, zero, low, 127)
        form = fixed(sums)
        assert form
        values = np.stack([least, most], axis=1)
        assert np.array_equal(form.of(values), requantised(sums, values))
        begun = least + form.start.astype(np.int64)
        assert np.abs(begun).max() < 2**20
