"""Numbers of a report as people read them, and as JSON has them."""

from __future__ import annotations

import math

from edgeconv.base.sizes import human

_MOST_DECIMALS = 15


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


def share(some: float, whole: float) -> str:
    """``some`` of ``whole`` in percent; nothing where there is no whole."""
    return f"{significant(100 * some / whole)} %" if whole else ""


def finite(value: float | None) -> float | None:
    """As JSON has it, which knows neither infinities nor NaN."""
    return value if value is not None and math.isfinite(value) else None
