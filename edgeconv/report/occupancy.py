"""Who lies in the arena at which step, from the ``arena_map`` of a report."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

Entry = Mapping[str, Any]  # {"name", "bank", "offset", "bytes", "first", "last", "layer"}
WORKSPACE = "workspace of "


@dataclass(frozen=True, slots=True)
class Occupancy:
    """Bytes of one bank in use at every step, and the entries that use them.

    Steps count the layers; -1 is before the run and the number of layers after it.  Bytes that
    several entries share (a tensor written over its input, a view) count once.
    """

    bytes_at: Mapping[int, int]
    live_at: Mapping[int, tuple[Entry, ...]]

    @property
    def peak_step(self) -> int:
        """The first of the steps at which most is in use."""
        return max(self.bytes_at, key=lambda step: (self.bytes_at[step], -step))

    @property
    def peak_bytes(self) -> int:
        """Bytes in use at the peak."""
        return self.bytes_at[self.peak_step]

    @property
    def at_peak(self) -> tuple[Entry, ...]:
        """What is in use at the peak, largest first."""
        return self.live_at[self.peak_step]


def occupancies(entries: Iterable[Entry]) -> dict[str, Occupancy]:
    """The occupancy of every bank, in the order in which they appear."""
    banks: dict[str, list[Entry]] = {}
    for entry in entries:
        banks.setdefault(entry["bank"], []).append(entry)
    return {name: _occupancy(inside) for name, inside in banks.items()}


def _occupancy(entries: list[Entry]) -> Occupancy:
    live: dict[int, list[Entry]] = {}
    for entry in entries:
        for step in range(entry["first"], entry["last"] + 1):
            live.setdefault(step, []).append(entry)
    return Occupancy(
        {step: covered(some) for step, some in live.items()},
        {step: tuple(sorted(some, key=lambda e: -e["bytes"])) for step, some in live.items()},
    )


def covered(entries: Iterable[Entry]) -> int:
    """Bytes of the union of the entries' address ranges, which are of one bank."""
    total = end = 0
    for entry in sorted(entries, key=lambda e: e["offset"]):
        upper = entry["offset"] + entry["bytes"]
        total += max(0, upper - max(end, entry["offset"]))
        end = max(end, upper)
    return total


def is_workspace(entry: Entry) -> bool:
    """Whether an entry is the workspace of a layer rather than a tensor."""
    return str(entry["name"]).startswith(WORKSPACE) and entry["first"] == entry["last"]
