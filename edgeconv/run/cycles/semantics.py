"""What instructions of T32 compute, as expressions of Python on numbers of 32 bits, unsigned.

Arm, Armv7-M Architecture Reference Manual, A7.7.  Instructions that are not here compute numbers
that are unknown.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

SUBTRACTED, ADDED, LOGICAL, EXACT = range(4)  # kinds of flags, see `holds`
_SIGN = 1 << 31
_MASK = (1 << 32) - 1

# (kind, a, b): of a - b, of a + b, of the result a with the carry b, or a = (N, Z, C, V).
Flags = tuple[int, object, object]
UNKNOWN_FLAGS: Flags = (EXACT, (None, None, None, None), None)


@dataclass(frozen=True, slots=True)
class Rule:
    """``expression`` of the operands a, b, c; ``kind`` of the flags that it sets, where it does."""

    expression: str
    kind: int = LOGICAL


_BINARY = {
    "add": Rule("a + b & M", ADDED),
    "sub": Rule("a - b & M", SUBTRACTED),
    "rsb": Rule("b - a & M", SUBTRACTED),
    "and": Rule("a & b"),
    "orr": Rule("a | b"),
    "eor": Rule("a ^ b"),
    "bic": Rule("a & ~b"),
    "orn": Rule("a | ~b & M"),
    "mul": Rule("a * b & M"),
    "lsl": Rule("a << (b & 255) & M if (b & 255) < 32 else 0"),
    "lsr": Rule("a >> (b & 255)"),
    "asr": Rule("signed(a) >> min(b & 255, 31) & M"),
    "ror": Rule("rotated(a, b & 31)"),
    "udiv": Rule("a // b if b else 0"),
    "sdiv": Rule("quotient(a, b)"),
    "uxtab": Rule("a + (b & 0xff) & M"),
    "uxtah": Rule("a + (b & 0xffff) & M"),
    "sxtab": Rule("a + extended(b, 8) & M"),
    "sxtah": Rule("a + extended(b, 16) & M"),
    "smulbb": Rule("signed16(a) * signed16(b) & M"),
}
_UNARY = {
    "mov": Rule("a"),
    "mvn": Rule("~a & M"),
    "neg": Rule("-a & M"),
    "clz": Rule("32 - a.bit_length()"),
    "rev": Rule("int.from_bytes(a.to_bytes(4, 'little'), 'big')"),
    "uxtb": Rule("a & 0xff"),
    "uxth": Rule("a & 0xffff"),
    "sxtb": Rule("extended(a, 8)"),
    "sxth": Rule("extended(a, 16)"),
    "vmov": Rule("a"),
}
_TERNARY = {
    "mla": Rule("a * b + c & M"),
    "mls": Rule("c - a * b & M"),
    "ubfx": Rule("a >> b & (1 << c) - 1"),
    "sbfx": Rule("extended(a >> b, c)"),
}
COMPUTED: Mapping[int, Mapping[str, Rule]] = MappingProxyType({1: _UNARY, 2: _BINARY, 3: _TERNARY})
COMPARED: Mapping[str, Rule] = MappingProxyType(
    {
        "cmp": Rule("a - b & M", SUBTRACTED),
        "cmn": Rule("a + b & M", ADDED),
        "tst": Rule("a & b"),
        "teq": Rule("a ^ b"),
    }
)
# Results of 64 bits: the lower half first.
LONG: Mapping[str, str] = MappingProxyType({"umull": "a * b", "smull": "signed(a) * signed(b)"})
SHIFTED: Mapping[str, str] = MappingProxyType(
    {
        "lsl": "({0} << {1} & M)",
        "lsr": "({0} >> {1})",
        "asr": "(signed({0}) >> {1} & M)",
        "ror": "rotated({0}, {1})",
    }
)
# The last bit that a shift by a constant loses.
CARRY: Mapping[str, str] = MappingProxyType(
    {
        "lsl": "{0} >> 32 - {1} & 1 if 0 < {1} <= 32 else None",
        "lsr": "{0} >> {1} - 1 & 1 if {1} else None",
        "asr": "{0} >> min({1}, 32) - 1 & 1 if {1} else None",
    }
)


def signed(number: int) -> int:
    """A number of 32 bits in two's complement."""
    return number - (number >> 31 << 32)


