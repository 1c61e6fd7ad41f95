"""Flyte: the most significant bytes of a float32 (Anderson and Gregg).

Flyte24, flyte16 and flyte8 keep the upper 24, 16 and 8 bits, low byte first; decoding appends zero
bytes.  flyte24 and flyte16 are a sign, eight bits of exponent and 15 or 7 of mantissa: infinities,
zeros and NaN are what they are in float32.  flyte8 is a sign and the upper seven bits of the
exponent, so that its numbers are zero and 2^-125, 2^-123 ... 2^127: it has neither infinities nor
NaN, and both become 2^127 with the sign they had.

Encoding takes the nearest number that the format has, of two equally near ones that with an even
last bit.  A finite number never becomes infinite, a NaN keeps its upper bits and becomes quiet, and
subnormal numbers are like any others.  ``runtime_c/storage/ec_stored.h`` does the same in C, bit by
bit.  Truncation drops the lower bits (as the source has it), but for NaN and flyte8's infinities.

Weights in flyte8 are in units of a scale per output channel: its numbers lie a factor of four
apart, and where they lie is what is left to choose.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from edgeconv.ir.encoding import Encoding
from edgeconv.kernels.storage.base import StorageFormat
from edgeconv.kernels.storage.whole import require_finite

_INFINITY = np.uint32(0x7F800000)
_SIGN = np.uint32(0x80000000)
_QUIET = np.uint32(0x00400000)
_LARGEST = 0x7F7FFFFF  # finite float32
_AT_A_TIME = 1 << 20  # weights whose units are looked for together
_NEGLIGIBLE = 2.0**-120  # far below the smallest flyte8 in any unit that could matter


def _float_of(bits: int) -> float:
    return float(np.array([bits], np.uint32).view(np.float32)[0])


def power_of_four_units(weights: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Per index of the first axis the unit in [1, 4) that gives flyte8 the least squared error.

    The grid in units of s is s 2^(2j+1).  From s = 1 to 4 each number moves once, at its own s, to
    the power below: sorted by these, every stretch between two of them has one assignment w -> p
    and its best s, sum(w p) / sum(p p).  Raises EdgeconvError where a weight is not finite.
    """
    require_finite(weights, "flyte8")
    rows = weights.reshape(len(weights), -1)
    step = max(1, _AT_A_TIME // max(1, rows.shape[1]))
    parts = [_best_units(rows[i : i + step]) for i in range(0, len(rows), step)]
    return np.concatenate([*parts, np.zeros(0, np.float32)])


def _best_units(rows: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    size = np.abs(rows.astype(np.float64))
    size[size < _NEGLIGIBLE] = 0.0
    # At s = 1 the power p has size in (0.625 p, 2.5 p]; from s = size / 0.625 p on it is p / 4.
    _, exponent = np.frexp(size / 1.25)
    power = np.where(size > 0, np.exp2(2.0 * ((exponent - 1) // 2) + 1), 0.0)
    moves = np.divide(size, power, out=np.zeros_like(size), where=power > 0)
    order = np.argsort(moves, axis=1)
    size, power = (np.take_along_axis(a, order, axis=1) for a in (size, power))
    products, squares = size * power, power * power
    # Before anything has moved, and after each move.
    first = np.zeros((len(size), 1))
    moved = [np.concatenate([first, a.cumsum(axis=1)], axis=1) for a in (products, squares)]
    a = products.sum(axis=1, keepdims=True) - 0.75 * moved[0]
    b = squares.sum(axis=1, keepdims=True) - 0.9375 * moved[1]
    gain = np.divide(a * a, b, out=np.zeros_like(a), where=b > 0)
    best = gain.argmax(axis=1)[:, None]
    a, b = (np.take_along_axis(x, best, axis=1)[:, 0] for x in (a, b))
    unit = np.divide(a, b, out=np.ones_like(a), where=b > 0).astype(np.float32)
    _, exponent = np.frexp(unit)
    # 4^n times as much is the same grid
    scaled: npt.NDArray[np.float32] = np.ldexp(unit, -2 * ((exponent - 1) // 2))
    return scaled


def flyte(bits: int) -> StorageFormat:
    """The format that keeps the upper ``bits`` of a float32: 24, 16 or 8."""
    kept_bytes, unit = bits // 8, 1 << (32 - bits)
    largest = np.uint32(_LARGEST & -unit)
    # What is added before the lower bits are dropped, one more where the last bit kept is odd.
    # Halfway between two neighbours lies half of the last bit, but for flyte8: its neighbours
    # differ by a factor of four, and halfway from 1 to 4 lies 2.5, 3/8 of the last bit below 4.
    # (Halfway from 0 to 2^-125 is taken to lie where it would be from 2^-127.)
    half = np.uint32(0x5FFFFF if bits == 8 else unit // 2 - 1)

    def kept(word: npt.NDArray[np.uint32]) -> bytes:
        rows = word.astype("<u4").view(np.uint8).reshape(-1, 4)
        return rows[:, 4 - kept_bytes :].tobytes()

    def words(array: npt.NDArray[np.generic]) -> npt.NDArray[np.uint32]:
        """The bits of float32, NaN quiet, and what exceeds the largest finite number cut to it."""
        word = np.ascontiguousarray(array, dtype=np.float32).reshape(-1).view(np.uint32)
        size = word & ~_SIGN
        cut: npt.NDArray[np.uint32] = np.minimum(size, largest)
        if bits > 8:
            cut = np.where(size < _INFINITY, cut, size)
            cut = np.where(size > _INFINITY, size | _QUIET, cut)
        return cut | word & _SIGN

    def encode(array: npt.NDArray[np.generic]) -> bytes:
        word = words(array)
        odd = word // np.uint32(unit) & np.uint32(1)
        return kept(np.where(word & ~_SIGN < _INFINITY, word + half + odd, word))

    def truncate(array: npt.NDArray[np.generic]) -> bytes:
        return kept(words(array))

    def decode(data: bytes) -> npt.NDArray[Any]:
        rows = np.frombuffer(data, np.uint8).reshape(-1, kept_bytes)
        word = np.zeros((len(rows), 4), np.uint8)
        word[:, 4 - kept_bytes :] = rows
        return word.reshape(-1).view("<f4")

    return StorageFormat(
        encoding=Encoding(bits),
        encode=encode,
        decode=decode,
        relative_error=0.6 if bits == 8 else 2.0 ** -(bits - 8),  # 2.5 becomes 1 or 4
        truncate=truncate,
        truncation_error=0.75 if bits == 8 else 2.0 ** -(bits - 9),
        smallest=2.0**-125 if bits == 8 else 2.0**-126,
        largest=_float_of(int(largest)),
        units=power_of_four_units if bits == 8 else None,
        enumerator=f"EC_F{bits}",
        written=True,
    )


FORMAT = (flyte(16), flyte(24), flyte(8))
