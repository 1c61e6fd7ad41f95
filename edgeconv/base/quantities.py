"""Numbers with units, as data sheets write them: ``480MHz``, ``32B/cycle``, ``4.6pJ``, ``90ns``.

A number without its unit is refused: half of all wrong board files are right in another unit.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from edgeconv.base import sizes
from edgeconv.base.errors import EdgeconvError, UsageError

_NUMBER = re.compile(r"(?P<number>[0-9]+(?:\.[0-9]+)?(?:e[+-]?[0-9]+)?) ?(?P<unit>\S*)", re.I)


@dataclass(frozen=True, slots=True)
class Dimension:
    """What a quantity measures.  ``factors``: unit -> its value in the first one's base unit.

    ``name`` comes with its article, for messages; ``example`` is a valid text.
    """

    name: str
    factors: Mapping[str, float]
    example: str


_ROWS = {
    "frequency": Dimension(
        "a frequency", {"Hz": 1.0, "kHz": 1e3, "MHz": 1e6, "GHz": 1e9}, "480MHz"
    ),
    "time": Dimension("a time", {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}, "90ns"),
    "cycles": Dimension("a number of cycles", {"cycles": 1.0, "cycle": 1.0}, "4cycles"),
    "bytes per cycle": Dimension(
        "a bandwidth per cycle", {"B/cycle": 1.0, "B/cycles": 1.0}, "32B/cycle"
    ),
    "bytes per second": Dimension(
        "a bandwidth",
        {"B/s": 1.0, "kB/s": 1e3, "MB/s": 1e6, "GB/s": 1e9},
        "400MB/s",
    ),
    "energy": Dimension(
        "an energy", {"J": 1.0, "mJ": 1e-3, "uJ": 1e-6, "nJ": 1e-9, "pJ": 1e-12}, "4.6pJ"
    ),
    "power": Dimension("a power", {"W": 1.0, "mW": 1e-3, "uW": 1e-6}, "1.5W"),
    "size": Dimension(
        "a size", {"B": 1.0, "KiB": 2.0**10, "MiB": 2.0**20, "GiB": 2.0**30}, "64KiB"
    ),
}
DIMENSIONS: Mapping[str, Dimension] = MappingProxyType(_ROWS)


def parse(value: object, dimension: str) -> float:
    """The quantity in its base unit (Hz, s, cycles, B/cycle, B/s, J, W, bytes).

    Bandwidths count in powers of 1000, sizes of 1024 (see ``edgeconv.base.sizes``).  Raises
    EdgeconvError (exit status 2) when ``value`` is no text, has no unit or a unit of another
    dimension, or is not positive.
    """
    row = DIMENSIONS[dimension]
    match = _NUMBER.fullmatch(value.strip()) if isinstance(value, str) else None
    if match is None:
        raise _invalid(row, value, "needs its unit" if _is_number(value) else "is expected")
    if dimension == "size":
        found = float(sizes.parse(match[0], "size")) if match["unit"] else None
    else:
        unit = match["unit"]
        found = float(match["number"]) * row.factors[unit] if unit in row.factors else None
    if found is None:
        known = ", ".join(row.factors)
        rule = f"has one of the units {known}" if match["unit"] else f"needs its unit: {known}"
        raise _invalid(row, value, rule)
    if found <= 0:
        raise _invalid(row, value, "is more than 0")
    return found


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _invalid(row: Dimension, value: object, rule: str) -> EdgeconvError:
    return UsageError(
        "invalid quantity",
        got=repr(value),
        rule=f"{row.name} {rule}",
        hint=f"write it like {row.example!r}",
    )
