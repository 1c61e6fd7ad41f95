"""How a tensor's numbers are represented in memory, as a value: what one element is.

Its text is for options, report.json and comments only.  What encodes and decodes is in
``edgeconv.kernels.storage``.  Needs nothing but Python, as ``targets`` does, which CMake reads.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache

_SCALED = re.compile(r"int(?P<bits>8|16)\((?P<scale>[^,()]+), (?P<zero>-?\d+)\)")
# Beyond these the product with 1 / scale, by which kernels encode, might overflow or be subnormal.
_SMALLEST, _LARGEST = 2.0**-100, 2.0**100


@dataclass(frozen=True, slots=True)
class Encoding:
    """The number (element - zero) * scale; elements are the upper ``bits`` of a float32, all 32 of
    them or a flyte's, or when ``affine`` integers of so many bits (Jacob et al. 2018); with another
    ``exponent`` than float32's 8 bits the number of IEEE 754 that has so many.

    ``scale``, of float32, and ``zero`` have one entry for a whole tensor, or one per index of
    ``axis``.  Without any, numbers are the elements; or, of filters in a format with units, the
    units are those that it chooses by itself.
    """

    bits: int
    affine: bool = False
    signed: bool = True
    scale: tuple[float, ...] = ()
    zero: tuple[int, ...] = ()
    axis: int = 0
    exponent: int = 8

    def __str__(self) -> str:
        """``float32``, ``flyte16``, ``int4``, ``int8(0.0235, -128)``; scales per channel are not
        spelt out."""
        if not self.affine:
            if self.bits == 64 and self.exponent == 8:
                return "float32 of two words"
            ieee = self.bits >= 32 or self.exponent != 8
            return f"float{self.bits}" if ieee else f"flyte{self.bits}"
        kind = f"{'' if self.signed else 'u'}int{self.bits}"
        return f"{kind}({_shortest(self.scale[0])}, {self.zero[0]})" if self.is_per_tensor else kind

    @property
    def is_per_tensor(self) -> bool:
        """One scale for all elements."""
        return len(self.scale) == 1

    @property
    def element(self) -> Encoding:
        """The encoding without scales: what the bytes of an element are."""
        if not (self.scale or self.zero or self.axis):
            return self
        return _element(self.bits, self.affine, self.signed, self.exponent)

    def scaled(self, units: Iterable[float]) -> Encoding:
        """The encoding in units per output channel, of which elements are multiples."""
        scale = tuple(map(float, units))
        return replace(self, scale=scale, zero=(0,) * len(scale), axis=0)

    @property
    def low(self) -> int:
        """The smallest integer."""
        return -(1 << (self.bits - 1)) if self.signed else 0

    @property
    def high(self) -> int:
        """The largest integer."""
        return self.low + (1 << self.bits) - 1

    @property
    def is_stored(self) -> bool:
        """Kernels can encode it, of one scale: zero is one of its numbers, and the scale is no
        extreme one."""
        return self.low <= self.zero[0] <= self.high and _SMALLEST <= self.scale[0] <= _LARGEST

    @property
    def element_bytes(self) -> int:
        """Bytes of one element; ValueError where that is no whole number."""
        if self.bits % 8:
            raise ValueError(f"an element of {self} has {self.bits} bits")
        return self.bits // 8

    def bytes_of(self, elements: int) -> int:
        """Bytes of so many consecutive elements: they have no gap between them."""
        return -(-elements * self.bits // 8)


@cache  # asked for by the ten thousand; there are few
def _element(bits: int, affine: bool, signed: bool, exponent: int) -> Encoding:
    return Encoding(bits, affine, signed, exponent=exponent)


FLOAT32 = Encoding(32)
FLOAT64 = Encoding(64, exponent=11)
# A float32 to kernels whose own elements are of two bytes (`edgeconv.kernels.float16`).
TWO_WORDS = Encoding(64)
FLOAT16 = Encoding(16, exponent=5)
INT2, INT4, INT8, INT16, INT32 = (Encoding(bits, affine=True) for bits in (2, 4, 8, 16, 32))


def int8(scale: float, zero: int) -> Encoding:
    """Integers from -128 to 127 of one scale and zero point."""
    return replace(INT8, scale=(_single(scale),), zero=(zero,))


def int16(scale: float, zero: int) -> Encoding:
    """Integers from -32768 to 32767 of one scale and zero point."""
    return replace(INT16, scale=(_single(scale),), zero=(zero,))


def integers(dtype: str) -> Encoding:
    """The integers of a numpy type as they are: scale 1, zero point 0."""
    unsigned = dtype.startswith("u")
    bits = int(dtype.removeprefix("u").removeprefix("int"))
    return Encoding(bits, affine=True, signed=not unsigned, scale=(1.0,), zero=(0,))


def scaled_encoding(text: str) -> Encoding | None:
    """``str`` of an affine one of a whole tensor, as report.json has it, read back."""
    found = _SCALED.fullmatch(text)
    try:
        if found is None:
            return None
        make = int8 if found["bits"] == "8" else int16
        return make(float(found["scale"]), int(found["zero"]))
    except (ValueError, OverflowError):  # no float32
        return None


def kind_of(text: str) -> str:
    """The text without what distinguishes tensors: ``int8`` of every scale."""
    return text.partition("(")[0]


def _single(value: float) -> float:
    """As float32 has it."""
    return float(struct.unpack("<f", struct.pack("<f", value))[0])


def _shortest(scale: float) -> str:
    """The decimal of fewest digits that reads back as the same float32."""
    rounded = (float(f"{scale:.{digits}g}") for digits in range(1, 10))
    return repr(next(number for number in rounded if _single(number) == scale))
