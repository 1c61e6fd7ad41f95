"""What a storage format is.  Each module of ``edgeconv.storage`` sets ``FORMAT`` to one."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True, slots=True)
class StorageFormat:
    """One way to keep numbers in memory.

    ``element_bytes``: bytes of one element.  ``encode`` brings an array of any shape to its bytes,
    little-endian, in C order, each value to the nearest that the format has; ``decode`` is its
    inverse up to the format's precision and gives a flat array of the compute type.
    ``truncate``: the same as ``encode``, but toward zero; None where all is exact.
    ``relative_error`` and ``truncation_error`` bound what the two do to a number between
    ``smallest`` and ``largest`` in magnitude, relative to it; larger ones become ``largest``.
    ``scaled``: the values are in units of a scale that lies outside of the bytes.
    ``enumerator``: its name in ec_stored.h; "" where kernels do not read weights in it.
    """

    name: str
    element_bytes: int
    encode: Callable[[npt.NDArray[np.generic]], bytes]
    decode: Callable[[bytes], npt.NDArray[np.generic]]
    relative_error: float = 0.0
    truncate: Callable[[npt.NDArray[np.generic]], bytes] | None = None
    truncation_error: float = 0.0
    smallest: float = 0.0
    largest: float = math.inf
    scaled: bool = False
    enumerator: str = ""

    def rounded(
        self, values: npt.NDArray[np.generic], *, truncate: bool = False
    ) -> npt.NDArray[np.generic]:
        """What comes back of ``values`` from memory, in their shape.

        ``encode`` keeps such values as they are: whoever wants them truncated, or rounded in a way
        of his own, does so first and needs to tell nobody behind.
        """
        encode = self.truncate if truncate and self.truncate else self.encode
        return self.decode(encode(values)).reshape(values.shape)
