"""What a storage format is.  Each module of ``edgeconv.storage`` sets ``FORMAT`` to one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True, slots=True)
class StorageFormat:
    """One way to keep numbers in memory.

    ``element_bytes``: bytes of one element.  ``encode`` brings an array of any shape to its bytes,
    little-endian, in C order; ``decode`` is its inverse up to the format's precision and gives a
    flat array of the compute type.  ``relative_error`` bounds the rounding of a normal value.
    """

    name: str
    element_bytes: int
    encode: Callable[[npt.NDArray[np.generic]], bytes]
    decode: Callable[[bytes], npt.NDArray[np.generic]]
    relative_error: float = 0.0
