from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from edgeconv.ir.array_types import array_type
from edgeconv.run.verify import compare
from edgeconv.run.verify.compare import Floats, assumed_spacing

FLOATS = arrays.arrays(
    np.float32, st.integers(1, 6), elements=st.floats(width=32, allow_nan=True, allow_infinity=True)
)


def f32(*values: float) -> Floats:
    return np.array(values, np.float32)


def test_measures_of_a_plain_difference() -> None:
    found = compare("y", f32(1, 2, 3.5), f32(1, 2, -4))
    assert found.max_abs == 7.5
    assert found.largest == 4
    assert found.relative == 7.5 / 4
    assert found.worst == (2,)
    assert found.sqnr_db == pytest.approx(10 * math.log10((1 + 4 + 16) / 7.5**2))
    assert found.within(1.875)
    assert not found.within(1.874)


def test_ulp_counts_floats_between() -> None:
    one = np.float32(1)
    up = np.nextafter(one, np.float32(2))
    assert compare("y", f32(up), f32(1)).max_ulp == 1
    smallest = float(np.float32(1e-45))
    assert compare("y", f32(-smallest), f32(smallest)).max_ulp == 2
    assert compare("y", f32(-0.0), f32(0.0)).max_ulp == 0


@given(FLOATS)
def test_everything_equals_itself(values: Floats) -> None:
    found = compare("y", values.copy(), values)
    assert (found.max_abs, found.max_ulp, found.sqnr_db) == (0, 0, math.inf)
    assert found.within(0)


@pytest.mark.parametrize(
    ("got", "reference"),
    [
        (math.nan, 1.0),
        (1.0, math.nan),
        (math.inf, 1.0),
        (1.0, math.inf),
        (math.inf, -math.inf),
        (math.nan, math.inf),
    ],
)
def test_not_a_number_is_never_close_to_a_number(got: float, reference: float) -> None:
    found = compare("y", f32(5, got), f32(5, reference))
    assert found.max_abs == math.inf
    assert found.max_ulp == math.inf
    assert found.worst == (1,)
    assert not found.within(1e30)


def test_reference_of_zeros_is_compared_absolutely() -> None:
    found = compare("y", f32(0, 1e-5), f32(0, 0))
    assert found.relative == pytest.approx(1e-5)
    assert found.sqnr_db == -math.inf


def test_scalars_and_empty_tensors() -> None:
    assert compare("y", np.array(2, np.float32), np.array(3, np.float32)).worst == ()
    assert compare("y", np.zeros((0, 3), np.float32), np.zeros((0, 3), np.float32)).within(0)


def test_another_shape_is_infinitely_far() -> None:
    found = compare("y", f32(1, 2), f32(1), spacing=0.5)
    assert found.shapes == ((2,), (1,))
    assert not found.within(1e9)


@pytest.mark.parametrize(
    ("name", "step"), [("float16", 2**-10), ("bfloat16", 2**-7), ("float8_e4m3fn", 2**-3)]
)
def test_neighbours_of_a_narrow_type_are_a_rounding_apart(name: str, step: float) -> None:
    """Numbers in front of it that differ by float32's rounding may go to either."""
    dtype = array_type(name)
    values = np.array([1, 0.25, 0], dtype)
    for place, size in ((0, step), (1, step / 4)):
        near, far = values.copy(), values.copy()
        near[place] += dtype.type(size)
        far[place] += dtype.type(2 * size)
        assert compare("y", near, values).within(1e-4)
        assert compare("y", near, values).max_abs == size
        assert not compare("y", far, values).within(1e-4)
    lost = values.copy()
    lost[0] = dtype.type(np.nan)
    assert not compare("y", lost, values).within(1e-4)


def test_no_spacing_is_assumed_of_integers() -> None:
    """An index is another one or it is not, however large the largest."""
    assert assumed_spacing(f32(-127, 3)) == 1
    assert assumed_spacing(np.array([8400, 3])) == 0
    assert assumed_spacing(np.array([True])) == 0
