"""Thirty-two bit integers: index tables of kernels, never tensors."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from edgeconv.encoding import INT32
from edgeconv.storage.base import StorageFormat


def _encode(array: npt.NDArray[np.generic]) -> bytes:
    return np.ascontiguousarray(array, dtype="<i4").tobytes()


def _decode(data: bytes) -> npt.NDArray[np.number]:
    return np.frombuffer(data, dtype="<i4")


FORMAT = StorageFormat(INT32, _encode, _decode)
