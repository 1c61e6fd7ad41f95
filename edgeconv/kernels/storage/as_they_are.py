"""Numbers as they are: constants of integers, bool and float64, index tables of kernels."""

from __future__ import annotations

from functools import partial

import numpy as np
import numpy.typing as npt

from edgeconv.ir import encoding
from edgeconv.kernels.storage.base import StorageFormat


def _encode(stored: np.dtype[np.number], array: npt.NDArray[np.generic]) -> bytes:
    return np.ascontiguousarray(array, dtype=stored).tobytes()


def _decode(stored: np.dtype[np.number], data: bytes) -> npt.NDArray[np.number]:
    return np.frombuffer(data, dtype=stored)


def _format(dtype: str) -> StorageFormat:
    stored = np.dtype(dtype).newbyteorder("<")
    real = dtype == str(encoding.FLOAT64)
    element = encoding.FLOAT64 if real else encoding.integers(dtype).element
    return StorageFormat(element, partial(_encode, stored), partial(_decode, stored))


# float32 and int8 are formats of filters, too: modules of their own
FORMAT = tuple(
    map(
        _format,
        ("uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float64"),
    )
)
