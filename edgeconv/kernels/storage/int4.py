"""Integers of four bits, -7 ... 7, in units of a scale per output channel.

Two to a byte, the first in its lower half; where their number is odd, the last byte's upper half is
zero.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from edgeconv.ir.encoding import INT4
from edgeconv.kernels.storage.whole import whole


def _pack(values: npt.NDArray[np.int8]) -> bytes:
    even = np.zeros(values.size + values.size % 2, np.int8)
    even[: values.size] = values
    low, high = even[::2].view(np.uint8), even[1::2].view(np.uint8)
    return (low & 15 | high << 4).astype(np.uint8).tobytes()


def _unpack(data: bytes) -> npt.NDArray[np.int8]:
    both = np.frombuffer(data, np.uint8)
    halves = np.stack([both & 15, both >> 4], axis=1).reshape(-1).astype(np.int8)
    return ((halves ^ 8) - 8).astype(np.int8)


FORMAT = whole(INT4, _pack, _unpack)
