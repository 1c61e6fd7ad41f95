from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeconv.base.errors import EdgeconvError, Exit
from edgeconv.base.quantities import DIMENSIONS, parse


@pytest.mark.parametrize(
    ("text", "dimension", "value"),
    [
        ("480MHz", "frequency", 480e6),
        ("2.5 GHz", "frequency", 2.5e9),
        ("90ns", "time", 90e-9),
        ("4cycles", "cycles", 4),
        ("1 cycle", "cycles", 1),
        ("32B/cycle", "bytes per cycle", 32),
        ("400MB/s", "bytes per second", 400e6),
        ("4.6pJ", "energy", 4.6e-12),
        ("150mW", "power", 0.15),
        ("64KiB", "size", 65536),
        ("64B", "size", 64),
        ("2e3 Hz", "frequency", 2000),
    ],
)
def test_values(text: str, dimension: str, value: float) -> None:
    assert parse(text, dimension) == pytest.approx(value)


@pytest.mark.parametrize(
    ("value", "dimension", "rule"),
    [
        ("480", "frequency", "needs its unit: Hz, kHz, MHz, GHz"),
        (480, "frequency", "needs its unit"),
        (True, "frequency", "is expected"),
        ("480KiB", "frequency", "has one of the units Hz"),
        ("mhz", "frequency", "is expected"),
        ("480mhz", "frequency", "has one of the units"),  # m and M differ by a factor of 1e9
        ("-1KiB", "size", "is expected"),
        ("0KiB", "size", "is more than 0"),
        ("1.5B", "size", "a whole number of bytes"),
        ("32KB", "size", "powers of 1000 or of 1024"),
        ("32", "size", "needs its unit"),
        ("4pJ/B", "energy", "has one of the units"),
        (None, "power", "is expected"),
    ],
)
def test_refusals(value: object, dimension: str, rule: str) -> None:
    with pytest.raises(EdgeconvError) as caught:
        parse(value, dimension)
    assert caught.value.code is Exit.USAGE
    assert rule in caught.value.rule
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("dimension", DIMENSIONS)
def test_every_example_is_valid(dimension: str) -> None:
    assert parse(DIMENSIONS[dimension].example, dimension) > 0


@given(st.text(max_size=12), st.sampled_from(sorted(DIMENSIONS)))
def test_any_text_is_a_quantity_or_refused(text: str, dimension: str) -> None:
    with suppress(EdgeconvError):
        assert parse(text, dimension) > 0
