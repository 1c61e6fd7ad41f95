"""What each instruction set does with vectors of int8: a frozen row each.

What the functions do is in ``runtime_c/isa/ec_bytes_portable.h``.
"""

from __future__ import annotations

from dataclasses import dataclass

from edgeconv.ir.work import Work
from edgeconv.target.targets import DSP, DUAL_ISSUE, HELIUM, THUMB_1, Target


@dataclass(frozen=True, slots=True)
class ByteVectors:
    """``name``: of its header, as ``ec_bytes_<name>.h``.  ``count``: int8 in a vector.

    ``lookup``: slots to look a vector up in a table, its load and store aside.
    """

    name: str
    count: int
    lookup: float

    @property
    def header(self) -> str:
        """As kernels include it."""
        return f"../isa/ec_bytes_{self.name}.h"


# By counting instructions; a gather of Helium takes a cycle for each of its elements.
_ROWS = {
    "avx512": ByteVectors("avx512", 64, 27),
    "avx2": ByteVectors("avx2", 32, 35),
    "neon": ByteVectors("neon", 16, 7),
    "neon_armv7": ByteVectors("neon", 16, 40),
    "power10": ByteVectors("power10", 16, 17),
}
_HELIUM = ByteVectors("helium", 16, 16)
_WORD = ByteVectors("dsp", 4, 13)
_PLAIN = ByteVectors("portable", 1, 1)
# Cycles of a byte that is loaded, looked up and stored, a quarter of the loop's end among them.
# Sources: those of `kernels.algorithms.integer.cycles`; the loop in C counted as it is.
_SINGLE, _DUAL, _OTHER, _NARROW = 4.75, 3.0, 6.0, 7.7


def byte_vectors(target: Target) -> ByteVectors:
    """The row of a target."""
    if HELIUM in target.features:
        return _HELIUM
    return _ROWS.get(target.name, _WORD if DSP in target.features else _PLAIN)


def lookups(elements: int, target: Target) -> Work:
    """The work of looking up so many bytes."""
    row = byte_vectors(target)
    vectors = elements / row.count
    if row in (_PLAIN, _WORD):
        cycles = _OTHER if DSP not in target.features else _SINGLE
        cycles = _NARROW if THUMB_1 in target.features else cycles
        cycles = _DUAL if DUAL_ISSUE in target.features else cycles
        return Work(0.0, cycles * elements, 0.0, 2.0 * elements)
    moves = 2 * vectors if target.single_issue else 0.0
    return Work(row.lookup * vectors, moves, 0.0, 2.0 * elements)
