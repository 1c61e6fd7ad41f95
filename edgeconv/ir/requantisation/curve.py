"""Any smooth function of 65,536 integers to integers of 16 bits, exactly, in a tenth of its table.

The arguments are cut in stretches of 2^width.  In each a line, rounded down, is the result or one
less; which of the two, one bit of every argument says.  A line does for a stretch of length M where
the function's curvature (second difference of results) times M^2 / 8 is below 1: the chord is the
best slope of a convex one.  Nothing is approximate: the lines are made from all results.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from edgeconv.ir.requantisation.exact import Integers

Words = npt.NDArray[np.int32]
ARGUMENTS = 65536
_RIGHT = 14  # a stretch rises by 2^16 at most, so that nothing leaves 32 bits
_WIDEST, _NARROWEST = 13, 5  # of those below, lines take more bytes than half the table
_WORD = 32


@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """A piecewise linear function of the integer a, with i = a + 32768 and line i >> ``width``
    (start, slope):

        q = ((start + slope (i mod 2^width)) >> 14) + bit i

    ``words``: start and slope of every line, then the bits, 32 in a word, the lowest first.
    `ec_int16_of_curve` of runtime_c/kernels/ec_int16_function.h.
    """

    width: int
    words: Words

    @property
    def bits_at(self) -> int:
        """The word with the first bits."""
        return 2 * (ARGUMENTS >> self.width)

    def of(self, a: Integers) -> Integers:
        """The results, as kernels compute them."""
        i = a + ARGUMENTS // 2
        line, words = 2 * (i >> self.width), self.words.astype(np.int64)
        rise = words[line + 1] * (i & ((1 << self.width) - 1))
        bits = words[self.bits_at + i // _WORD] >> (i % _WORD) & 1
        found: Integers = ((words[line] + rise) >> _RIGHT) + bits
        return found


def curve(results: Integers) -> Curve | None:
    """The curve of the results of -32768 to 32767, which are integers of 16 bits; None where lines
    would have to be short."""
    for width in range(_WIDEST, _NARROWEST - 1, -1):
        lines = _lines(results.reshape(-1, 1 << width))
        if lines is not None:
            start, slope = lines
            i = np.arange(ARGUMENTS)
            below = (start[i >> width] + slope[i >> width] * (i & ((1 << width) - 1))) >> _RIGHT
            bits = np.packbits((results - below).astype(np.uint8), bitorder="little")
            words = np.stack([start, slope], axis=1).astype(np.int32).reshape(-1)
            return Curve(width, np.concatenate([words, bits.view("<i4").astype(np.int32)]))
    return None


def _lines(results: Integers) -> tuple[Integers, Integers] | None:
    """Starts and slopes with which every result (line, argument) is that of its line or one more;
    None where there are none for some."""
    last = results.shape[1] - 1
    slope = np.rint((results[:, -1] - results[:, 0]) * (1 << _RIGHT) / last).astype(np.int64)
    without = (results << _RIGHT) - slope[:, None] * np.arange(last + 1)
    least = without.max(axis=1) - (1 << _RIGHT)  # start + rise >= (result - 1) 2^right
    most = without.min(axis=1) + (1 << _RIGHT) - 1  # and below (result + 1) 2^right
    if (least > most).any():
        return None
    return least + (most - least) // 2, slope
