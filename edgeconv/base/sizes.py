"""Sizes in bytes as people write them: ``512K``, ``2M``, ``64KiB``, ``1.5MiB``, ``4096``.

K, M and G are powers of 1024, as on every data sheet of a microcontroller; KB, MB and GB are
refused, since half of the readers take them for powers of 1000.
"""

from __future__ import annotations

import re
from fractions import Fraction

from edgeconv.base.errors import EdgeconvError, UsageError

_FACTORS = {"": 1, "B": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
_PATTERN = re.compile(r"(?P<number>[0-9]+(?:\.[0-9]+)?) ?(?P<unit>[KMG]|[KMG]IB|[KMG]B|B|)", re.I)
_RULE = "a size is a number of bytes, or a number and K, M, G, KiB, MiB or GiB"


def parse(text: str, what: str = "size") -> int:
    """The bytes that ``text`` stands for.

    Raises EdgeconvError (exit status 2), starting with ``what``, when it is no size, when the unit
    is one of the ambiguous KB, MB, GB, and when it is not a whole number of bytes.
    """
    match = _PATTERN.fullmatch(text.strip())
    if match is None:
        raise _invalid(what, text, _RULE, "write 512K, 2M, 64KiB or 4096")
    number, unit = match["number"], match["unit"].upper()
    if unit in ("KB", "MB", "GB"):
        raise _invalid(
            what,
            text,
            f"{unit} may mean powers of 1000 or of 1024",
            f"write {number}{unit[0]}iB, or the bytes",
        )
    size = Fraction(number) * _FACTORS[unit.removesuffix("IB")]
    if size.denominator != 1:
        raise _invalid(what, text, "a size is a whole number of bytes", "write the bytes")
    return int(size)


def exact(size: int) -> str:
    """The shortest text that ``parse`` reads back as ``size``: ``64KiB``, ``2MiB``, ``1000``."""
    for unit, shift in (("GiB", 30), ("MiB", 20), ("KiB", 10)):
        if size and size % (1 << shift) == 0:
            return f"{size >> shift}{unit}"
    return str(size)


def human(size: int) -> str:
    """``size`` for reading, to three digits: ``980 B``, ``1.46 KiB``, ``97.5 MiB``."""
    if size < 1 << 10:
        return f"{size} B"
    for unit, shift in (("KiB", 10), ("MiB", 20), ("GiB", 30)):
        value = size / (1 << shift)
        decimals = 2 if value < 9.995 else 1 if value < 99.95 else 0
        if value < 1023.5 or unit == "GiB":
            return f"{value:.{decimals}f} {unit}"
    raise AssertionError("unreachable: GiB takes every size")


def _invalid(what: str, text: str, rule: str, hint: str) -> EdgeconvError:
    return UsageError(f"invalid {what}", got=repr(text), rule=rule, hint=hint)
