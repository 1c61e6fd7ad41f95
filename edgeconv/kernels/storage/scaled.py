"""Results of quantised models: integers of one scale and zero point.

Nothing is lost: the model has rounded such a tensor to these numbers already.  So there is not one
format but one for every pair of scale and zero point.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from edgeconv.ir.encoding import Encoding
from edgeconv.kernels.storage.base import StorageFormat


@cache
def scaled_format(encoding: Encoding) -> StorageFormat:
    """The storage format of an affine encoding of 8 or 16 bits with one scale."""
    kind = np.dtype(f"<i{encoding.element_bytes}")
    scale, zero = np.float32(encoding.scale[0]), encoding.zero[0]

    def encode(values: npt.NDArray[Any]) -> bytes:
        whole = np.rint(values.astype(np.float64) / float(scale)) + zero
        clipped = np.clip(whole, encoding.low, encoding.high)
        return bytes(np.nan_to_num(clipped).astype(kind).tobytes())

    def decode(data: bytes) -> npt.NDArray[np.number]:
        return (np.frombuffer(data, kind).astype(np.float32) - np.float32(zero)) * scale

    # In C of its content, since functions are written before it is known which others a program
    # has.
    digits = f"{int(scale.view(np.uint32)):08X}_{'M' if zero < 0 else 'P'}{abs(zero)}"
    return StorageFormat(
        encoding, encode, decode, enumerator=f"EC_Q{encoding.bits}_{digits}", written=True
    )
