"""A way to compute a node, planned to its end: what a layer keeps of how it was chosen."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType

from edgeconv.ir.encoding import FLOAT16, FLOAT32, Encoding
from edgeconv.ir.work import CacheTraffic, Work

FLOAT = "float32"
HALF = "float16"  # products and sums, on vectors of it
INTEGERS = "int8"  # as they are stored: nothing is rounded beside the result
INT16 = "int16"  # the same where operands or results have 16 bits
REAL = "int8 to float32"  # sums of integers as they are stored, of which float32 is made
WIDE_REAL = "int16 to float32"  # the same where operands have 16 bits
EXACTLY = (INTEGERS, INT16)
IN_WHOLE_NUMBERS = (*EXACTLY, REAL, WIDE_REAL)  # all that multiplies integers as they are stored
# Types that kernels round to what they multiply, by name: the storage format of those numbers.
OPERANDS: Mapping[str, Encoding] = MappingProxyType(
    {FLOAT: FLOAT32, "bfloat16": Encoding(16), HALF: FLOAT16}
)


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """Nothing of it is decided again: what is emitted, predicted and explained reads this.

    ``compute``: the type that is multiplied, a key of `OPERANDS` or one of
    `EXACTLY`.  ``workspace``:
    bytes of its parts by name, in the order in which they lie; a part that it does without has
    none.  ``work``: on registers.  ``cache_traffic`` makes ``traffic``, which only some are asked
    for.
    """

    algorithm: str
    workspace: Mapping[str, int]
    work: Work
    cache_traffic: Callable[[], tuple[CacheTraffic, ...]] = field(compare=False, repr=False)
    compute: str = FLOAT
    summed_apart: int = 0

    @cached_property
    def traffic(self) -> tuple[CacheTraffic, ...]:
        """Cache traffic behind each of the target's caches, nearest first, for the whole batch."""
        return self.cache_traffic()

    @property
    def workspace_bytes(self) -> int:
        """Bytes of workspace of all parts."""
        return sum(self.workspace.values())
