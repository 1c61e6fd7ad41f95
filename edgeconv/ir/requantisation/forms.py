"""What kernels compute for a layer's results, proven to be what the model says (``exact``).

`Fixed` is for every core with the upper word of a product of 32 by 32 bits (SMMLA, VMULH, vpmuldq,
vmulhsw).  It is monotone in the sum, and so is what the model says: where both agree at every
threshold and just below it they agree everywhere.  That is looked at, for every channel, before it
is returned.

The sums are those of the stored integers, sum_i q_in_i w_i, with the zero point of the input in
place of what lies outside of it: the other term of (q_in - z_in) w, -z_in sum_i w_i, is a constant
and belongs to ``Sums.bias``, as -unit z_in sum_i w_i.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain
from typing import Protocol

import numpy as np
import numpy.typing as npt

from edgeconv.ir.requantisation.exact import (
    MOST_RIGHT,
    Integers,
    Reals,
    Sums,
    results,
    thresholds,
)

Words = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float32]
Truths = npt.NDArray[np.bool_]
_LARGEST = 2**31 - 1
_WIDEST = 2**62  # beyond all that points ask for
# Multipliers tried, beside the nearest one.
_NEAR = (0, *(sign * 2**bit for bit in range(7) for sign in (1, -1)))
_AROUND = 128  # on either side, where a shift is given: twice as far as the nearest ones reach


class Form(Protocol):
    """What kernels compute of sums."""

    def of(self, sums: Integers) -> Integers:
        """The results for sums of shape (channels, any number), without what they start with."""


@dataclass(frozen=True, slots=True, eq=False)
class Fixed:
    """Requantisation of a sum that began with ``start`` of its channel, in int32, nothing of which
    overflows:

        q = min(max((high_word(sum * multiplier[channel]) + offset) >> right, low), high)

    high_word(a): the upper 32 bits of the product of 64, floor(a / 2^32).  Shifts to the right
    are arithmetic: SMMLA, then SSAT with ASR on ARMv7E-M.  ``offset`` = zero 2^right + 2^(right-1);
    1 <= ``right`` <= 22; 0 < multiplier.  `ec_int8_of_sum` of runtime_c/kernels/ec_int8_scaling.h.
    """

    start: Words
    multiplier: Words
    right: int
    offset: int
    low: int
    high: int

    @property
    def words(self) -> tuple[Words, ...]:
        """What kernels read of every channel."""
        return self.start, self.multiplier

    @property
    def most_added(self) -> int:
        """The magnitude of the offset."""
        return abs(self.offset)

    def times(self, bits: int) -> Fixed:
        """The form of sums 2^bits as large, but for ``start``: (2^s sum * multiplier >> 32) + 2^s
        offset is 2^s times as much in front of floor, and floor(floor(x) / 2^n) = floor(x / 2^n).
        """
        return replace(self, right=self.right + bits, offset=self.offset << bits)

    def of(self, sums: Integers) -> Integers:
        """The results for sums of shape (channels, any number), without start, as kernels compute
        them."""
        started = sums + self.start.astype(np.int64)[:, None]
        word = (started * self.multiplier.astype(np.int64)[:, None]) >> 32
        return _bounded((word + self.offset) >> self.right, self)


@dataclass(frozen=True, slots=True, eq=False)
class Points:
    """Sums just below (``under``) and at (``over``) each threshold, brought to what sums reach, and
    the results there: by channel and threshold."""

    under: Integers
    below: Integers
    over: Integers
    above: Integers

    @staticmethod
    def of(sums: Sums) -> Points:
        edges = thresholds(sums)
        least, most = sums.least[:, None], sums.most[:, None]
        under, over = np.clip(edges - 1, least, most), np.clip(edges, least, most)
        return Points(under, results(sums, edges, under), over, results(sums, edges, over))

    def at(self, channels: npt.NDArray[np.intp]) -> Points:
        """The points of some channels."""
        fields = self.under, self.below, self.over, self.above
        return Points(*(each[channels] for each in fields))

    def only(self, channel: int) -> Points:
        """The points of one channel."""
        return self.at(np.array([channel]))

    def between(
        self, sums: Sums, at_least: Integers, at_most: Integers
    ) -> tuple[Integers, Integers]:
        """By channel the first and the last number, of those that each point asks for, with which
        results are right.

        A result that is the lowest anyhow, or the highest, asks for nothing.
        """
        first = np.where(self.above > sums.low, at_least, -_WIDEST).max(axis=1, initial=-_WIDEST)
        last = np.where(self.below < sums.high, at_most, _WIDEST).min(axis=1, initial=_WIDEST)
        return first, last

    def hold(self, form: Form) -> Truths:
        """By channel: ``form`` gives these results."""
        held = (form.of(self.under) == self.below) & (form.of(self.over) == self.above)
        everywhere: Truths = held.all(axis=1)
        return everywhere


def fixed(sums: Sums) -> Fixed | None:
    """The form of ``sums`` with words; None where there is none.

    There is none where a bias needs a fraction of a unit, and where scales differ too much.
    """
    points, scale = Points.of(sums), sums.unit / sums.spacing
    right = min(most_right(scale), sums.right)
    if right < 1:
        return None
    offset = (sums.zero << right) + (1 << (right - 1))
    # A result is at least q where sum * multiplier is this much; no sum leaves 32 bits.
    half = (sums.zero << (32 + right)) + (1 << (31 + right))
    lowest = -_LARGEST - np.minimum(sums.least, 0)
    highest = _LARGEST - np.maximum(sums.most, 0)
    start, multiplier = np.zeros_like(sums.least), np.ones_like(sums.least)
    missing, single = np.ones(len(scale), np.bool_), sums.least == sums.most
    tries = multipliers(scale, right, single)
    if right == sums.right:  # which may be too few for others: all around the nearest
        tries = chain(tries, nearby(scale, right))
    for tried in tries:
        at = np.flatnonzero(missing)  # mostly all at first, and then few
        if not at.size:
            break
        left, factor = points.at(at), tried[at]
        first, last = left.between(
            sums,
            _ceil(left.above << (32 + right), half, factor) - left.over,
            _ceil((left.below + 1) << (32 + right), half, factor) - left.under - 1,
        )
        first, last = np.maximum(first, lowest[at]), np.minimum(last, highest[at])
        # A single sum is as small as it may be: the bits that it leaves are others' to use.
        begun = np.where(single[at], np.clip(-sums.least[at], first, last), _middle(first, last))
        found = first <= last
        start[at[found]], multiplier[at[found]] = begun[found], factor[found]
        missing[at[found]] = False
    form = Fixed(_words(start), _words(multiplier), right, offset, sums.low, sums.high)
    return form if not missing.any() and points.hold(form).all() else None


def nearby(scale: Reals, right: int) -> Iterator[Integers]:
    """All multipliers around the nearest one."""
    nearest = np.rint(np.ldexp(scale, 32 + right)).astype(np.int64)
    for near in range(1, _AROUND + 1):
        for each in (near, -near):
            yield np.clip(nearest + each, 1, _LARGEST)


def most_right(scale: Reals) -> int:
    """The largest shift to the right with which the largest multiplier is below 2^31."""
    return min(MOST_RIGHT, -1 - int(np.frexp(scale.max(initial=0))[1]))


def multipliers(scale: Reals, right: int, single: Truths | bool = False) -> Iterator[Integers]:
    """The multipliers to try: the nearest, others around it, and larger ones, which serve where a
    channel hardly changes, and its bias is beyond 32 bits in units so small.  The largest at once
    where a channel has a ``single`` sum, as those of filters that are all zero."""
    nearest = np.rint(np.ldexp(scale, 32 + right)).astype(np.int64)
    yield np.where(single, _LARGEST, np.clip(nearest, 1, _LARGEST))
    for near in _NEAR:
        yield np.clip(nearest + near, 1, _LARGEST)
    for bits in range(1, 31):
        yield np.clip(np.maximum(nearest, 1) << bits, 1, _LARGEST)


def _ceil(amounts: Integers, half: int, factor: Integers) -> Integers:
    """(amounts - half) / factor by channel, rounded up."""
    found: Integers = -((half - amounts) // factor[:, None])
    return found


def _middle(first: Integers, last: Integers) -> Integers:
    return first + (last - first) // 2


def _bounded(whole: Integers, form: Fixed) -> Integers:
    found: Integers = np.clip(whole, form.low, form.high)
    return found


def _words(values: Integers) -> Words:
    words: Words = np.clip(values, -_LARGEST, _LARGEST).astype(np.int32)
    return words
