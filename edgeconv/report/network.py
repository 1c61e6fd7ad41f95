"""A report, and the numbers derived from it that several parts of the page need."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from edgeconv.report import stored
from edgeconv.report.occupancy import Occupancy, occupancies

Report = Mapping[str, Any]
Layer = Mapping[str, Any]

FLOPS_PER_MAC = 2
MEMORY = "DRAM"  # behind the last cache, where a report says nothing else


@dataclass(frozen=True, slots=True)
class Roof:
    """The slowest level: ``peak`` in GFLOP/s, ``bandwidth`` in GB/s (powers of 1000)."""

    level: str
    peak: float
    bandwidth: float


@dataclass(frozen=True)
class Network:
    """``report`` and what follows from it.

    ``level``: the slowest level of memory whose traffic is known, and the one that counts.
    ``roof``: over that level; None when the board does not say.  ``times``: ``measured`` where
    layers have been measured, otherwise ``predicted``; `time_ms` gives these.  ``used``: by bank
    of the arena; empty when the report has no map of it.
    """

    report: Report
    level: str
    roof: Roof | None
    times: str
    used: Mapping[str, Occupancy]

    @classmethod
    def of(cls, report: Report) -> Network:
        """Derive everything once."""
        level = _slowest_level(report)
        measured = any(layer["measured_ms"] is not None for layer in report["layers"])
        return cls(
            report,
            level,
            _roof(report, level),
            "measured" if measured else "predicted",
            occupancies(report.get("arena_map") or ()),
        )

    @property
    def layers(self) -> list[Layer]:
        """In execution order."""
        return list(self.report["layers"])

    @property
    def level_name(self) -> str:
        """The level that counts, as people call it."""
        return self.called(self.level)

    def called(self, level: str) -> str:
        """A level as people call it: what is behind a microcontroller's cache is no DRAM."""
        firmware = self.report["program"].get("firmware")
        return "memory" if firmware and level == MEMORY else level

    @cached_property  # every row of the page shows its share
    def total_ms(self) -> float:
        """The milliseconds of the layers whose time is known."""
        return sum(filter(None, map(self.time_ms, self.layers)))

    @property
    def fullest(self) -> tuple[str, Occupancy] | None:
        """The bank in which most is live at once; None without a map of the arena."""
        return max(self.used.items(), key=lambda bank: bank[1].peak_bytes, default=None)

    @property
    def rounds(self) -> bool:
        """Whether some filters or results are stored in fewer bits than they are computed with."""
        return any(map(stored.rounds, self.layers))

    def time_ms(self, layer: Layer) -> float | None:
        """The measured time where layers have been measured, the predicted one otherwise."""
        milliseconds: float | None = layer[f"{self.times}_ms"]
        return milliseconds

    def time_share(self, layer: Layer) -> float | None:
        """The share of ``total_ms``; None where the layer's time is not known."""
        milliseconds = self.time_ms(layer)
        return None if milliseconds is None or not self.total_ms else milliseconds / self.total_ms

    def moved(self, layer: Layer) -> int | None:
        """Bytes exchanged with the slowest level; None when nothing is predicted."""
        count: int | None = layer["traffic_bytes"].get(self.level)
        return count

    def intensity(self, layer: Layer) -> float | None:
        """Floating-point operations per byte of the slowest level."""
        moved = self.moved(layer)
        if not moved or not layer["macs"]:
            return None
        return float(FLOPS_PER_MAC * layer["macs"] / moved)

    def attainable_ms(self, layer: Layer) -> float | None:
        """No implementation that moves as much takes less; None without roofs or multiply-adds."""
        if self.roof is None or not layer["macs"]:
            return None
        computing = FLOPS_PER_MAC * layer["macs"] / self.roof.peak
        moving = (self.moved(layer) or 0) / self.roof.bandwidth
        return float(max(computing, moving) / 1e6)

    def largest(self, size: Callable[[Layer], float], most: int) -> tuple[int, ...]:
        """The steps of the ``most`` layers of which ``size`` is largest, and not nothing."""
        sizes = [size(layer) for layer in self.layers]
        order = sorted(range(len(sizes)), key=lambda step: (-sizes[step], step))
        return tuple(step for step in order[:most] if sizes[step] > 0)


def gflops(layer: Layer, milliseconds: float | None) -> float | None:
    """The rate of a layer that takes so long."""
    return FLOPS_PER_MAC * layer["macs"] / milliseconds / 1e6 if milliseconds else None


def _slowest_level(report: Report) -> str:
    known = [
        level
        for layer in report["layers"]
        for level, moved in layer["traffic_bytes"].items()
        if moved is not None
    ]
    if not known or MEMORY in known:
        return MEMORY
    known_speeds = speeds(report)
    return str(min(dict.fromkeys(known), key=lambda one: known_speeds.get(one, float("inf"))))


def _roof(report: Report, level: str) -> Roof | None:
    found, known = report.get("roofline"), speeds(report)
    if not found or not found.get("peak_gflops") or not known:
        return None
    name = level if level in known else min(known, key=lambda one: known[one])
    return Roof(name, found["peak_gflops"], known[name])


def speeds(report: Report) -> dict[str, float]:
    """GB/s by level, of the levels that have one; of a board's regions those that are used."""
    levels = (report.get("roofline") or {}).get("levels") or ()
    idle = {
        region["name"]
        for side in ("ram", "flash")
        for region in report[side].get("regions") or ()
        if not region["used"]
    }
    found = {level["name"]: level["gbytes_per_second"] for level in levels}
    return {name: speed for name, speed in found.items() if speed and name not in idle}
