"""IEEE binary32: the compute type itself."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from edgeconv.ir.encoding import FLOAT32
from edgeconv.kernels.storage.base import StorageFormat


def _encode(array: npt.NDArray[np.generic]) -> bytes:
    return np.ascontiguousarray(array, dtype="<f4").tobytes()


def _decode(data: bytes) -> npt.NDArray[np.number]:
    return np.frombuffer(data, dtype="<f4")


FORMAT = StorageFormat(FLOAT32, _encode, _decode, enumerator="EC_F32", written=True)
