"""What an instruction set does with vectors of int8: a frozen row.

What the functions do is in ``ec_bytes_portable.h``, beside the portable backend.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ByteVectors:
    """Vectors of int8 of an instruction set.  ``name``: of its header, as ``ec_bytes_<name>.h``.
    ``count``: int8 in a vector.

    ``lookup``: slots to look a vector up in a table, its load and store aside, counted.
    ``feature``: what a core must have beyond its ISA.
    """

    name: str
    count: int
    lookup: float
    feature: str = ""

    @property
    def header(self) -> str:
        """As kernels include it."""
        return f"ec_bytes_{self.name}.h"
