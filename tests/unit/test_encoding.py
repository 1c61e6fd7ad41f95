"""Encodings: what they say of integers, and their text."""

from __future__ import annotations

import numpy as np
import pytest

from edgeconv.ir.encoding import (
    FLOAT32,
    INT4,
    INT8,
    Encoding,
    int8,
    integers,
    kind_of,
    scaled_encoding,
)


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        (FLOAT32, "float32"),
        (Encoding(16), "flyte16"),
        (INT4, "int4"),
        (integers("uint8").element, "uint8"),
        (int8(0.02, -38), "int8(0.02, -38)"),
        (int8(1e-5, 0), "int8(1e-05, 0)"),
        (INT8.scaled((0.5, 0.25)), "int8"),
    ],
)
def test_text(encoding: Encoding, text: str) -> None:
    assert str(encoding) == text
    assert kind_of(text) == str(encoding.element)
    assert scaled_encoding(text) == (encoding if encoding.is_per_tensor else None)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16"])
def test_integers_as_they_are(dtype: str) -> None:
    encoding, info = integers(dtype), np.iinfo(dtype)
    assert (encoding.low, encoding.high) == (info.min, info.max)
    assert (encoding.scale, encoding.zero) == ((1.0,), (0,))
    assert encoding.bytes_of(5) == 5 * info.bits // 8


def test_units_of_channels() -> None:
    filters = INT4.scaled(np.array([0.1, 0.2], np.float32))
    assert filters.scale == (float(np.float32(0.1)), float(np.float32(0.2)))
    assert not filters.is_per_tensor
    assert filters.element == INT4
    assert filters.bytes_of(3) == 2
