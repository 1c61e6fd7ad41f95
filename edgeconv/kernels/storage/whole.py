"""Whole numbers of few bits, -largest ... largest, in units of a scale per output channel.

The scales are not among the bytes: ``encode`` takes values in units of them, and the kernel
multiplies its sums by them (the epilogue's per-channel factor).  Rounding is to nearest, ties to
even; what exceeds the range becomes the largest of its sign.  There is no such number for NaN.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from edgeconv.base.errors import EdgeconvError
from edgeconv.ir.encoding import Encoding
from edgeconv.kernels.storage.base import StorageFormat

_TINY = float(np.finfo(np.float32).tiny)  # a smaller scale would be subnormal, or zero


def require_finite(weights: npt.NDArray[np.floating], name: str) -> None:
    """Raise EdgeconvError where a weight is infinite or NaN: there is no scale to ``name`` then."""
    if not np.isfinite(weights).all():
        raise EdgeconvError(
            f"weights cannot be scaled to {name}",
            got="infinite values or NaN among them",
            rule="a scale per output channel brings them into the format's range",
            hint="keep this tensor in float32",
        )


def channel_scales(
    weights: npt.NDArray[np.floating], largest: int, axis: int = 0, *, power_of_two: bool = False
) -> npt.NDArray[np.float32]:
    """One scale per index of ``axis``: the channel's largest magnitude / ``largest``, 1 where all
    is zero.

    With ``power_of_two`` the next power of two that is no smaller, so that scaling is exact.
    Raises EdgeconvError where a weight is infinite or NaN.
    """
    require_finite(weights, "whole numbers")
    others = tuple(i for i in range(weights.ndim) if i != axis % weights.ndim)
    size = np.abs(weights).max(axis=others, initial=0).astype(np.float64)
    scale = np.where(size > 0, np.maximum(size / largest, _TINY), 1.0)
    if power_of_two:
        scale = np.exp2(np.ceil(np.log2(scale)))
    return scale.astype(np.float32)


def whole(
    encoding: Encoding,
    pack: Callable[[npt.NDArray[np.int8]], bytes],
    unpack: Callable[[bytes], npt.NDArray[np.int8]],
) -> StorageFormat:
    """The format whose elements ``pack`` brings to bytes and ``unpack`` takes back."""
    name, largest = str(encoding), encoding.high

    def bytes_of(values: npt.NDArray[Any]) -> bytes:
        missing = int(np.isnan(values).sum())
        if missing:
            raise EdgeconvError(
                f"NaN cannot be stored as {name}",
                got=f"{missing} of {values.size} values",
                rule=f"{name} holds whole numbers from -{largest} to {largest}",
                hint="keep this tensor in float32, flyte24 or flyte16",
            )
        # No unit chosen here needs the smallest integer, but a quantised model may use it.
        return pack(np.clip(values, encoding.low, largest).astype(np.int8).reshape(-1))

    # In double precision: of a quotient rounded to float32 before, the nearest integer may be
    # another one.  Half a unit is 1 of 1/2, and all of what exceeds the range but the largest: a
    # relative bound says little.
    return StorageFormat(
        encoding=encoding,
        encode=lambda array: bytes_of(np.rint(array.astype(np.float64))),
        decode=lambda data: unpack(data).astype(np.float32),
        relative_error=1.0,
        truncate=lambda array: bytes_of(np.trunc(array.astype(np.float64))),
        truncation_error=1.0,
        smallest=1.0,
        largest=float(largest),
        units=lambda weights: channel_scales(weights, largest),
        enumerator=f"EC_I{encoding.bits}",
    )
