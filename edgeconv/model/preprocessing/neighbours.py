"""Which pixels of a frame a pixel of the network's input is made of."""

from __future__ import annotations

import math
from fractions import Fraction

from edgeconv.ir.preprocessing import Neighbours

OVER = 1 << 11  # parts of a weight: with those of both axes a sum of bytes has 30 bits
_HALF = Fraction(1, 2)


def neighbours(size: int, out: int, *, linear: bool, reverse: bool = False) -> Neighbours:
    """The neighbours among ``size`` pixels of ``out`` places that lie evenly over them.

    Place i is at (i + 1/2) size / out - 1/2, as ONNX's "half_pixel"; the border pixel counts beyond
    the border.  ``linear``: the weight of the second pixel is what the place is beyond the first,
    rounded to a part of `OVER`, halves up, and stated in the largest parts that all weights have.
    Else the nearest pixel, halves down ("round_prefer_floor").  ``reverse``: the last pixel comes
    first.
    """
    places = [(i + _HALF) * Fraction(size, out) - _HALF for i in range(out)]
    if not linear:
        first = [math.ceil(place - _HALF) for place in places]
        return Neighbours(tuple(_within(i, size, reverse) for i in first))
    low = [math.floor(place) for place in places]
    weight = [math.floor((place - i) * OVER + _HALF) for place, i in zip(places, low, strict=True)]
    first = [_within(i, size, reverse) for i in low]
    second = [_within(i + 1, size, reverse) for i in low]
    if not any(weight):
        return Neighbours(tuple(first))
    parts = math.gcd(OVER, *weight)  # sums of fewer bits, which vectors hold more of
    return Neighbours(tuple(first), tuple(second), tuple(w // parts for w in weight), OVER // parts)


def _within(i: int, size: int, reverse: bool) -> int:
    held = min(max(i, 0), size - 1)
    return size - 1 - held if reverse else held
