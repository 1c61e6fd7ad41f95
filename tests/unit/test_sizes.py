from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeconv.base import sizes
from edgeconv.base.errors import EdgeconvError, Exit


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("0", 0),
        ("4096", 4096),
        ("4096B", 4096),
        ("512K", 512 * 1024),
        ("512k", 512 * 1024),
        ("2M", 2 * 1024**2),
        ("64KiB", 64 * 1024),
        ("64 KiB", 64 * 1024),
        ("1.5MiB", 1536 * 1024),
        ("4G", 4 * 1024**3),
        (" 8K ", 8192),
    ],
)
def test_parse(text: str, size: int) -> None:
    assert sizes.parse(text) == size


@pytest.mark.parametrize(
    "text", ["", "K", "-1", "1.K", ".5K", "1e3", "0x10", "1T", "1KiBs", "1  K", "٣K"]
)
def test_not_a_size(text: str) -> None:
    with pytest.raises(EdgeconvError, match="invalid --ram") as caught:
        sizes.parse(text, "--ram")
    assert caught.value.code is Exit.USAGE
    assert repr(text) in str(caught.value)


def test_powers_of_1000_or_1024_are_refused() -> None:
    with pytest.raises(EdgeconvError, match="write 512KiB") as caught:
        sizes.parse("512kB")
    assert "KB may mean powers of 1000 or of 1024" in str(caught.value)


def test_part_of_a_byte_is_refused() -> None:
    with pytest.raises(EdgeconvError, match="whole number of bytes"):
        sizes.parse("0.3K")


@given(st.integers(min_value=0, max_value=2**50))
def test_exact_reads_back(size: int) -> None:
    assert sizes.parse(sizes.exact(size)) == size


@pytest.mark.parametrize(
    ("size", "text"),
    [(64 * 1024, "64KiB"), (3 * 1024**2, "3MiB"), (1000, "1000"), (1536, "1536"), (0, "0")],
)
def test_exact(size: int, text: str) -> None:
    assert sizes.exact(size) == text


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (980, "980 B"),
        (1495, "1.46 KiB"),
        (10 * 1024, "10.0 KiB"),
        (203_376, "199 KiB"),
        (1024**2 - 1, "1.00 MiB"),
        (102_236_160, "97.5 MiB"),
        (5 * 1024**4, "5120 GiB"),
    ],
)
def test_human(size: int, text: str) -> None:
    assert sizes.human(size) == text


@given(st.integers(min_value=1024, max_value=2**40))
def test_human_is_right_to_three_digits(size: int) -> None:
    number, unit = sizes.human(size).split()
    assert abs(float(number) * sizes.parse(f"1{unit}") - size) <= 0.0051 * size
