"""Signs of sums, as a binary network has them, as rounding: of other numbers to -1 and 1.

Sums of products with the filters of a channel are whole multiples of these filters' greatest common
divisor g, beside a number that all have in common.  So between the last sum below 0 and the first
one that is not there is room for all that is rounded to 0, and whatever rounds makes signs, exactly
so, with an ordinary multiplier: of filters of few bits that are stored 2^n times as large.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import ceil

import numpy as np

from edgeconv.ir.requantisation.exact import Integers, Sums

# Of the numbers rounded to 0, in distances of sums: less than all, so that none is rounded so.
_WIDTH = 0.875


def signs(sums: Sums, common: Integers, filters: Integers) -> Sums:
    """Sums which, rounded to -1, 0 and 1, are 1 where ``sums`` stand for a number that is not below
    0, and -1 elsewhere.  ``common``: what each has beside its products with the ``filters``, a row
    of a channel."""
    apart = np.gcd.reduce(filters, axis=1)
    apart = np.where(apart == 0, 1 << 6, apart)  # there is but one sum
    first = np.array(list(map(_first, sums.unit, sums.bias, common, apart)), object)
    least, most = (sums.least - common) // apart, (sums.most - common) // apart
    first = np.clip(first, least, most + 1).astype(np.int64)
    return replace(
        sums,
        unit=np.ones_like(sums.unit),
        bias=apart / 2 - (apart * first + common),
        spacing=_WIDTH * apart,
    )


def _first(unit: float, bias: float, common: int, apart: int) -> int:
    """The smallest n for which unit (n apart + common) + bias is not below 0."""
    return ceil((-Fraction(bias) / Fraction(unit) - int(common)) / int(apart))
