"""Integers of eight bits, -127 ... 127, in units of a scale per output channel.

The scales are not among the bytes: ``encode`` takes values in units of them (``quantised``), and
the kernel multiplies its sums by them (the epilogue's per-channel factor).  Rounding is to nearest,
ties to even; what exceeds the range becomes 127 of its sign.  There is no int8 for NaN.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from edgeconv.errors import EdgeconvError
from edgeconv.storage.base import StorageFormat

LARGEST = 127
_TINY = float(np.finfo(np.float32).tiny)  # a smaller scale would be subnormal, or zero


def _bytes_of(whole: npt.NDArray[np.floating]) -> bytes:
    if np.isnan(whole).any():
        raise EdgeconvError(
            "NaN cannot be stored as int8",
            got=f"{int(np.isnan(whole).sum())} of {whole.size} values",
            rule="int8 holds whole numbers from -127 to 127",
            hint="keep this tensor in float32, flyte24 or flyte16",
        )
    return np.ascontiguousarray(np.clip(whole, -LARGEST, LARGEST).astype(np.int8)).tobytes()


def _encode(array: npt.NDArray[np.generic]) -> bytes:
    return _bytes_of(np.rint(array.astype(np.float32)))


def _truncate(array: npt.NDArray[np.generic]) -> bytes:
    return _bytes_of(np.trunc(array.astype(np.float32)))


def _decode(data: bytes) -> npt.NDArray[np.generic]:
    return np.frombuffer(data, np.int8).astype(np.float32)


def channel_scales(
    weights: npt.NDArray[np.floating], axis: int = 0, *, power_of_two: bool = False
) -> npt.NDArray[np.float32]:
    """One scale per index of ``axis``: the channel's largest magnitude / 127, 1 where all is zero.

    With ``power_of_two`` the next power of two that is no smaller, so that scaling is exact.
    Raises EdgeconvError where a weight is infinite or NaN.
    """
    if not np.isfinite(weights).all():
        raise EdgeconvError(
            "weights cannot be scaled to int8",
            got="infinite values or NaN among them",
            rule="a scale is the largest magnitude of an output channel / 127",
            hint="keep this tensor in float32",
        )
    others = tuple(i for i in range(weights.ndim) if i != axis % weights.ndim)
    size = np.abs(weights).max(axis=others, initial=0).astype(np.float64)
    scale = np.where(size > 0, np.maximum(size / LARGEST, _TINY), 1.0)
    if power_of_two:
        scale = np.exp2(np.ceil(np.log2(scale)))
    return scale.astype(np.float32)


def quantised(
    weights: npt.NDArray[np.floating], scales: npt.NDArray[np.float32], axis: int = 0
) -> npt.NDArray[np.float32]:
    """``weights`` in units of their channel's scale, which is what ``encode`` takes.

    Divided in double precision: rounding twice would pick the farther integer here and there.
    """
    shape = [1] * weights.ndim
    shape[axis] = -1
    units = weights.astype(np.float64) / scales.reshape(shape)
    return np.clip(np.rint(units), -LARGEST, LARGEST).astype(np.float32)


# Half a unit is 1 of 1/2, and all of what exceeds the range but 127: a relative bound says little.
FORMAT = StorageFormat(
    name="int8",
    element_bytes=1,
    encode=_encode,
    decode=_decode,
    relative_error=1.0,
    truncate=_truncate,
    truncation_error=1.0,
    smallest=1.0,
    largest=float(LARGEST),
    scaled=True,
    enumerator="EC_I8",
)
