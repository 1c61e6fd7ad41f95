"""Functions of two int8 of which one is the same for many: linear in the other, proven.

For every value of b a kernel has a factor and an offset, and computes

    q = min(max((a factor[b] + offset[b]) >> right, low), high)

which is what the model says for all 65,536 pairs of a and b: all are looked at.  Where both
operands differ from element to element, sums are `pair.PairSum`, and products those of
`forms.Fixed`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from edgeconv.ir.requantisation.exact import Integers, Reals
from edgeconv.ir.requantisation.pair import LARGEST, STORED, Affine, Says, offsets, rights

_TRIED = (0, *(sign * 2**bit for bit in range(6) for sign in (1, -1)))  # around the nearest factor
Words = npt.NDArray[np.int32]
# Signs of a and b in a sum.
_SIGNS: Mapping[str, tuple[int, int]] = {"add": (1, 1), "sub": (1, -1), "sub_from": (-1, 1)}


@dataclass(frozen=True, slots=True, eq=False)
class ByValue:
    """As above; nothing of it overflows int32.  ``factor`` and ``offset``: by b, from -128 on."""

    factor: Integers
    offset: Integers
    right: int
    low: int
    high: int

    def of(self, a: Integers, b: Integers) -> Integers:
        """The results, as the kernel computes them."""
        total = a * self.factor[b + 128] + self.offset[b + 128]
        found: Integers = np.clip(total >> self.right, self.low, self.high)
        return found

    @property
    def words(self) -> Words:
        """Factors by b as uint8, then offsets."""
        order = np.arange(256).astype(np.uint8).view(np.int8).astype(np.int64) + 128
        return np.concatenate([self.factor[order], self.offset[order]]).astype(np.int32)


@lru_cache(maxsize=4096)
def by_value(
    kind: str, a: Affine, b: Affine, result: Affine, low: int, high: int, says: Says
) -> ByValue | None:
    """What kernels compute; None where nothing was found that is the same for all pairs.  ``says``:
    what it has to be, of products ("mul") or of sums; None where that has no meaning."""
    if kind != "mul":
        a, b = (
            replace(each, scale=each.scale * sign)
            for each, sign in zip((a, b), _SIGNS[kind], strict=True)
        )
    goal = says(a, b, result, low, high)
    if goal is None:
        return None
    slope: Reals = np.full(256, a.scale / result.scale)
    if kind == "mul":
        slope = (STORED - b.zero) * b.scale * slope
    for right in rights(256 * float(np.abs(slope).max()), 4):
        nearest = np.rint(np.ldexp(slope, right)).astype(np.int64)
        factor, offset = np.zeros(256, np.int64), np.zeros(256, np.int64)
        missing = np.ones(256, np.bool_)
        for near in _TRIED:
            without = STORED[:, None] * (nearest + near)
            first, last = offsets(without, right, goal, (low, high), axis=0)
            take = missing & (first <= last)
            factor[take] = (nearest + near)[take]
            offset[take] = (first + (last - first) // 2)[take]
            missing &= ~take
        if not missing.any() and _fits(factor, offset):
            return ByValue(factor, offset, right, low, high)
    return None


def _fits(factor: Integers, offset: Integers) -> bool:
    """No product, and no sum, leaves int32."""
    ends = np.stack([-128 * factor, 127 * factor])
    sums = np.abs(ends + offset)
    return bool(max(np.abs(ends).max(), sums.max(), np.abs(offset).max()) <= LARGEST)
