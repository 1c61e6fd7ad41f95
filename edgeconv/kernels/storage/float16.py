"""IEEE binary16, as kernels on vectors of it have it, and what a float32 is to these kernels."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from edgeconv.ir.encoding import FLOAT16, TWO_WORDS
from edgeconv.kernels.storage.base import StorageFormat

_INFO = np.finfo(np.float16)


def _encode(array: npt.NDArray[np.generic]) -> bytes:
    with np.errstate(over="ignore"):  # beyond the largest lies infinity
        return np.ascontiguousarray(array, dtype="<f2").tobytes()


def _decode(data: bytes) -> npt.NDArray[np.number]:
    return np.frombuffer(data, dtype="<f2").astype(np.float32)


def _no_bytes(array: npt.NDArray[np.generic]) -> bytes:
    raise ValueError(f"{TWO_WORDS} is no format of memory")


def _no_numbers(data: bytes) -> npt.NDArray[np.number]:
    raise ValueError(f"{TWO_WORDS} is no format of memory")


FORMAT = (
    StorageFormat(
        FLOAT16,
        _encode,
        _decode,
        relative_error=float(_INFO.eps) / 2,
        smallest=float(_INFO.tiny),
        largest=float(_INFO.max),
        enumerator="EC_F32",
        written=True,
        offered=False,
    ),
    StorageFormat(
        TWO_WORDS, _no_bytes, _no_numbers, enumerator="EC_SINGLE", written=True, offered=False
    ),
)
