"""Results of quantised models as int8: number = (integer - zero) * scale, of one pair per tensor.

Nothing is lost: the model has rounded such a tensor to these numbers already.  So there is not one
format but one for every pair, and its name says which: ``int8(0.0235, -128)``.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from edgeconv.format_names import GRID_KIND, GRID_NAME
from edgeconv.storage.base import StorageFormat

LOW, HIGH = -128, 127
# Beyond these the product with 1 / scale, by which kernels encode, might overflow or be subnormal.
_SMALLEST, _LARGEST = 2.0**-100, 2.0**100


class Grid(NamedTuple):
    """The numbers (integer - zero) * scale, integers from -128 to 127; ``scale`` is a float32."""

    scale: float
    zero: int

    @property
    def name(self) -> str:
        """As a storage format."""
        return f"{GRID_KIND}({np.float32(self.scale)!s}, {self.zero})"

    @property
    def enumerator(self) -> str:
        """In C.  Of its content, since functions are written before it is known which others a
        program has."""
        bits = int(np.float32(self.scale).view(np.uint32))
        return f"EC_GRID_{bits:08X}_{'M' if self.zero < 0 else 'P'}{abs(self.zero)}"

    @property
    def is_stored(self) -> bool:
        """Kernels can encode it: zero is one of its numbers, and the scale is no extreme one."""
        return LOW <= self.zero <= HIGH and _SMALLEST <= self.scale <= _LARGEST


def grid_of(form: str) -> Grid:
    """The grid that a format's name tells; KeyError where it is not one of these."""
    found = GRID_NAME.fullmatch(form)
    if not found:
        raise KeyError(form)
    return Grid(float(np.float32(found["scale"])), int(found["zero"]))


@cache
def grid_format(form: str) -> StorageFormat:
    """The format called ``form``; KeyError where it is not one of these."""
    grid = grid_of(form)
    scale, zero = np.float32(grid.scale), np.float32(grid.zero)

    def encode(values: npt.NDArray[Any]) -> bytes:
        whole = np.rint(values.astype(np.float64) / float(scale)) + grid.zero
        return bytes(np.nan_to_num(np.clip(whole, LOW, HIGH)).astype(np.int8).tobytes())

    def decode(data: bytes) -> npt.NDArray[np.number]:
        return (np.frombuffer(data, np.int8).astype(np.float32) - zero) * scale

    return StorageFormat(
        name=form, bits=8, encode=encode, decode=decode, enumerator=grid.enumerator, written=True
    )
