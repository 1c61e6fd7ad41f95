"""Numbers of a report as people read them, and as JSON has them."""

from __future__ import annotations

import math

from edgeconv.base.sizes import human

_MOST_DECIMALS = 15
_LEAST_PERCENT = 0.01


def size(count: int) -> str:
    """``5.74 MiB (6,021,120 bytes)``; below one KiB the bytes alone."""
    return exact(count) if count < 1 << 10 else f"{human(count)} ({exact(count)})"


def exact(count: int) -> str:
    """``6,021,120 bytes``."""
    return f"{count:,} byte{'' if count == 1 else 's'}"


def significant(value: float, digits: int = 3) -> str:
    """``value`` to so many significant digits, never with an exponent: ``0.00123``, ``14,200``."""
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    rounded = float(f"{value:.{digits - 1}e}")
    decimals = digits - 1 - math.floor(math.log10(abs(rounded)))
    return f"{rounded:,.{min(max(decimals, 0), _MOST_DECIMALS)}f}"


def milliseconds(time: float) -> str:
    """A time of so many ms in the unit that people would say: ``3.21 s``, ``91.1 ms``."""
    return _scaled(time, (("s", 1e3), ("ms", 1.0), ("µs", 1e-3), ("ns", 1e-6)))


def millijoules(energy: float) -> str:
    """An energy of so many mJ in the unit that people would say: ``1.05 J``, ``870 µJ``."""
    return _scaled(energy, (("J", 1e3), ("mJ", 1.0), ("µJ", 1e-3), ("nJ", 1e-6)))


def count(number: float) -> str:
    """``2.66 million``, ``12,300``."""
    for word, factor in (("billion", 1e9), ("million", 1e6)):
        if number >= factor:
            return f"{significant(number / factor)} {word}"
    return f"{number:,.0f}"


def _scaled(value: float, symbols: tuple[tuple[str, float], ...]) -> str:
    """``value`` to three digits with the first of the ``symbols`` whose factor leaves something
    before the point, else with the last; 0 with that of files."""
    if not value:
        return f"0 {next(symbol for symbol, factor in symbols if factor == 1)}"
    large = next((each for each in symbols if value >= 0.9995 * each[1]), symbols[-1])
    return f"{significant(value / large[1])} {large[0]}"


def share(some: float, whole: float) -> str:
    """``some`` of ``whole`` in percent, as fine as people read it: ``41 %``, ``8.6 %``, ``0.07 %``;
    nothing where there is no whole."""
    if not whole:
        return ""
    percent = 100 * some / whole
    if 0 < percent < _LEAST_PERCENT:
        return f"< {_LEAST_PERCENT} %"
    return f"{percent:.{0 if percent >= 99.95 or not percent else 1 if percent >= 1 else 2}f} %"


def finite(value: float | None) -> float | None:
    """As JSON has it, which knows neither infinities nor NaN."""
    return value if value is not None and math.isfinite(value) else None
