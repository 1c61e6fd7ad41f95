"""What flyte formats must give, by definition: neighbours compared as real numbers, in float64.

Nothing here adds half of a bit and shifts, as the code under test does in C and numpy.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

INFINITY = 0x7F800000
LOW_HALVES = (0, 1, 0x7FFF, 0x8000, 0x8001, 0xFFFF)
FLYTE_BITS = {"float32": 32, "flyte24": 24, "flyte16": 16, "flyte8": 8}


def patterns(seed: int = 1) -> Array:
    """Bits of float32: every upper half with lower halves that make ties and near ties, and two
    random ones; ties of flyte24 and of flyte8 are among them."""
    upper = np.arange(1 << 16, dtype=np.uint32) << np.uint32(16)
    rng = np.random.default_rng(seed)
    lower = [np.full(upper.size, half, np.uint32) for half in LOW_HALVES]
    lower += [rng.integers(0, 1 << 16, upper.size, np.uint32) for _ in range(2)]
    # Flyte24's last bit is 0x100: halfway, and one off.
    lower += [rng.integers(0, 1 << 8, upper.size, np.uint32) << np.uint32(8) | low
              for low in (np.uint32(0x7F), np.uint32(0x80), np.uint32(0x81))]  # fmt: skip
    return np.concatenate([upper | low for low in lower])


def _value(code: Array, bits: int) -> Array:
    """The finite numbers that codes of ``bits`` bits, without sign, stand for.

    The code behind the largest finite number has the value that it would have were the exponent
    not at its end.  Zero of flyte8 counts as 2^-127: there the grid of powers of four goes on.
    """
    if bits == 8:
        return np.exp2(2.0 * code - 127)
    fraction_bits = bits - 9
    exponent = (code >> fraction_bits).astype(np.float64)
    fraction = (code & ((1 << fraction_bits) - 1)) / 2.0**fraction_bits
    return np.where(exponent > 0, (1 + fraction) * np.exp2(exponent - 127), fraction * 2.0**-126)


def stored(pattern: Array, bits: int, *, truncate: bool = False) -> Array:
    """The codes, sign included, that memory must hold for float32 bits."""
    if bits == 32:
        return pattern
    drop = 32 - bits
    size = (pattern & 0x7FFFFFFF).astype(np.int64)
    sign = pattern.astype(np.int64) >> 31
    infinite_code = 0x80 if bits == 8 else INFINITY >> drop  # the first code that is not finite
    below = np.minimum(size >> drop, infinite_code - 1)
    exact = np.where(size < INFINITY, size, 0).astype(np.uint32).view(np.float32).astype(np.float64)
    low, high = _value(below, bits), _value(below + 1, bits)
    from_low, from_high = exact - low, high - exact
    up = (from_high < from_low) | ((from_high == from_low) & (below % 2 == 1))
    code = np.minimum(np.where(up & (not truncate), below + 1, below), infinite_code - 1)
    special = infinite_code - 1 if bits == 8 else size >> drop  # flyte8 has no other
    quiet = 0 if bits == 8 else 0x00400000 >> drop
    code = np.where(size >= INFINITY, special, code)
    code = np.where(size > INFINITY, special | quiet, code)
    return (sign << (bits - 1) | code).astype(np.uint32)


def as_bytes(code: Array, element_bytes: int) -> bytes:
    """Codes as they lie in memory: the low byte first."""
    return code.astype("<u4").view(np.uint8).reshape(-1, 4)[:, :element_bytes].tobytes()


def appended(code: Array, bits: int) -> Array:
    """Bits of the float32 that a code is read as."""
    return code.astype(np.uint32) << np.uint32(32 - bits)