def signed16(number: int) -> int:
    """The lower 16 bits of a number in two's complement."""
    return (number & 0xFFFF ^ 0x8000) - 0x8000


def extended(number: int, bits: int) -> int:
    """The lower ``bits`` of a number, extended by their sign to 32."""
    half = 1 << bits - 1
    return ((number & (half << 1) - 1 ^ half) - half) & _MASK


def rotated(number: int, by: int) -> int:
    """The bits of a number rotated to the right."""
    return (number >> by | number << 32 - by) & _MASK


def quotient(a: int, b: int) -> int:
    """The quotient of a signed division, rounded toward zero; 0 where b is (Armv7-M, CCR.DIV_0_TRP
    clear)."""
    if not b:
        return 0
    x, y = signed(a), signed(b)
    return (abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)) & _MASK


def nzcv(flags: Flags) -> tuple[object, object, object, object]:
    """The four flags, each True, False, or None when unknown."""
    kind, a, b = flags
    if kind == EXACT:
        assert isinstance(a, tuple)
        return a
    if kind == LOGICAL:
        if not isinstance(a, int):
            return None, None, _bit(b), None
        return a >= _SIGN, a == 0, _bit(b), None
    if not isinstance(a, int) or not isinstance(b, int):
        return None, None, None, None
    if kind == SUBTRACTED:
        result = a - b & _MASK
        return result >= _SIGN, a == b, a >= b, (a ^ b) & (a ^ result) >= _SIGN
    result = a + b & _MASK
    return result >= _SIGN, result == 0, a + b > _MASK, (a ^ result) & (b ^ result) >= _SIGN


def _bit(value: object) -> bool | None:
    return None if value is None else bool(value)


def holds(condition: str, flags: Flags) -> bool | None:
    """Whether a condition is met; None when unknown."""
    n, z, c, v = nzcv(flags)
    ge = None if n is None or v is None else n == v
    found = {
        "eq": z, "hs": c, "mi": n, "vs": v, "ge": ge,
        "hi": False if c is False or z is True else None if c is None or z is None else True,
        "gt": False if ge is False or z is True else None if ge is None or z is None else True,
    }  # fmt: skip
    opposite = {"ne": "eq", "lo": "hs", "pl": "mi", "vc": "vs", "lt": "ge", "ls": "hi", "le": "gt"}
    value = found[opposite.get(condition, condition)]
    if value is None:
        return None
    return not value if condition in opposite else bool(value)


def with_carry(a: int | None, b: int | None, flags: Flags) -> tuple[int | None, Flags]:
    """a + b + C and its flags; a - b - 1 + C is that of a and ~b."""
    carry = nzcv(flags)[2]
    if a is None or b is None or carry is None:
        return None, UNKNOWN_FLAGS
    total = a + b + bool(carry)
    result = total & _MASK
    overflow = (a ^ result) & (b ^ result) >= _SIGN
    return result, (EXACT, (result >= _SIGN, result == 0, total > _MASK, overflow), None)


# Conditions of what has just been compared, without tuples.
QUICK: Mapping[int, Mapping[str, str]] = MappingProxyType(
    {
        SUBTRACTED: {
            "eq": "fa == fb", "ne": "fa != fb", "hs": "fa >= fb", "lo": "fa < fb",
            "hi": "fa > fb", "ls": "fa <= fb", "ge": "(fa ^ S) >= (fb ^ S)",
            "lt": "(fa ^ S) < (fb ^ S)", "gt": "(fa ^ S) > (fb ^ S)", "le": "(fa ^ S) <= (fb ^ S)",
            "mi": "(fa - fb & S) != 0", "pl": "(fa - fb & S) == 0",
        },
        LOGICAL: {"eq": "fa == 0", "ne": "fa != 0", "mi": "fa >= S", "pl": "fa < S"},
    }
)  # fmt: skip
