"""What kernels compute for a layer's results, proven to be what the model says (``exact``).

`Fixed`, for every core with the upper word of a product of 32 by 32 bits (SMMLA, VMULH, vpmuldq,
vmulhsw); `Wide`, with sums of 64 bits (SMLAL), for what that cannot; and `Floating`, where float32
is faster: it holds for some layers only.  Each is monotone in the sum, and so is what the model
says: where both agree at every threshold and just below it they agree everywhere.  That is looked
at, for every channel, before a form is returned.

The sums are those of the stored integers, sum_i q_in_i w_i, with the zero point of the input in
place of what lies outside of it: the other term of (q_in - z_in) w, -z_in sum_i w_i, is a constant
and belongs to ``Sums.bias``, as -unit z_in sum_i w_i.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from edgeconv.requantisation.exact import Integers, Reals, Sums, results, thresholds

Words = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float32]
Truths = npt.NDArray[np.bool_]
_LARGEST = 2**31 - 1
_WIDEST = 2**61  # with a product of two words in 63 bits
_MOST_RIGHT = 22  # an offset has eight bits before the point
# Multipliers tried, beside the nearest one.
_NEAR = (0, *(sign * 2**bit for bit in range(7) for sign in (1, -1)))


@dataclass(frozen=True, slots=True, eq=False)
class Fixed:
    """Of a sum that began with ``start`` of its channel, in int32, nothing of which overflows:

        q = min(max((high_word(sum * multiplier[channel]) + offset) >> right, low), high)

    high_word(a): the upper 32 bits of the product of 64, floor(a / 2^32).  Shifts to the right
    are arithmetic: SMMLA, then SSAT with ASR on ARMv7E-M.  ``offset`` = zero 2^right + 2^(right-1);
    1 <= ``right`` <= 22; 0 < multiplier.  ``ec_fixed`` of runtime_c/kernels/ec_fixed_point.h.
    """

    start: Words
    multiplier: Words
    right: int
    offset: int
    low: int
    high: int

    @property
    def words(self) -> Words:
        """By channel what kernels read, (channels, 2)."""
        return np.stack([self.start, self.multiplier], axis=1)

    def of(self, sums: Integers) -> Integers:
        """The results for sums of shape (channels, any number), without start, as kernels compute
        them."""
        started = sums + self.start.astype(np.int64)[:, None]
        word = (started * self.multiplier.astype(np.int64)[:, None]) >> 32
        return _bounded((word + self.offset) >> self.right, self)


@dataclass(frozen=True, slots=True, eq=False)
class Wide:
    """Of a sum that began with 0, in int64:

        t = sum * multiplier[channel] + start[channel]
        q = min(max(t >> (32 + right), low), high)

    t >> 32 fits in 32 bits: SMLAL, then SSAT with ASR.  ``start`` has zero point, bias and the half
    in it.  With ``even``, t of which the lowest 32 + right bits are 0 is the middle between two
    steps, and the result is one less where q - ``zero`` would be odd, before it is bounded.
    0 <= ``right`` <= 22.  ``ec_wide`` of runtime_c/kernels/ec_fixed_point.h.
    """

    start: Integers
    multiplier: Words
    right: int
    even: bool
    zero: int
    low: int
    high: int

    @property
    def words(self) -> Words:
        """By channel what kernels read, (channels, 3)."""
        halves = self.start.astype("<i8").view("<i4").reshape(-1, 2)
        return np.concatenate([halves, self.multiplier[:, None]], axis=1).astype(np.int32)

    def of(self, sums: Integers) -> Integers:
        """The results for sums of shape (channels, any number), as the kernel computes them."""
        t = sums * self.multiplier.astype(np.int64)[:, None] + self.start[:, None]
        whole = t >> (32 + self.right)
        if self.even:
            middle = t & ((1 << (32 + self.right)) - 1) == 0
            whole = whole - (middle & ((whole - self.zero) % 2 == 1))
        return _bounded(whole, self)


@dataclass(frozen=True, slots=True, eq=False)
class Floating:
    """Of a sum that began with ``start`` of its channel:

        q = min(max(rint(float32(sum) * multiplier[channel]) + zero, low), high)

    Ties to even in the conversion, the product and rint; zero and bounds are added as integers, or
    saturated.  It holds whether or not the product is rounded before rint: a compiler may fuse it
    with an addition that rounds.
    """

    start: Words
    multiplier: Floats
    zero: int
    low: int
    high: int

    def of(self, sums: Integers, *, fused: bool = False) -> Integers:
        """The results for sums of shape (channels, any number), as the kernel computes them."""
        started = (sums + self.start.astype(np.int64)[:, None]).astype(np.float32)
        factor = self.multiplier[:, None]
        product = started.astype(np.float64) * factor if fused else started * factor
        whole = np.rint(product.astype(np.float64)) + self.zero
        return _bounded(whole.astype(np.int64), self)


@dataclass(frozen=True, slots=True, eq=False)
class _Points:
    """Sums just below (``under``) and at (``over``) each threshold, brought to what sums reach, and
    the results there: by channel and threshold."""

    under: Integers
    below: Integers
    over: Integers
    above: Integers

    @staticmethod
    def of(sums: Sums) -> _Points:
        edges = thresholds(sums)
        least, most = sums.least[:, None], sums.most[:, None]
        under, over = np.clip(edges - 1, least, most), np.clip(edges, least, most)
        return _Points(under, results(sums, edges, under), over, results(sums, edges, over))

    def hold(self, form: Fixed | Wide | Floating) -> Truths:
        """By channel: ``form`` gives these results."""
        held = (form.of(self.under) == self.below) & (form.of(self.over) == self.above)
        if isinstance(form, Floating):
            held &= form.of(self.under, fused=True) == self.below
            held &= form.of(self.over, fused=True) == self.above
        everywhere: Truths = held.all(axis=1)
        return everywhere


def fixed(sums: Sums) -> Fixed | None:
    """The form of ``sums`` with words; None where there is none.

    There is none where a bias needs a fraction of a unit, and where scales differ too much.
    """
    points, scale = _Points.of(sums), sums.unit / sums.spacing
    right = most_right(scale)
    if right < 1:
        return None
    offset = (sums.zero << right) + (1 << (right - 1))
    # A result is at least q where sum * multiplier is this much; no sum leaves 32 bits.
    half = (sums.zero << (32 + right)) + (1 << (31 + right))
    lowest = -_LARGEST - np.minimum(sums.least, 0)
    highest = _LARGEST - np.maximum(sums.most, 0)
    start, multiplier = np.zeros_like(sums.least), np.ones_like(sums.least)
    missing = np.ones(len(scale), np.bool_)
    for tried in _multipliers(scale, right):
        at = (
            _ceil(points.above << (32 + right), half, tried) - points.over,
            _ceil((points.below + 1) << (32 + right), half, tried) - points.under - 1,
        )
        first, last = _between(sums, points, *at, (lowest, highest))
        _take(
            missing & (first <= last), missing, (start, _middle(first, last)), (multiplier, tried)
        )
    form = Fixed(_words(start), _words(multiplier), right, offset, sums.low, sums.high)
    return form if not missing.any() and points.hold(form).all() else None


def wide(sums: Sums) -> Wide | None:
    """The form of ``sums`` with 64 bits; None where there is none.

    Ties are told from their neighbours where all scales are powers of two alike, in which case
    products are exact; others lie where no line of steps of equal width goes.
    """
    points, scale = _Points.of(sums), sums.unit / sums.spacing
    right = most_right(scale)
    if right < 0:
        return None
    start, multiplier = np.zeros_like(sums.least), np.ones_like(sums.least)
    missing = np.ones(len(scale), np.bool_)
    for tried in _multipliers(scale, right):
        at = (
            (points.above << (32 + right)) - points.over * tried[:, None],
            ((points.below + 1) << (32 + right)) - points.under * tried[:, None] - 1,
        )
        first, last = _between(sums, points, *at, (-_WIDEST, _WIDEST))
        _take(
            missing & (first <= last), missing, (start, _middle(first, last)), (multiplier, tried)
        )
    form = Wide(start, _words(multiplier), right, False, sums.zero, sums.low, sums.high)
    if not missing.any() and points.hold(form).all():
        return form
    real = np.ldexp(sums.bias / sums.spacing + (sums.zero + 0.5), 32 + right)
    if not np.abs(real).max(initial=0) < _WIDEST:
        return None
    nearest = next(_multipliers(scale, right))
    form = replace(
        form, start=np.rint(real).astype(np.int64), multiplier=_words(nearest), even=True
    )
    return form if points.hold(form).all() else None


def most_right(scale: Reals) -> int:
    """The largest shift to the right with which the largest multiplier is below 2^31."""
    return min(_MOST_RIGHT, -1 - int(np.frexp(scale.max(initial=0))[1]))


def _multipliers(scale: Reals, right: int) -> Iterator[Integers]:
    """Those to try: the nearest, others around it, and larger ones, which serve where a channel
    hardly changes, and its bias is beyond 32 bits in units so small."""
    nearest = np.rint(np.ldexp(scale, 32 + right)).astype(np.int64)
    for near in _NEAR:
        yield np.clip(nearest + near, 1, _LARGEST)
    for bits in range(1, 31):
        yield np.clip(np.maximum(nearest, 1) << bits, 1, _LARGEST)


def _ceil(amounts: Integers, half: int, factor: Integers) -> Integers:
    """(amounts - half) / factor by channel, rounded up."""
    found: Integers = -((half - amounts) // factor[:, None])
    return found


def _between(
    sums: Sums,
    points: _Points,
    at_least: Integers,
    at_most: Integers,
    bounds: tuple[Integers | int, Integers | int],
) -> tuple[Integers, Integers]:
    """By channel the first and the last start with which results are right, within ``bounds``.

    A result that is the lowest anyhow, or the highest, asks for nothing.
    """
    lowest, highest = bounds
    first = np.where(points.above > sums.low, at_least, -_WIDEST).max(axis=1, initial=-_WIDEST)
    last = np.where(points.below < sums.high, at_most, _WIDEST).min(axis=1, initial=_WIDEST)
    return np.maximum(first, lowest), np.minimum(last, highest)


def _middle(first: Integers, last: Integers) -> Integers:
    return first + (last - first) // 2


def _take(found: Truths, missing: Truths, *pairs: tuple[Integers, Integers]) -> None:
    """Where ``found``, put the second of each pair in place of the first; no longer missing."""
    for kept, new in pairs:
        kept[found] = new[found]
    missing[found] = False


def floating(sums: Sums) -> Floating | None:
    """The form with float32's arithmetic; None where there is none.

    Without a fraction in ``start`` a bias that is no multiple of the unit may have none.
    """
    points, scale = _Points.of(sums), sums.unit / sums.spacing
    whole = np.clip(np.rint(sums.bias / sums.unit), -(2.0**40), 2.0**40).astype(np.int64)
    reach = np.maximum(np.abs(sums.least), np.abs(sums.most))
    start, multiplier = whole.copy(), scale.astype(np.float32)
    missing = np.ones(len(scale), np.bool_)
    if (np.abs(whole) + reach).max(initial=0) >= _LARGEST:
        return None
    for shift in (0, 1, -1):
        for near in _NEAR[:7]:
            bits = scale.astype(np.float32).view(np.int32) + np.int32(near)
            tried = Floating(
                _words(whole + shift), bits.view(np.float32), sums.zero, sums.low, sums.high
            )
            found = missing & points.hold(tried)
            start[found], multiplier[found] = tried.start[found], tried.multiplier[found]
            missing &= ~found
            if not missing.any():
                return Floating(_words(start), multiplier, sums.zero, sums.low, sums.high)
    return None


def _bounded(whole: Integers, form: Fixed | Wide | Floating) -> Integers:
    found: Integers = np.clip(whole, form.low, form.high)
    return found


def _words(values: Integers) -> Words:
    words: Words = np.clip(values, -_LARGEST, _LARGEST).astype(np.int32)
    return words
