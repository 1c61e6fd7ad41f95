"""Functions of two int8 of which one is the same for many: linear in the other, proven.

For every value of b a kernel has a factor and an offset, and computes

    q = min(max((a factor[b] + offset[b]) >> right, low), high)

which is what the model says for all 65,536 pairs of a and b: all are looked at.  Where both
operands differ from element to element, sums are `pair.PairSum`, and products those of
`forms.Fixed`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from edgeconv.ir.requantisation.exact import Integers, Reals, Sums
from edgeconv.ir.requantisation.forms import Fixed, fixed
from edgeconv.ir.requantisation.pair import Affine

_STORED = np.arange(-128, 128, dtype=np.int64)
_LARGEST = 2**31 - 1
_MOST_RIGHT = 22
_NEAR = 1e-9  # of a tie in float64, whose few roundings are far below that
_TRIED = (0, *(sign * 2**bit for bit in range(6) for sign in (1, -1)))  # around the nearest factor
Words = npt.NDArray[np.int32]

_KINDS: Mapping[str, Callable[[Fraction, Fraction], Fraction]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "sub_from": lambda a, b: b - a,
    "mul": lambda a, b: a * b,
}


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


Says = Callable[[str, Affine, Affine, Affine, int, int], Integers | None]


def expected(kind: str, a: Affine, b: Affine, result: Affine, low: int, high: int) -> Integers:
    """What the model says, of every pair: a from -128 to 127 (first axis), b (second axis)."""
    of_a, of_b = (_STORED - a.zero)[:, None], (_STORED - b.zero)[None, :]
    real_a, real_b = of_a * a.scale, of_b * b.scale
    real = {
        "add": lambda: real_a + real_b,
        "sub": lambda: real_a - real_b,
        "sub_from": lambda: real_b - real_a,
        "mul": lambda: real_a * real_b,
    }[kind]() / result.scale
    found = np.rint(real).astype(np.int64)
    close = np.abs(real - np.floor(real) - 0.5) <= _NEAR * np.maximum(np.abs(real), 1)
    for i, j in zip(*np.nonzero(close & (np.abs(real) < 2 * 256)), strict=True):
        exact = _KINDS[kind](
            int(of_a[i, 0]) * Fraction(a.scale), int(of_b[0, j]) * Fraction(b.scale)
        )
        found[i, j] = round(exact / Fraction(result.scale))  # ties to even
    stored: Integers = np.clip(found + result.zero, low, high)
    return stored


def by_value(
    kind: str,
    a: Affine,
    b: Affine,
    result: Affine,
    low: int,
    high: int,
    says: Says = expected,
) -> ByValue | None:
    """What kernels compute; None where nothing was found that is the same for all pairs.  ``says``:
    what it has to be; None where that has no meaning."""
    goal = says(kind, a, b, result, low, high)
    if goal is None:
        return None
    slope = _slopes(kind, a, b, result)
    for right in _rights(slope):
        nearest = np.rint(np.ldexp(slope, right)).astype(np.int64)
        factor, offset = np.zeros(256, np.int64), np.zeros(256, np.int64)
        missing = np.ones(256, np.bool_)
        for near in _TRIED:
            first, last = _offsets(nearest + near, right, goal, (low, high))
            take = missing & (first <= last)
            factor[take] = (nearest + near)[take]
            offset[take] = (first + (last - first) // 2)[take]
            missing &= ~take
        if not missing.any() and _fits(factor, offset):
            return ByValue(factor, offset, right, low, high)
    return None


def product(a: Affine, b: Affine, result: Affine, low: int, high: int) -> Fixed | None:
    """How (a - zero_a) (b - zero_b) becomes the result, as the sum of one channel."""
    ends = np.outer([-128 - a.zero, 127 - a.zero], [-128 - b.zero, 127 - b.zero])
    least, most = (np.array([bound], np.int64) for bound in (ends.min(), ends.max()))
    unit = np.array([a.scale * b.scale], np.float64)
    return fixed(Sums(unit, np.zeros(1), least, most, result.scale, result.zero, low, high))


def _slopes(kind: str, a: Affine, b: Affine, result: Affine) -> Reals:
    """The slopes of the result over a, by b."""
    own = a.scale / result.scale
    if kind == "mul":
        return np.asarray((_STORED - b.zero) * b.scale * own, np.float64)
    return np.full(256, -own if kind == "sub_from" else own, np.float64)


def _rights(slope: Reals) -> Iterator[int]:
    """The most bits behind the point that may fit into int32, and fewer."""
    size = float(np.abs(slope).max(initial=0.0))
    fitting = [n for n in range(1, _MOST_RIGHT + 1) if 256 * size * 2**n < _LARGEST]
    yield from reversed(fitting[-4:])


def _offsets(
    factor: Integers, right: int, goal: Integers, bounds: tuple[int, int]
) -> tuple[Integers, Integers]:
    """By b the first and the last with which every a is as the ``goal``."""
    low, high = bounds
    without = _STORED[:, None] * factor[None, :]
    least = np.where(goal > low, (goal << right) - without, -_LARGEST).max(axis=0)
    most = np.where(goal < high, ((goal + 1) << right) - 1 - without, _LARGEST).min(axis=0)
    return least, most


def _fits(factor: Integers, offset: Integers) -> bool:
    """No product, and no sum, leaves int32."""
    ends = np.stack([-128 * factor, 127 * factor])
    sums = np.abs(ends + offset)
    return bool(max(np.abs(ends).max(), sums.max(), np.abs(offset).max()) <= _LARGEST)
