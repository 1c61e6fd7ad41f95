"""`Fixed` with an offset of each channel's own: fractional biases, and halves that become even.

A kernel has of the sum v = ``sum + start`` the number (v m + 2^32 offset) / 2^32, rounded down.  Of
``start m + 2^32 offset`` the thresholds of a channel (``exact``) leave an interval, which a start
alone, a multiple of m, mostly misses where the bias is no whole number of units: m is 2^29 or more,
the interval about m / 255 wide.  With an offset the starts whose remainder fits lie close together:
that of start m mod 2^32 takes every value of 2^32.

Halves of a step are sums where the factor is 2^-k and the bias a whole number.  With n = floor(v /
2^k), which is what bits k and above of v say, a half is to be raised where n is odd and not where
it is even: so bit k is added to v, which starts one lower, and the threshold is the same for both.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from edgeconv.ir.requantisation.exact import Integers, Sums
from edgeconv.ir.requantisation.forms import Fixed, Points, Words, most_right, multipliers

_WORD = 32
_LARGEST = 2**31 - 1
_MOST_OWN = 2**30  # of an offset, below: NEON adds twice as much to the doubled product
_STARTS = 1 << 14  # tried at a time; as many again as `_ROUNDS` says
_ROUNDS = 16
NO_TIE = 33  # one more than any bit of a word has as its number


@dataclass(frozen=True, slots=True, eq=False)
class PerChannel:
    """Requantisation of a sum that began with ``start`` of its channel, in int32, nothing of which
    overflows:

        q = min(max((high_word((sum + bit) * multiplier[channel]) + own[channel]) >> right, low),
                high)

    bit: number ``tie`` - 1 of the sum, 0 where ``tie`` is 33.  ``with_ties``: kernels read ``tie``;
    else it is 33 everywhere.  1 <= ``right`` <= 22; 0 < multiplier; twice ``own`` fits 32
    bits.  `ec_int8_of_sum` of runtime_c/kernels/ec_int8_scaling_offsets.h and
    ec_int8_scaling_ties.h.
    """

    start: Words
    multiplier: Words
    own: Words
    tie: Words
    right: int
    low: int
    high: int
    with_ties: bool

    @staticmethod
    def of_fixed(form: Fixed, *, with_ties: bool) -> PerChannel:
        """The form that computes what ``form`` does."""
        own, tie = (np.full_like(form.start, value) for value in (form.offset, NO_TIE))
        return PerChannel(
            form.start, form.multiplier, own, tie, form.right, form.low, form.high, with_ties
        )

    @property
    def offset(self) -> int:
        """Nothing: each channel has its own."""
        return 0

    @property
    def words(self) -> tuple[Words, ...]:
        """What kernels read of every channel."""
        ties = (self.tie,) if self.with_ties else ()
        return self.start, self.multiplier, self.own, *ties

    @property
    def most_added(self) -> int:
        """The largest magnitude of an offset."""
        return int(np.abs(self.own.astype(np.int64)).max(initial=0))

    def told(self, *, with_ties: bool) -> PerChannel:
        """A form of the same results; ``with_ties``: kernels read of ties, whether there are any or
        not."""
        return replace(self, with_ties=with_ties)

    def times(self, bits: int) -> PerChannel:
        """The form of sums 2^bits as large, but for ``start``; there are no ties."""
        assert (self.tie == NO_TIE).all()  # their bit would count 2^bits
        own = (self.own.astype(np.int64) << bits).astype(np.int32)
        return replace(self, right=self.right + bits, own=own)

    def of(self, sums: Integers) -> Integers:
        """The results for sums of shape (channels, any number), without start, as kernels compute
        them."""
        started = sums + self.start.astype(np.int64)[:, None]
        tie = self.tie.astype(np.int64)[:, None]
        bit = np.where(tie == NO_TIE, 0, (started >> np.minimum(tie - 1, 31)) & 1)
        word = ((started + bit) * self.multiplier.astype(np.int64)[:, None]) >> _WORD
        found: Integers = np.clip(
            (word + self.own.astype(np.int64)[:, None]) >> self.right, self.low, self.high
        )
        return found


def per_channel(sums: Sums) -> PerChannel | None:
    """The form of ``sums`` with offsets of channels' own; None where there is none, as where scales
    differ too much, or where factors with halves of a step are no powers of two."""
    scale = sums.unit / sums.spacing
    right = most_right(scale)
    if right < 1:
        return None
    points, places = Points.of(sums), _halves(sums)
    start, own = np.zeros_like(sums.least), np.zeros_like(sums.least)
    multiplier, tie = np.ones_like(sums.least), np.full_like(sums.least, NO_TIE)
    for channel in range(len(scale)):
        alone = sums.only(channel)
        if places[channel]:
            found = _with_halves(alone, int(places[channel]), right)
        else:
            found = _between(alone, points.only(channel), right)
        if found is None:
            return None
        start[channel], multiplier[channel], own[channel], tie[channel] = found
    form = PerChannel(
        start.astype(np.int32),
        multiplier.astype(np.int32),
        own.astype(np.int32),
        tie.astype(np.int32),
        right,
        sums.low,
        sums.high,
        with_ties=bool((tie != NO_TIE).any()),
    )
    return form if _holds(form, sums, points) else None


def _halves(sums: Sums) -> Integers:
    """k by channel where the factor is 2^-k and sums can be halves of a step, else 0."""
    mantissa, exponent = np.frexp(sums.unit / sums.spacing)
    power = (mantissa == 0.5) & (np.ldexp(sums.unit, 1 - exponent) == sums.spacing)
    units = sums.bias / sums.unit  # exact where the factor is: float32 by a float32 product
    whole = (units == np.rint(units)) & (np.abs(units) < _LARGEST)
    found: Integers = np.where(power & whole & (not sums.away), 1 - exponent, 0).astype(np.int64)
    return found


def _with_halves(sums: Sums, place: int, right: int) -> tuple[int, int, int, int] | None:
    """Start, multiplier, offset and tie of one channel whose factor is 2^-place."""
    if place < right + 2 or place > 30:
        return None
    units = round(float(sums.bias[0]) / float(sums.unit[0]))
    offset = (sums.zero << right) + (1 << (right - 1))
    return units - 1, 1 << (_WORD + right - place), offset, place + 1


def _between(sums: Sums, points: Points, right: int) -> tuple[int, int, int, int] | None:
    """The offsets of one channel without halves."""
    for tried in multipliers(sums.unit / sums.spacing, right):
        m = int(tried[0])
        (least,), (most,) = points.between(
            sums,
            (points.above << (_WORD + right)) - points.over * m,
            ((points.below + 1) << (_WORD + right)) - 1 - points.under * m,
        )
        if least > most:
            continue
        for starts in _starts():
            own = (most - starts * m) >> _WORD
            fits = ((own << _WORD) >= least - starts * m) & (np.abs(own) < _MOST_OWN)
            if fits.any():
                at = int(np.argmax(fits))
                return int(starts[at]), m, int(own[at]), NO_TIE
    return None


def _starts() -> Iterator[Integers]:
    for i in range(_ROUNDS):
        yield np.arange(i * _STARTS, (i + 1) * _STARTS, dtype=np.int64)


def _holds(form: PerChannel, sums: Sums, points: Points) -> bool:
    """``form`` gives what the model says at every threshold and just below it, and nothing of it
    leaves 32 bits."""
    ends = np.stack([sums.least, sums.most], axis=1) + form.start.astype(np.int64)[:, None]
    word = (ends * form.multiplier.astype(np.int64)[:, None]) >> _WORD
    reach = max(
        int(np.abs(ends).max(initial=0)),
        int(np.abs(word + form.own.astype(np.int64)[:, None]).max(initial=0)),
    )
    return reach < _LARGEST - 1 and bool(points.hold(form).all())
