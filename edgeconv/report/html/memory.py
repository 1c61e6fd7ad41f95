"""Who takes what of which memory, from the regions of a report or, without them, its totals."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from edgeconv.report.numbers import exact

Report = Mapping[str, Any]

# Parts as people call them, and the key they have in a region of a report, in drawing order.
_PARTS = {
    "arena": "arena",
    "inputs and outputs": "io",
    "data": "data",
    "stack": "stack",
    "model structure": "model_struct",
    "weights": "weights",
    "code": "code",
    "constants": "rodata",
}
PART_NAMES = tuple(_PARTS)


@dataclass(frozen=True, slots=True)
class Region:
    """One memory.  ``parts``: bytes by name, None for what is not known yet, in ``PART_NAMES``'
    order; ``used``: as the report says.  ``size``: None when nothing limits it; ``base``: address.
    """

    name: str
    kind: str
    size: int | None
    base: int | None
    parts: Mapping[str, int | None]
    used: int

    @property
    def shown(self) -> dict[str, int | None]:
        """The parts that take something, or may."""
        return {name: count for name, count in self.parts.items() if count != 0}

    @property
    def unknown(self) -> list[str]:
        """The parts that are not known yet."""
        return [name for name, count in self.parts.items() if count is None]


def regions(report: Report) -> list[Region]:
    """RAM first, then flash."""
    found = [
        _region(entry, kind)
        for side, kind in (("ram", ""), ("flash", "flash"))
        for entry in report[side].get("regions") or ()
    ]
    seen = {region.name for region in found}
    sides = {"ram": "RAM", "flash": "flash"}
    whole = [
        Region(
            title,
            title,
            report["budget"][side],
            None,
            _parts(totals(report, side)),
            report[side]["total"],
        )
        for side, title in sides.items()
        if not report[side].get("regions") and title not in seen
    ]
    return sorted(found + whole, key=lambda region: region.kind == "flash")


def totals(report: Report, side: str) -> dict[str, int | None]:
    """The parts that make up ``report[side]["total"]``, by key."""
    group = report[side]
    keys = (
        ("arena", "io", "data", "model_struct") if side == "ram" else ("weights", "code", "rodata")
    )
    parts: dict[str, int | None] = {key: group[key] for key in keys if key in group}
    if side == "ram" and not unbounded_stack(report):
        parts["stack"] = group["stack_bound"]
    return parts


def unbounded_stack(report: Report) -> str:
    """Why a built program's stack has no bound; "" when it has one, or nothing is built."""
    ram = report["ram"]
    return str(ram.get("stack_source") or "") if ram["stack_bound"] is None else ""


def stack_calls(report: Report) -> str:
    """The calls that take most stack; "" when the report does not say."""
    ram = report["ram"]
    if ram["stack_bound"] is None:
        return ""
    return str(ram.get("stack_source") or "").removeprefix(f"{exact(ram['stack_bound'])}: ")


def _region(entry: Mapping[str, Any], kind: str) -> Region:
    return Region(
        entry["name"],
        entry.get("kind", kind),
        entry["size"],
        entry["base"],
        _parts(entry),
        entry["used"],
    )


def _parts(entry: Mapping[str, Any]) -> dict[str, int | None]:
    return {name: entry[key] for name, key in _PARTS.items() if key in entry}
