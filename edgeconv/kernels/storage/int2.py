"""Integers of two bits, -2 ... 1, that a kernel call unpacks: no kernel decodes them by itself.

Four to a byte, the first in its lowest bits; zeros fill up the last byte.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from edgeconv.ir.encoding import INT2
from edgeconv.kernels.storage.whole import whole

_PLACES = np.arange(0, 8, INT2.bits)


def _pack(values: npt.NDArray[np.int8]) -> bytes:
    filled = np.pad(values, (0, -values.size % _PLACES.size)).reshape(-1, _PLACES.size)
    words = ((filled & 3) << _PLACES).sum(axis=1).astype(np.uint8)
    return bytes(words)


def _unpack(data: bytes) -> npt.NDArray[np.int8]:
    parts = np.frombuffer(data, np.uint8)[:, None] >> _PLACES & 3
    return ((parts.reshape(-1) ^ 2) - 2).astype(np.int8)


FORMAT = replace(whole(INT2, _pack, _unpack), enumerator="", offered=False)
