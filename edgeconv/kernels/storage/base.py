"""What a storage format is.  Each module of ``edgeconv.kernels.storage`` sets ``FORMAT`` to one."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from edgeconv.ir import encoding
from edgeconv.ir.encoding import Encoding

FLOAT32 = str(encoding.FLOAT32)  # as options and report.json spell it


@dataclass(frozen=True, slots=True)
class StorageFormat:
    """One way to keep numbers in memory.

    ``encoding``: of one element.  ``encode`` brings an array of any shape to its bytes,
    little-endian, in C order, each value to the nearest that the format has; ``decode`` is its
    inverse up to the format's precision and gives a flat array of the compute type.  Where elements
    are parts of bytes, zeros fill up the last one, and ``decode`` gives those too.
    ``truncate``: the same as ``encode``, but toward zero; None where all is exact.
    ``relative_error`` and ``truncation_error`` bound what the two do to a number between
    ``smallest`` and ``largest`` in magnitude, relative to it; larger ones become ``largest``.
    ``units``: of weights, one per index of the first axis, those that serve best where nobody says
    better: what is stored is the weight in its unit, which lies outside of the bytes.  None where
    weights are stored as they are.
    ``enumerator``: its name in ec_stored.h; "" where kernels do not read weights in it.
    ``written``: kernels encode results in it, so that run-time tensors can have it.
    ``offered``: options name it; others are what some kernels' own elements are to others.
    """

    encoding: Encoding
    encode: Callable[[npt.NDArray[np.generic]], bytes]
    decode: Callable[[bytes], npt.NDArray[np.number]]
    relative_error: float = 0.0
    truncate: Callable[[npt.NDArray[np.generic]], bytes] | None = None
    truncation_error: float = 0.0
    smallest: float = 0.0
    largest: float = math.inf
    units: Callable[[npt.NDArray[np.float32]], npt.NDArray[np.float32]] | None = None
    enumerator: str = ""
    written: bool = False
    offered: bool = True

    @property
    def name(self) -> str:
        """What options call it."""
        return str(self.encoding)

    @property
    def bits(self) -> int:
        """Bits of one element."""
        return self.encoding.bits

    @property
    def scaled(self) -> bool:
        """Weights are in units of their output channel."""
        return self.units is not None

    def rounded(
        self, values: npt.NDArray[np.generic], *, truncate: bool = False
    ) -> npt.NDArray[np.number]:
        """What comes back of ``values`` from memory, in their shape.

        ``encode`` keeps such values as they are: whoever wants them truncated, or rounded in a way
        of his own, does so first and needs to tell nobody behind.
        """
        encode = self.truncate if truncate and self.truncate else self.encode
        return self.decode(encode(values))[: values.size].reshape(values.shape)
